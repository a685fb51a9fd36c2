"""Live frames: token-level output while a run works, never the only copy of anything (A8).

The hub keeps what each active run has produced so far, so a late watcher first gets that in one snapshot, then the
rest.
Each watcher has a bounded queue; what does not fit drops its oldest frames and says so. Publishing never waits.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Collection
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, TypeAlias

from planwerk.workflow.codec import write_event
from planwerk.workflow.events import Event

FrameKind: TypeAlias = Literal[
    "part_started", "text_delta", "thinking_delta", "tool_args_delta", "part_ended", "display"
]
MAX_WAITING: Final = 1_000
"""Frames a watcher may be behind before it loses the oldest."""


@dataclass(frozen=True, slots=True)
class LiveFrame:
    """One piece of output. `n` counts a run's frames from 1, so that a loss is seen."""

    run: str
    attempt: int
    response: int
    part: int
    n: int
    type: FrameKind
    kind: str = ""
    """Of a started part: text, thinking or tool."""
    text: str = ""
    event: Event | None = None
    """Of a display frame: the ephemeral event."""

    def to_wire(self) -> dict[str, Any]:
        """The frame as JSON data."""
        data: dict[str, Any] = {
            "type": self.type,
            "run": self.run,
            "attempt": self.attempt,
            "response": self.response,
            "part": self.part,
            "n": self.n,
        }
        if self.kind:
            data["kind"] = self.kind
        if self.event is not None:
            data["event"] = write_event(self.event)
        elif self.type not in {"part_started", "part_ended"}:
            data["text"] = self.text
        return data


@dataclass(slots=True)
class _Part:
    kind: str
    pieces: list[str] = field(default_factory=list[str])
    ended: bool = False

    def text(self) -> str:
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""


@dataclass(frozen=True, slots=True)
class LiveSnapshot:
    """What a run has produced so far, up to and including frame `n`."""

    run: str
    n: int
    responses: tuple[dict[str, Any], ...]

    def to_wire(self) -> dict[str, Any]:
        """The snapshot as JSON data."""
        return {"type": "snapshot", "run": self.run, "n": self.n, "responses": list(self.responses)}


@dataclass(frozen=True, slots=True)
class FramesLost:
    """The watcher was too slow and lost frames of a run; a snapshot follows."""

    run: str

    def to_wire(self) -> dict[str, Any]:
        """The notice as JSON data."""
        return {"type": "frames_lost", "run": self.run}


LiveItem: TypeAlias = LiveFrame | LiveSnapshot | FramesLost


class LiveChannel(Protocol):
    """Port: carries live frames from where a run works to those who watch it."""

    def publish(
        self,
        run: str,
        *,
        attempt: int,
        response: int,
        part: int,
        frame: FrameKind,
        kind: str = "",
        text: str = "",
        event: Event | None = None,
    ) -> None:
        """Send a frame; never waits."""
        ...

    def ended(self, run: str) -> None:
        """The run is over: forget what it produced."""
        ...

    def restarted(self, run: str) -> None:
        """The run was let go: what its next owner shows begins anew."""
        ...

    def watch(self, runs: Collection[str]) -> LiveWatch:
        """Watch runs; closing the watch ends it."""
        ...


class LiveWatch(Protocol):
    """A watcher's end of the channel."""

    def follow(self, run: str) -> None:
        """Watch one more run; its snapshot comes first."""
        ...

    def unfollow(self, run: str) -> None: ...

    def drain(self) -> list[LiveItem]:
        """What has come and not been read; never waits. Deltas of a part that follow each other are joined."""
        ...

    async def wait(self) -> None:
        """Return once there is something to drain."""
        ...

    def close(self) -> None: ...


class LiveHub:
    """The channel within one process."""

    def __init__(self, *, max_waiting: int = MAX_WAITING) -> None:
        self._runs: dict[str, _Produced] = {}
        self._watchers: dict[str, set[_Watcher]] = {}
        self._max_waiting = max_waiting

    def publish(
        self,
        run: str,
        *,
        attempt: int,
        response: int,
        part: int,
        frame: FrameKind,
        kind: str = "",
        text: str = "",
        event: Event | None = None,
    ) -> None:
        produced = self._runs.get(run)
        if produced is None:
            produced = self._runs[run] = _Produced()
        made = produced.add(run, attempt, response, part, frame, kind, text, event)
        for watcher in self._watchers.get(run, ()):
            watcher.push(made)

    def ended(self, run: str) -> None:
        self._runs.pop(run, None)

    def restarted(self, run: str) -> None:
        if self._runs.pop(run, None) is not None:
            for watcher in self._watchers.get(run, ()):
                watcher.push(LiveSnapshot(run, 0, ()))

    def watch(self, runs: Collection[str] = ()) -> _Watcher:
        watcher = _Watcher(self, self._max_waiting)
        for run in runs:
            watcher.follow(run)
        return watcher

    def attach(self, run: str, watcher: _Watcher) -> None:
        """Called by a watcher that begins to follow a run."""
        self._watchers.setdefault(run, set()).add(watcher)
        snapshot = self.snapshot(run)
        if snapshot is not None:
            watcher.push(snapshot)

    def detach(self, run: str, watcher: _Watcher) -> None:
        """Called by a watcher that no longer follows a run."""
        watchers = self._watchers.get(run)
        if watchers is not None:
            watchers.discard(watcher)
            if not watchers:
                del self._watchers[run]

    def snapshot(self, run: str) -> LiveSnapshot | None:
        """What a run has produced so far, None if nothing."""
        produced = self._runs.get(run)
        return LiveSnapshot(run, produced.n, produced.responses()) if produced is not None else None


