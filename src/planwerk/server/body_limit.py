"""No body is read further than its limit (S5.4): by what it declares, and by what really comes (413)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from planwerk.server.problems import send_problem

MESSAGE_BYTES: Final = 1_048_576
"""A message's text (S5.4)."""
BODY_OVERHEAD: Final = 65_536
"""What may stand around a message in a body."""
UPLOAD: Final = re.compile(r"/api/collections/[^/]+/documents")
"""Where files are sent to."""
LINGER_BYTES: Final = 64 * 1_048_576
LINGER_SECONDS: Final = 5.0


class TooLarge(HTTPException):
    """More of a body came than is taken; raised into whoever reads it."""

    def __init__(self, limit: int) -> None:
        super().__init__(413, too_large(limit))


def too_large(limit: int) -> str:
    return f"The body is larger than {limit} bytes."


class BodyLimit:
    """One ASGI layer: refuses what declares to be too large, and stops reading what is although it did not say so.

    Args:
        file_bytes: Largest file of an upload, which is a request of its own kind.
    """

    def __init__(self, app: ASGIApp, *, message_bytes: Callable[[], int], file_bytes: Callable[[], int]) -> None:
        self._app = app
        self._message_bytes = message_bytes
        self._file_bytes = file_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._limit(scope)
        declared = Headers(scope=scope).get("content-length", "")
        body = _Body(receive, send, limit)
        if declared.isdecimal() and int(declared) > limit:
            await send_problem(scope, body.send, 413, "too_large", too_large(limit), what_to_do="Send less.")
            return
        await self._app(scope, body.receive, body.send)

    def _limit(self, scope: Scope) -> int:
        if scope["method"] == "POST" and UPLOAD.fullmatch(scope["path"]):
            return self._file_bytes() + BODY_OVERHEAD
        # JSON may write a line break or a quotation mark of the text as two characters.
        return self._message_bytes() * 2 + BODY_OVERHEAD


class _Body:
    """Counts what is read of a request, and after a refusal lets the client finish sending into the void.

    A server that closes while its client still sends resets the connection, and the client may never see the answer; so
    what comes after the answer is read and dropped, up to a bound.
    """

    def __init__(self, receive: Receive, send: Send, limit: int) -> None:
        self._receive = receive
        self._send = send
        self._limit = limit
        self._taken = 0
        self._whole = False
        self._refused = False

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._taken += len(message.get("body", b""))
            self._whole = not message.get("more_body", False)
            if self._taken > self._limit:
                raise TooLarge(self._limit)
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._refused = message["status"] == 413
        last = message["type"] == "http.response.body" and not message.get("more_body", False)
        if not (last and self._refused and not self._whole):
            await self._send(message)
            return
        await self._send({**message, "more_body": True})
        await self._drop_the_rest()
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _drop_the_rest(self) -> None:
        dropped = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS):
                while dropped < LINGER_BYTES:
                    message = await self._receive()
                    if message["type"] != "http.request" or not message.get("more_body", False):
                        return
                    dropped += len(message.get("body", b""))
