"""What every request passes before a route: an id, size, where it comes from, and the headers of every answer."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from typing import Any, Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from planwerk.workflow.ids import new_id

REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
MESSAGE_BYTES: Final = 1_048_576
"""A message's text (S5.4)."""
BODY_OVERHEAD: Final = 65_536
"""What may stand around a message in a body, and escapes in it."""

SECURITY_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


LINGER_BYTES: Final = 64 * 1_048_576
LINGER_SECONDS: Final = 5.0


class TooLarge(HTTPException):
    """More of a body came than is taken; raised into whoever reads it."""

    def __init__(self, limit: int) -> None:
        super().__init__(413, f"The body is larger than {limit} bytes.")


class Guards:
    """One ASGI layer around the application, so that nothing is read that will be refused."""

    def __init__(self, app: ASGIApp, *, message_bytes: Callable[[], int]) -> None:
        self._app = app
        self._message_bytes = message_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        request_id = given if REQUEST_ID.fullmatch(given) else new_id()
        scope.setdefault("state", {})["request_id"] = request_id
        guarded = _with_headers(send, request_id)
        if not host_is_ours(scope, headers):
            await _refuse(guarded, 421, "wrong_host", "This server is not known by that host name.")
            return
        limit = self._message_bytes() * 2 + BODY_OVERHEAD
        declared = headers.get("content-length", "")
        body = _Body(receive, guarded, limit)
        if declared.isdecimal() and int(declared) > limit:
            await _refuse(body.send, 413, "too_large", f"The body is larger than {limit} bytes.")
            return
        await self._app(scope, body.receive, body.send)


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


def host_is_ours(scope: Scope, headers: Headers) -> bool:
    """Refuse foreign host names on loopback: a page elsewhere could point its name at this machine (DNS rebinding)."""
    server = scope.get("server")
    host = headers.get("host", "")
    if server is None or not host or not _is_loopback(str(server[0])):
        return True
    name = host.rsplit(":", 1)[0] if not host.endswith("]") and host.count(":") == 1 else host
    return name in {"localhost", "testserver"} or name.endswith(".localhost") or _is_loopback(name.strip("[]"))


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.partition("]")[0].strip("[")).is_loopback
    except ValueError:
        return host == "localhost"


def _with_headers(send: Send, request_id: str) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["X-Request-Id"] = request_id
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return sending


async def _refuse(send: Send, status: int, code: str, detail: str) -> None:
    body: dict[str, Any] = {"type": "about:blank", "title": "Refused", "status": status, "detail": detail, "code": code}
    body["what_to_do"] = "Send less." if status == 413 else "Use the address that the server printed."
    data = json.dumps(body).encode()
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", str(len(data)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": data})
