"""An ASGI application as a server of this process: same routes, same streams, no socket.

Unlike httpx2's own transport it hands over the body while it is made, and it names who asks.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from typing import Any, Final

import httpx2

from planwerk.access.principal import Principal
from planwerk.server.authentication import IN_PROCESS

MAX_WAITING: Final = 64
ADDRESS: Final = "http://127.0.0.1"

Message = MutableMapping[str, Any]


class InProcessTransport(httpx2.AsyncBaseTransport):
    """Passes requests to the application in the name of a principal."""

    def __init__(self, application: Any, principal: Principal) -> None:
        self._application, self._principal = application, principal

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        exchange = _Exchange(await request.aread())
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "scheme": request.url.scheme,
            "path": request.url.path,
            "raw_path": request.url.raw_path.split(b"?")[0],
            "query_string": request.url.query,
            "server": ("127.0.0.1", 80),
            "client": ("127.0.0.1", 0),
            "root_path": "",
            "state": {},
            IN_PROCESS: self._principal,
        }
        exchange.task = asyncio.create_task(self._application(scope, exchange.receive, exchange.send))
        start = await exchange.next_message()
        if start is None:
            raise httpx2.RemoteProtocolError("the application sent nothing", request=request)
        return httpx2.Response(start["status"], headers=start["headers"], stream=exchange, request=request)


class _Exchange(httpx2.AsyncByteStream):
    """One request and its response, whose body is read as it comes."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._messages: asyncio.Queue[Message] = asyncio.Queue(MAX_WAITING)
        self._left = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    async def receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        await self._messages.put(message)

    async def next_message(self) -> Message | None:
        """What the application sends next; None once it has ended. What it raised is raised here."""
        assert self.task is not None
        getting = asyncio.ensure_future(self._messages.get())
        try:
            await asyncio.wait({getting, self.task}, return_when=asyncio.FIRST_COMPLETED)
            if getting.done():
                return getting.result()
        finally:
            getting.cancel()
        if not self._messages.empty():
            return self._messages.get_nowait()
        self.task.result()
        return None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (message := await self.next_message()) is not None:
            if message["type"] == "http.response.body":
                yield message.get("body", b"")
                if not message.get("more_body", False):
                    return

    async def aclose(self) -> None:
        self._left.set()
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)
