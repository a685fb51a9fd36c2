"""A turn over REST: post a message, follow the run that answers it, and say how it ended."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias

from planwerk.cli.client import Api, SseEvent
from planwerk.cli.errors import Answered, Unreachable
from planwerk.workflow.ids import new_id

PATIENCE_SECONDS: Final = 30.0
"""How long a server that went away may take to come back: the run goes on there, or after its restart."""
FIRST_PAUSE_SECONDS: Final = 0.25

WhenAsked: TypeAlias = Callable[[str, str, int], None]
"""Told of each run that is asked for: its id, the message it answers, and its place in the log."""


class Watcher(Protocol):
    """Sees a turn while it happens."""

    def text(self, text: str) -> None:
        """The whole answer so far; it may begin anew when an attempt is repeated."""
        ...

    def activity(self, label: str) -> None:
        """The step that works now."""
        ...


@dataclass(slots=True)
class Turn:
    """A turn, and how it ended."""

    thread: str
    run: str
    status: str = "running"
    text: str = ""
    incomplete: bool = False
    error: Mapping[str, Any] | None = None
    usage: Mapping[str, Any] = field(default_factory=dict[str, Any])
    cost: Any = None
    follow_ups: tuple[str, ...] = ()
    requests: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """What it asks people and is not answered, by id."""

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {
            "text": self.text,
            "status": self.status,
            "incomplete": self.incomplete,
            "error": dict(self.error) if self.error else None,
            "run_id": self.run,
            "thread_id": self.thread,
            "usage": dict(self.usage),
            "cost": self.cost,
            "follow_ups": list(self.follow_ups),
            "requests": [dict(request) for request in self.requests.values()],
        }


class Talk:
    """A thread that a command talks in; made with its first message."""

    def __init__(self, api: Api, profile: str, workspace: str) -> None:
        self._api = api
        self.profile, self.workspace = profile, workspace
        self.thread = new_id()
        self._made = False
        self.current: Turn | None = None
        self._following: _Following | None = None
        self._said: set[str] = set()
        """Messages said meanwhile."""
        self._to_come: dict[str, int] = {}
        """Runs that answer them, where the run that worked did not, and from where on they are followed."""

    @classmethod
    async def begin(cls, api: Api, profile: str | None) -> Talk:
        """A talk with a profile, the default one if none is named.

        Raises:
            Answered: There is no such profile.
        """
        session = await api.get("/api/session")
        if profile is None:
            profile = str((await api.get("/api/profiles"))["items"][0]["id"])
        else:
            await api.get(f"/api/profiles/{profile}")
        return cls(api, profile, session["private_workspace"])

    async def ask(self, text: str, watcher: Watcher) -> Turn:
        """Post a message and follow its run to its end, or until it waits for a person; over a server's restart too.

        The message may be the answer to what a run asks in the conversation; then it is that run that is followed.

        Raises:
            Unreachable: The server went away and did not come back.
        """
        if not self._made:
            await self._api.post("/api/threads", {"id": self.thread, "profile": self.profile})
            self._made = True
        message = {"message_id": new_id(), "content": text}
        posted = await self._api.post(f"/api/threads/{self.thread}/messages", message)
        return await self._follow(posted["run_id"], watcher, after=posted["seq"] - 1)

    async def _follow(self, run: str, watcher: Watcher, *, after: int) -> Turn:
        turn = self.current = Turn(self.thread, run)
        self._following = _Following(self._api, self.workspace, turn, watcher, after=after, when_asked=self._asked)
        await self._following.to_the_end()
        return turn

    async def say(self, text: str) -> bool:
        """Say something into the run that works (S2.3).

        Returns:
            Whether it went there; else it waits until that run is done, and `next_turn` follows what answers it.
        """
        assert self.current is not None
        message = {"message_id": new_id(), "content": text, "when": "now"}
        self._said.add(message["message_id"])
        posted = await self._api.post(f"/api/threads/{self.thread}/messages", message)
        if posted["run_id"] == self.current.run:
            return True
        self._to_come.setdefault(posted["run_id"], posted["seq"] - 1)
        return False

    def _asked(self, run: str, message: str, seq: int) -> None:
        """A run was asked for: a message said meanwhile may have come too late for the one that worked."""
        if message in self._said:
            self._to_come.setdefault(run, seq - 1)

    @property
    def has_next(self) -> bool:
        """Whether something was said meanwhile that the run which worked has not taken."""
        return bool(self._to_come)

    async def next_turn(self, watcher: Watcher) -> Turn:
        """Follow the next run that answers what was said meanwhile."""
        run = next(iter(self._to_come))
        return await self._follow(run, watcher, after=self._to_come.pop(run))

    async def go_on(self, watcher: Watcher) -> Turn:
        """Follow the run on, which has waited for a person and was answered."""
        assert self.current is not None
        assert self._following is not None
        self.current.status = "running"
        self._following.watch_by(watcher)
        await self._following.to_the_end()
        return self.current

    async def stop(self) -> None:
        """Ask the current run to stop; what it had said is kept. One that has just ended stays as it ended."""
        turn = self.current
        if turn is None or turn.status not in {"running", "waiting"}:
            return
        for _ in range(20):  # a run that was just asked for is opened within moments
            try:
                await self._api.post(f"/api/runs/{turn.run}/stop")
                return
            except Answered as error:
                if error.status != 404:
                    raise
                await asyncio.sleep(0.1)


class _Following:
    """Follows one turn through the workspace's stream, from its place in the log on."""

    def __init__(
        self, api: Api, workspace: str, turn: Turn, watcher: Watcher, *, after: int, when_asked: WhenAsked
    ) -> None:
        self._when_asked = when_asked
        self._api, self._workspace, self._turn, self._watcher = api, workspace, turn, watcher
        self._after = after
        self._answer = LiveAnswer()
        self._steps: asyncio.Task[None] | None = None

    def watch_by(self, watcher: Watcher) -> None:
        """Show what follows here."""
        self._watcher = watcher

    async def to_the_end(self) -> None:
        """Until the run ends, or waits for a person."""
        try:
            pause, waited = FIRST_PAUSE_SECONDS, 0.0
            while True:
                seq = self._after
                try:
                    if await self._follow_once():
                        return
                    gone: Unreachable | None = None
                except Unreachable as error:
                    gone = error
                if self._after != seq:
                    pause, waited = FIRST_PAUSE_SECONDS, 0.0
                if waited >= PATIENCE_SECONDS:
                    raise gone or Unreachable("the server ends every stream.", what_to_do="Look at its log.")
                await asyncio.sleep(pause)
                pause, waited = min(pause * 2, 5.0), waited + pause
        finally:
            if self._steps is not None:
                self._steps.cancel()
                await asyncio.gather(self._steps, return_exceptions=True)
                self._steps = None

    async def _follow_once(self) -> bool:
        """Whether the run's end, or its waiting, was seen before the stream ended."""
        path = f"/api/workspaces/{self._workspace}/stream"
        async with aclosing(self._api.stream(path, {"after": self._after, "threads": self._turn.thread})) as events:
            async for event in events:
                if event.name == "live":
                    self._live(json.loads(event.data))
                elif event.name == "log" and self._logged(event):
                    return True
        return False

    def _live(self, frame: dict[str, Any]) -> None:
        if frame.get("run") == self._turn.run and self._answer.take(frame):
            self._watcher.text(self._answer.text)

    def _logged(self, event: SseEvent) -> bool:
        envelope = json.loads(event.data)
        self._after = max(self._after, int(event.id or envelope["position"]))
        data = envelope["data"]
        if envelope["type"] == "run_requested":
            self._when_asked(data["run_id"], data["message_id"], self._after)
        if data.get("run_id") != self._turn.run:
            return False
        match envelope["type"]:
            case "run_started" | "run_resumed":
                self._turn.status = "running"
                self._watch_steps()
            case "request_opened":
                self._turn.requests[data["request_id"]] = data["request"]
            case "request_answered" | "request_closed":
                self._turn.requests.pop(data["request_id"], None)
            case "run_paused" if self._turn.requests:
                self._turn.status = "waiting"
                return True
            case "message_posted":
                self._turn.text = data["content"]
                self._turn.incomplete = bool(data.get("incomplete"))
                self._turn.follow_ups = tuple(data.get("follow_ups") or ())
                self._turn.error = data.get("error")
            case "run_ended":
                self._turn.status = data["status"]
                self._turn.error = data.get("error") or self._turn.error
                self._turn.usage = data.get("usage") or {}
                self._turn.cost = data.get("cost")
                return True
            case _:
                pass
        return False

    def _watch_steps(self) -> None:
        if self._steps is None:
            self._steps = asyncio.create_task(self._tell_steps())

    async def _tell_steps(self) -> None:
        # What is shown of steps is a courtesy: losing it must not end the turn.
        with suppress(Answered, Unreachable):
            async with aclosing(self._api.stream(f"/api/runs/{self._turn.run}/stream", {"after": 0})) as events:
                async for event in events:
                    if event.name == "entry":
                        envelope = json.loads(event.data)
                        if envelope["type"] == "execution_due":
                            self._watcher.activity(str(envelope["data"].get("label") or ""))


