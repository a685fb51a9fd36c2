"""Server-sent events for streams of tokens (W3): ids, keep-alive, one write for all that waits, bounded memory.

A response owns the tasks that feed it and ends them with itself. Feeding waits while the reader is behind. A reader
that takes nothing for too long is dropped with a reason; it resumes by position. How the end comes about:

- the main feeder is done: `end` with the reason `complete`, after all that was sent before it;
- the reader leaves: nothing more is written, the feeders are cancelled;
- the server ends (`shutdown`), rights are gone (`signed_out`, `no_access`, `rights_changed`), a feeder fails (`error`);
- the reader is too slow (`too_slow`): what waited is dropped; if even the end cannot be written, the connection is too.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

log = logging.getLogger(__name__)

KEEP_ALIVE_SECONDS: Final = 15.0
MAX_WAITING: Final = 100
SLOW_SECONDS: Final = 30.0
RETRY_MILLISECONDS: Final = 2_000
KEEP_ALIVE: Final = ": keep-alive\n\n"
HEADERS: Final = {"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"}
LINE_BREAKS: Final = {"\u2028": "\\u2028", "\u2029": "\\u2029", "\u0085": "\\u0085"}


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """How long and how much a stream waits."""

    keep_alive_seconds: float = KEEP_ALIVE_SECONDS
    """Pause between two signs of life of a stream that has nothing to say, and between two looks at its rights."""
    max_waiting: int = MAX_WAITING
    """Events held for a reader that is behind (SRV-11)."""
    slow_seconds: float = SLOW_SECONDS
    """How long a reader may take nothing while events wait."""


def sse_json(data: Any) -> str:
    """JSON on one line for every reader: what some take for a line break is escaped (SRV-03)."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    if not text.isascii():
        for mark, escaped in LINE_BREAKS.items():
            text = text.replace(mark, escaped)
    return text


class StreamOver(Exception):
    """The stream has ended; nothing more can be sent to its reader."""


class ReaderTooSlow(StreamOver):
    """The reader took nothing for too long; it is dropped and resumes by position."""


class EventStream:
    """What feeders write to: events wait here until the response takes them all in one write."""

    def __init__(self, limits: StreamLimits) -> None:
        self._waiting: deque[str] = deque()
        self._limits = limits
        self._filled = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self.end_reason: str | None = None
        self.dropped = asyncio.Event()
        """Set once the reader was too slow."""

    @property
    def held(self) -> int:
        """Events that wait for the reader."""
        return len(self._waiting)

    async def send(self, event: str, data: Any, *, id: int | None = None) -> None:  # noqa: A002 - the field's name
        """Queue an event, waiting while the reader is behind.

        Raises:
            ReaderTooSlow: It took nothing for too long.
            StreamOver: The stream has ended.
        """
        while len(self._waiting) >= self._limits.max_waiting and self.end_reason is None:
            self._room.clear()
            try:
                async with asyncio.timeout(self._limits.slow_seconds):
                    await self._room.wait()
            except TimeoutError:
                self._waiting.clear()
                self.end("too_slow")
                self.dropped.set()
                raise ReaderTooSlow from None
        if self.end_reason is not None:
            raise StreamOver
        head = f"id: {id}\n" if id is not None else ""
        self._push(f"{head}event: {event}\ndata: {sse_json(data)}\n\n")

    def end(self, reason: str) -> None:
        """Tell the reader that the stream ends here, and why; the first reason counts."""
        if self.end_reason is None:
            self.end_reason = reason
            self._push(f"event: end\ndata: {sse_json({'reason': reason})}\n\n")
            self._room.set()

    def _push(self, text: str) -> None:
        self._waiting.append(text)
        self._filled.set()

    async def take(self, *, seconds: float) -> str | None:
        """Everything that waits, in one text; None if nothing came in time."""
        if not self._waiting:
            try:
                async with asyncio.timeout(seconds):
                    await self._filled.wait()
            except TimeoutError:
                return None
        self._filled.clear()
        taken = "".join(self._waiting)
        self._waiting.clear()
        self._room.set()
        return taken


