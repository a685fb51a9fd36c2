"""Responses that notice when their client leaves, and then stop what the request owns (E4.7, SRV-07)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from planwerk.server.openai.errors import error_body, error_response
from planwerk.server.sse import HEADERS, KEEP_ALIVE, sse_json
from planwerk.workflow.errors import PlanwerkError

log = logging.getLogger(__name__)
DONE = "data: [DONE]\n\n"


class ServerFault(PlanwerkError):
    """Something unexpected happened while the answer was made."""

    code = "internal_error"


class StreamedCompletion(Response):
    """Chunks as data lines, comments while nothing comes, one error frame if it fails, `[DONE]` only if it did not."""

    media_type = "text/event-stream"

    def __init__(
        self,
        chunks: AsyncGenerator[dict[str, Any]],
        *,
        on_close: Callable[[], Awaitable[None]],
        keep_alive_seconds: float,
    ) -> None:
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]
        self._chunks = chunks
        self._on_close = on_close
        self._keep_alive_seconds = keep_alive_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        writing = asyncio.create_task(self._write(send))
        leaving = asyncio.create_task(_until_left(receive))
        try:
            await asyncio.wait([writing, leaving], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (writing, leaving):
                task.cancel()
            await asyncio.gather(writing, leaving, return_exceptions=True)
            await self._on_close()

    async def _write(self, send: Send) -> None:
        async with aclosing(self._chunks) as chunks:
            pending = asyncio.ensure_future(anext(chunks))
            try:
                while True:
                    done, _ = await asyncio.wait([pending], timeout=self._keep_alive_seconds)
                    if not done:
                        await _body(send, KEEP_ALIVE)
                        continue
                    try:
                        chunk = pending.result()
                    except StopAsyncIteration:
                        await _body(send, DONE, more=False)
                        return
                    await _body(send, f"data: {sse_json(chunk)}\n\n")
                    pending = asyncio.ensure_future(anext(chunks))
            except asyncio.CancelledError:
                raise
            except PlanwerkError as error:
                await _body(send, f"data: {sse_json(error_body(error))}\n\n", more=False)
            except Exception as error:
                log.exception("a completion failed", exc_info=error)
                fault = ServerFault("Something went wrong in the server.", what_to_do="Try again.")
                await _body(send, f"data: {sse_json(error_body(fault))}\n\n", more=False)
            finally:
                pending.cancel()
                await asyncio.gather(pending, return_exceptions=True)


class WholeCompletion(Response):
    """A completion in one piece; errors have their status."""

    def __init__(
        self, make: Callable[[], Awaitable[dict[str, Any]]], *, on_close: Callable[[], Awaitable[None]]
    ) -> None:
        super().__init__()
        self._make = make
        self._on_close = on_close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        making = asyncio.ensure_future(self._make())
        leaving = asyncio.create_task(_until_left(receive))
        try:
            await asyncio.wait([making, leaving], return_when=asyncio.FIRST_COMPLETED)
            if making.done():
                await _result(making)(scope, receive, send)
        finally:
            for task in (making, leaving):
                task.cancel()
            await asyncio.gather(making, leaving, return_exceptions=True)
            await self._on_close()


def _result(making: asyncio.Future[dict[str, Any]]) -> Response:
    try:
        return JSONResponse(making.result())
    except PlanwerkError as error:
        return error_response(error)
    except Exception as error:
        log.exception("a completion failed", exc_info=error)
        return error_response(ServerFault("Something went wrong in the server.", what_to_do="Try again."))


async def _body(send: Send, text: str, *, more: bool = True) -> None:
    await send({"type": "http.response.body", "body": text.encode(), "more_body": more})


async def _until_left(receive: Receive) -> None:
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
