"""What every request passes before a route: an id, where it comes from, and the headers of every answer.

Nothing unexpected leaves without them either: an error that no route knew is answered here, in the one shape.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from planwerk.server.problems import send_problem
from planwerk.workflow.ids import new_id

log = logging.getLogger(__name__)

REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
IN_PROCESS_HOST: Final = "testserver"
"""What in-process transports name the server; no name on a network."""

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


class Guards:
    """One ASGI layer around the application, so that nothing is looked at that will be refused.

    Args:
        hosts: Further host names that are ours, as a proxy in front of the server passes them on.
    """

    def __init__(self, app: ASGIApp, *, hosts: Callable[[], Collection[str]]) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        request_id = given if REQUEST_ID.fullmatch(given) else new_id()
        scope.setdefault("state", {})["request_id"] = request_id
        answer = _Answer(send, request_id)
        if self._is_on_loopback(scope):
            if not self._is_ours(_name_in(f"//{headers.get('host', '')}")):
                what_to_do = "Use the address that the server printed."
                detail = "This server is not known by that host name."
                await send_problem(scope, answer.send, 421, "wrong_host", detail, what_to_do=what_to_do)
                return
            if scope["method"] not in SAFE_METHODS and not self._is_ours(_name_in(headers.get("origin", ""))):
                detail = "A page of another site sent this."
                await send_problem(scope, answer.send, 403, "foreign_origin", detail, what_to_do="Use our own page.")
                return
        await self._guarded(scope, receive, answer)

    async def _guarded(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        try:
            await self._app(scope, receive, answer.send)
        except Exception:
            if answer.begun:
                raise  # half an answer cannot be taken back: the server breaks the connection
            log.exception("an unexpected error")
            detail = "Something went wrong in the server."
            what_to_do = "Try again; tell an admin the request id."
            await send_problem(scope, answer.send, 500, "internal_error", detail, what_to_do=what_to_do)

    def _is_on_loopback(self, scope: Scope) -> bool:
        """On loopback a page elsewhere could point its own name at this machine (DNS rebinding), so names count."""
        server = scope.get("server")
        return server is not None and _is_loopback(str(server[0]))

    def _is_ours(self, name: str) -> bool:
        return (
            not name
            or name == IN_PROCESS_HOST
            or name.endswith(".localhost")
            or _is_loopback(name)
            or name in self._hosts()
        )


class _Answer:
    """Sends with the headers of every answer, and knows whether it has begun."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._request_id = request_id
        self.begun = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            headers = MutableHeaders(scope=message)
            headers["X-Request-Id"] = self._request_id
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", "no-store")
        await self._send(message)


def _name_in(address: str) -> str:
    """The host name in a Host or Origin header; "" where none was sent, "?" where it is none."""
    if address in {"", "//"}:
        return ""
    try:
        return urlsplit(address).hostname or "?"
    except ValueError:
        return "?"


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