class _Produced:
    """What one run has produced so far."""

    def __init__(self) -> None:
        self.n = 0
        self._parts: dict[tuple[int, int, int], _Part] = {}

    def add(
        self,
        run: str,
        attempt: int,
        response: int,
        part: int,
        type_: FrameKind,
        kind: str,
        text: str,
        event: Event | None,
    ) -> LiveFrame:
        self.n += 1
        key = (attempt, response, part)
        if type_ == "part_started":
            self._parts[key] = _Part(kind)
        elif type_ != "display" and key in self._parts:
            known = self._parts[key]
            if type_ == "part_ended":
                known.ended = True
            else:
                known.pieces.append(text)
        return LiveFrame(run, attempt, response, part, self.n, type_, kind, text, event)

    def responses(self) -> tuple[dict[str, Any], ...]:
        found: dict[tuple[int, int], list[dict[str, Any]]] = {}
        for (attempt, response, part), known in self._parts.items():
            shown = {"part": part, "kind": known.kind, "text": known.text(), "ended": known.ended}
            found.setdefault((attempt, response), []).append(shown)
        return tuple(
            {"attempt": attempt, "response": response, "parts": parts}
            for (attempt, response), parts in sorted(found.items())
        )


class _Watcher:
    """One watcher's queue: bounded, oldest dropped, told of it."""

    def __init__(self, hub: LiveHub, max_waiting: int) -> None:
        self._hub = hub
        self._max_waiting = max_waiting
        self._runs: set[str] = set()
        self._waiting: deque[LiveItem] = deque()
        self._lost: set[str] = set()
        self._ready = asyncio.Event()

    def follow(self, run: str) -> None:
        if run not in self._runs:
            self._runs.add(run)
            self._hub.attach(run, self)

    def unfollow(self, run: str) -> None:
        self._runs.discard(run)
        self._lost.discard(run)
        self._waiting = deque(item for item in self._waiting if item.run != run)
        self._hub.detach(run, self)

    def push(self, item: LiveItem) -> None:
        """A frame came."""
        if len(self._waiting) >= self._max_waiting:
            dropped = self._waiting.popleft()
            self._lost.add(dropped.run)
        self._waiting.append(item)
        self._ready.set()

    def drain(self) -> list[LiveItem]:
        self._ready.clear()
        items, self._waiting = list(self._waiting), deque()
        lost, self._lost = self._lost, set()
        if not lost:
            return _joined(items)
        kept: list[LiveItem] = [item for item in items if item.run not in lost]
        for run in sorted(lost):
            kept.append(FramesLost(run))
            snapshot = self._hub.snapshot(run)
            if snapshot is not None:
                kept.append(snapshot)
        return _joined(kept)

    async def wait(self) -> None:
        await self._ready.wait()

    def close(self) -> None:
        for run in list(self._runs):
            self.unfollow(run)


def _joined(items: list[LiveItem]) -> list[LiveItem]:
    """Deltas of one part that follow each other as one frame, numbered as the last of them."""
    joined: list[LiveItem] = []
    for item in items:
        last = joined[-1] if joined else None
        if (
            isinstance(item, LiveFrame)
            and isinstance(last, LiveFrame)
            and item.type == last.type
            and item.type.endswith("_delta")
            and (item.run, item.attempt, item.response, item.part) == (last.run, last.attempt, last.response, last.part)
        ):
            joined[-1] = LiveFrame(
                item.run, item.attempt, item.response, item.part, item.n, item.type, text=last.text + item.text
            )
        else:
            joined.append(item)
    return joined


async def frames(watch: LiveWatch) -> AsyncGenerator[LiveItem]:
    """A watch as an endless stream; close it to end it."""
    try:
        while True:
            await watch.wait()
            for item in watch.drain():
                yield item
    finally:
        watch.close()