class LiveAnswer:
    """Puts an answer together from live frames: the latest attempt's latest response that has said something."""

    def __init__(self) -> None:
        self._parts: dict[tuple[int, int, int], tuple[str, str]] = {}
        """(attempt, response, part) -> kind, text"""

    @property
    def text(self) -> str:
        texts = {key: text for key, (kind, text) in self._parts.items() if kind == "text" and text}
        if not texts:
            return ""
        latest = max((attempt, response) for attempt, response, _ in texts)
        return "\n\n".join(text for key, text in sorted(texts.items()) if key[:2] == latest)

    def take(self, frame: Mapping[str, Any]) -> bool:
        """Take a frame; whether the text changed."""
        if frame.get("type") == "snapshot":
            self._parts = {
                (response["attempt"], response["response"], part["part"]): (part["kind"], part["text"])
                for response in frame["responses"]
                for part in response["parts"]
            }
            return bool(self.text)
        key = (frame.get("attempt", 1), frame.get("response", 0), frame.get("part", 0))
        match frame.get("type"):
            case "part_started":
                self._parts[key] = (str(frame.get("kind", "")), "")
            case "text_delta":
                kind, text = self._parts.get(key, ("text", ""))
                self._parts[key] = (kind, text + str(frame.get("text", "")))
                return True
            case _:
                pass
        return False
