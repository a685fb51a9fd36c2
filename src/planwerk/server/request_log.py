"""One line in the log for each request, and the ids that every line about it carries (S6.2).

What people write is never in it, nor is a query: the one-time token of `/signin` comes in one.
"""

from __future__ import annotations

import logging
import time
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bind_contextvars, bound_contextvars, clear_contextvars, get_contextvars

from planwerk.access.principal import Principal

log = logging.getLogger(__name__)

PROBES: Final = ("/health/", "/assets/")


class RequestLog:
    """One ASGI layer, outermost but for the guards, which give the request its id."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        outer = get_contextvars()
        bind_contextvars(request=scope["state"]["request_id"])
        began, status = time.perf_counter(), 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            milliseconds = round((time.perf_counter() - began) * 1000, 1)
            with bound_contextvars(
                method=scope["method"], path=scope["path"], status=status, milliseconds=milliseconds, **_who(scope)
            ):
                log.log(logging.DEBUG if scope["path"].startswith(PROBES) else logging.INFO, "request")
            clear_contextvars()
            bind_contextvars(**outer)


def _who(scope: Scope) -> dict[str, str]:
    principal = scope["state"].get("principal")
    if not isinstance(principal, Principal):
        return {}
    return {"tenant": principal.tenant, "account": principal.account, "via": principal.via}


def concerns(**ids: str) -> None:
    """Give all further log lines of this request the ids of what it is about: tenant, thread, run, workspace."""
    bind_contextvars(**ids)