Feeder = Callable[[EventStream], Coroutine[Any, Any, None]]
Recheck = Callable[[], Awaitable[str | None]]
"""Looks at the reader's rights again: None if they are as they were, else the reason why the stream ends."""


class EventStreamResponse(Response):
    """Streams what feeders send until they are done, the reader leaves, or the server ends.

    Args:
        main: Runs as a task of this response. When it is done, the stream ends.
        others: Run beside it.
        recheck: Asked at every keep-alive interval, whether events flow or not.
    """

    media_type = "text/event-stream"
    charset = "utf-8"

    def __init__(
        self,
        main: Feeder,
        *others: Feeder,
        registry: StreamRegistry,
        recheck: Recheck | None = None,
    ) -> None:
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]
        self._main, self._others = main, others
        self._registry = registry
        self._limits = registry.limits
        self._recheck = recheck

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        stream = EventStream(self._limits)
        self._registry.add(stream)
        loop = asyncio.get_running_loop()
        writing = loop.create_task(self._write_all(stream, send))
        tasks = [
            writing,
            loop.create_task(self._feed(stream, self._main, ends=True)),
            *(loop.create_task(self._feed(stream, other, ends=False)) for other in self._others),
        ]
        leaving = loop.create_task(_until_left(receive))
        dropped = loop.create_task(self._until_hopeless(stream))
        try:
            await asyncio.wait([writing, leaving, dropped], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._registry.discard(stream)
            for task in (*tasks, leaving, dropped):
                task.cancel()
            await asyncio.gather(*tasks, leaving, dropped, return_exceptions=True)
        if writing.done() and not writing.cancelled():
            with suppress(OSError):  # the connection broke while it was written to: the reader has left
                writing.result()

    async def _feed(self, stream: EventStream, feeder: Feeder, *, ends: bool) -> None:
        try:
            await feeder(stream)
        except ReaderTooSlow:
            log.info("a reader took nothing for %g s and is dropped", self._limits.slow_seconds)
        except StreamOver:
            pass
        except Exception:
            log.exception("a stream failed")
            stream.end("error")
        else:
            if ends:
                stream.end("complete")

    async def _until_hopeless(self, stream: EventStream) -> None:
        """Return once a reader that was dropped did not even take the end: its connection is given up."""
        await stream.dropped.wait()
        await asyncio.sleep(self._limits.slow_seconds)

    async def _write_all(self, stream: EventStream, send: Send) -> None:
        loop = asyncio.get_running_loop()
        await _write(send, f"retry: {RETRY_MILLISECONDS}\n\n")
        looked = loop.time()
        while stream.end_reason is None or stream.held:
            taken = await stream.take(seconds=self._limits.keep_alive_seconds)
            if self._recheck is not None and loop.time() - looked >= self._limits.keep_alive_seconds:
                looked = loop.time()
                await self._look_again(stream, self._recheck)
            await _write(send, taken or KEEP_ALIVE)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _look_again(self, stream: EventStream, recheck: Recheck) -> None:
        try:
            reason = await recheck()
        except Exception:
            log.exception("the rights of a stream's reader could not be looked at again")
            reason = "error"
        if reason is not None:
            stream.end(reason)


async def _write(send: Send, text: str) -> None:
    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})


async def _until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class Endable(Protocol):
    """Something that is told when the server ends."""

    def end(self, reason: str) -> None: ...


class StreamRegistry:
    """The streams that are open, so that a server that ends tells their readers."""

    def __init__(self, limits: StreamLimits | None = None) -> None:
        self.limits = limits or StreamLimits()
        self._streams: set[Endable] = set()

    def add(self, stream: Endable) -> None:
        self._streams.add(stream)

    def discard(self, stream: Endable) -> None:
        self._streams.discard(stream)

    def __iter__(self) -> Iterator[Endable]:
        return iter(tuple(self._streams))

    def __len__(self) -> int:
        return len(self._streams)

    def end_all(self, reason: str = "shutdown") -> None:
        """End every open stream with this reason."""
        for stream in self:
            stream.end(reason)
