"""Responses that notice when their client leaves, and then stop what the request owns (E4.7, SRV-07).

Both forms work alike: what makes the answer is one task, and two things end it early. The client leaves: nobody is
told, and `on_close` stops the run if it is the request's own. The server shuts down: the client is told.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from contextlib import aclosing
from typing import Any, Final

from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from planwerk.server.openai.errors import ServerEnds, error_body, error_response, whatever
from planwerk.server.sse import HEADERS, KEEP_ALIVE, StreamRegistry, sse_json

DONE: Final = "data: [DONE]\n\n"
NO_HEADERS: Final[Mapping[str, str]] = {}


async def nothing() -> None:
    """There is nothing to stop."""


class AnswerResponse(Response):
    """A response that lasts as long as its answer takes, or until its client or the server leaves.

    Args:
        registry: Where open answers are known to a server that ends.
        headers: Of the answer, and of the error in its place.
        on_close: Called once, however it ends.
    """

    def __init__(
        self,
        *,
        registry: StreamRegistry,
        headers: Mapping[str, str] = NO_HEADERS,
        on_close: Callable[[], Awaitable[None]] = nothing,
    ) -> None:
        super().__init__(headers=headers)
        self._given_headers = headers
        self._registry = registry
        self._on_close = on_close
        self._ending = asyncio.Event()
        self._began = False

    def end(self, reason: str) -> None:
        """The server ends: tell the client instead of letting it wait."""
        self._ending.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        loop = asyncio.get_running_loop()
        answering = loop.create_task(self._answer(send))
        leaving = loop.create_task(_until_left(receive))
        ending = loop.create_task(self._ending.wait())
        tasks = (answering, leaving, ending)
        self._registry.add(self)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            left = leaving.done()
        finally:
            self._registry.discard(self)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._on_close()
        if answering.cancelled() and not left:
            await self._tell(ServerEnds(), send)

    @abstractmethod
    def _answer(self, send: Send) -> Coroutine[Any, Any, None]:
        """Send the answer, or the error it ended with."""

    @abstractmethod
    async def _tell(self, error: Exception, send: Send) -> None:
        """End with an error."""


class StreamedCompletion(AnswerResponse):
    """Chunks as data lines, comments while nothing comes, one error frame if it fails, `[DONE]` only if it did not."""

    media_type = "text/event-stream"

    def __init__(
        self,
        chunks: AsyncGenerator[dict[str, Any]],
        *,
        registry: StreamRegistry,
        keep_alive_seconds: float,
        headers: Mapping[str, str] = NO_HEADERS,
        on_close: Callable[[], Awaitable[None]] = nothing,
    ) -> None:
        super().__init__(registry=registry, headers=headers, on_close=on_close)
        self.headers.update(HEADERS)
        del self.headers["content-length"]
        self._chunks = chunks
        self._keep_alive_seconds = keep_alive_seconds

    async def _answer(self, send: Send) -> None:
        try:
            await self._send_chunks(send)
        except Exception as error:
            await self._tell(error, send)
        else:
            await _body(send, DONE, more=False)

    async def _send_chunks(self, send: Send) -> None:
        await self._start(send)
        async with aclosing(self._chunks) as chunks:
            coming = asyncio.ensure_future(anext(chunks))
            try:
                while True:
                    done, _ = await asyncio.wait([coming], timeout=self._keep_alive_seconds)
                    if not done:
                        await _body(send, KEEP_ALIVE)
                        continue
                    try:
                        chunk = coming.result()
                    except StopAsyncIteration:
                        return
                    await _body(send, f"data: {sse_json(chunk)}\n\n")
                    coming = asyncio.ensure_future(anext(chunks))
            finally:
                coming.cancel()
                await asyncio.gather(coming, return_exceptions=True)

    async def _start(self, send: Send) -> None:
        self._began = True
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})

    async def _tell(self, error: Exception, send: Send) -> None:
        if not self._began:
            await self._start(send)
        await _body(send, f"data: {sse_json(error_body(whatever(error)))}\n\n", more=False)


class WholeCompletion(AnswerResponse):
    """A completion in one piece; errors have their status.

    Args:
        repeatable: Whether the official client may repeat a request that failed; not where it posted a message.
    """

    def __init__(
        self,
        make: Callable[[], Awaitable[dict[str, Any]]],
        *,
        registry: StreamRegistry,
        repeatable: bool = True,
        headers: Mapping[str, str] = NO_HEADERS,
        on_close: Callable[[], Awaitable[None]] = nothing,
    ) -> None:
        super().__init__(registry=registry, headers=headers, on_close=on_close)
        self._make = make
        self._repeatable = repeatable

    async def _answer(self, send: Send) -> None:
        try:
            made = JSONResponse(await self._make())
        except Exception as error:
            await self._tell(error, send)
        else:
            await self._send(made, send)

    async def _tell(self, error: Exception, send: Send) -> None:
        await self._send(error_response(whatever(error), repeatable=self._repeatable), send)

    async def _send(self, response: Response, send: Send) -> None:
        response.headers.update(self._given_headers)
        await send({"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers})
        await send({"type": "http.response.body", "body": bytes(response.body)})


async def _body(send: Send, text: str, *, more: bool = True) -> None:
    await send({"type": "http.response.body", "body": text.encode(), "more_body": more})


async def _until_left(receive: Receive) -> None:
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
