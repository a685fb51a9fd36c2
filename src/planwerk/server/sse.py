"""Server-sent events for streams of tokens (W3): ids, keep-alive, one write for all that waits, bounded memory.

A response owns the tasks that feed it and ends them with itself. Feeding waits while the reader is behind; a reader
that takes nothing for too long is dropped, and resumes by position.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

log = logging.getLogger(__name__)

KEEP_ALIVE_SECONDS: Final = 15.0
MAX_WAITING: Final = 100
"""Events held for a reader that is behind (SRV-11)."""
SLOW_SECONDS: Final = 30.0
"""How long a reader may take nothing while events wait."""
RETRY_MILLISECONDS: Final = 2_000
KEEP_ALIVE: Final = ": keep-alive\n\n"
HEADERS: Final = {
    "Cache-Control": "no-store, no-transform",
    "X-Accel-Buffering": "no",
    "Connection": "keep-alive",
}
LINE_BREAKS: Final = {"\u2028": "\\u2028", "\u2029": "\\u2029", "\u0085": "\\u0085"}


def sse_json(data: Any) -> str:
    """JSON on one line for every reader: what some take for a line break is escaped (SRV-03)."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    if not text.isascii():
        for mark, escaped in LINE_BREAKS.items():
            text = text.replace(mark, escaped)
    return text


class ReaderTooSlow(Exception):
    """The reader took nothing for too long; it is dropped and resumes by position."""


class EventStream:
    """What feeders write to: events wait here until the response takes them all in one write."""

    def __init__(self, *, max_waiting: int = MAX_WAITING, slow_seconds: float = SLOW_SECONDS) -> None:
        self._waiting: deque[str] = deque()
        self._max_waiting = max_waiting
        self._slow_seconds = slow_seconds
        self._filled = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self.ended = False

    async def send(self, event: str, data: Any, *, id: int | None = None) -> None:  # noqa: A002 - the field's name
        """Queue an event, waiting while the reader is behind.

        Raises:
            ReaderTooSlow: It took nothing for too long.
        """
        if len(self._waiting) >= self._max_waiting:
            self._room.clear()
            try:
                async with asyncio.timeout(self._slow_seconds):
                    await self._room.wait()
            except TimeoutError:
                self.end("too_slow")
                raise ReaderTooSlow from None
        self._push(event, data, id)

    def end(self, reason: str) -> None:
        """Tell the reader that the stream ends here, and why."""
        if not self.ended:
            self._push("end", {"reason": reason}, None)
            self.ended = True

    def _push(self, event: str, data: Any, position: int | None) -> None:
        if self.ended:
            return
        head = f"id: {position}\n" if position is not None else ""
        self._waiting.append(f"{head}event: {event}\ndata: {sse_json(data)}\n\n")
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


class EventStreamResponse(Response):
    """Streams what feeders send until they are done, the reader leaves, or the server ends.

    Args:
        feeders: Each runs as a task of this response. When `main` is done, the stream ends.
        recheck: Asked at every keep-alive; raising ends the stream (rights were withdrawn).
    """

    media_type = "text/event-stream"
    charset = "utf-8"

    def __init__(
        self,
        main: Feeder,
        *others: Feeder,
        registry: StreamRegistry,
        recheck: Callable[[], Awaitable[object]] | None = None,
        keep_alive_seconds: float = KEEP_ALIVE_SECONDS,
        max_waiting: int = MAX_WAITING,
        slow_seconds: float = SLOW_SECONDS,
    ) -> None:
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]
        self._main, self._others = main, others
        self._registry = registry
        self._recheck = recheck
        self._keep_alive_seconds = keep_alive_seconds
        self._stream = EventStream(max_waiting=max_waiting, slow_seconds=slow_seconds)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await self._write(send, f"retry: {RETRY_MILLISECONDS}\n\n")
        loop = asyncio.get_running_loop()
        main = loop.create_task(self._feed(self._main, ends=True))
        tasks = [main, *(loop.create_task(self._feed(other, ends=False)) for other in self._others)]
        writing = loop.create_task(self._write_all(send))
        leaving = loop.create_task(_until_left(receive))
        self._registry.add(self._stream)
        try:
            await asyncio.wait([writing, leaving], return_when=asyncio.FIRST_COMPLETED)
            if writing.done() and not writing.cancelled():
                writing.result()
        finally:
            self._registry.discard(self._stream)
            for task in (*tasks, writing, leaving):
                task.cancel()
            await asyncio.gather(*tasks, writing, leaving, return_exceptions=True)

    async def _feed(self, feeder: Feeder, *, ends: bool) -> None:
        try:
            await feeder(self._stream)
        except ReaderTooSlow:
            log.info("a reader took nothing for too long and is dropped; it can resume by position")
            return
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("a stream failed")
            self._stream.end("error")
            return
        if ends:
            self._stream.end("complete")

    async def _write_all(self, send: Send) -> None:
        while True:
            taken = await self._stream.take(seconds=self._keep_alive_seconds)
            if taken is None:
                if self._recheck is not None:
                    try:
                        await self._recheck()
                    except Exception:
                        self._stream.end("signed_out")
                        continue
                taken = KEEP_ALIVE
            await self._write(send, taken)
            if self._stream.ended and taken is not KEEP_ALIVE:
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                return

    async def _write(self, send: Send, text: str) -> None:
        await send({"type": "http.response.body", "body": text.encode(), "more_body": True})


async def _until_left(receive: Receive) -> None:
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return


class StreamRegistry:
    """The streams that are open, so that a server that ends tells their readers."""

    def __init__(self) -> None:
        self._streams: set[EventStream] = set()

    def add(self, stream: EventStream) -> None:
        self._streams.add(stream)

    def discard(self, stream: EventStream) -> None:
        self._streams.discard(stream)

    def __len__(self) -> int:
        return len(self._streams)

    def end_all(self, reason: str = "shutdown") -> None:
        """End every open stream with this reason."""
        for stream in list(self._streams):
            with contextlib.suppress(Exception):
                stream.end(reason)
