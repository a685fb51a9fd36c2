"""Who sends a request: by API key, by session cookie, or as a command that runs in this process (S5.1).

A cookie is sent by the browser whoever wrote the page, so a write by cookie must also carry the session's CSRF token,
and none is taken from a foreign page. A key is sent by its client alone and needs neither. A key that is sent is what
counts: if it is not valid, the cookie beside it is not looked at.

Routes ask for `SignedIn`, or for `Visitor` where nobody has to be. Neither decides what may be done: `authorize` does.
"""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Depends
from starlette.requests import HTTPConnection
from starlette.responses import Response

from planwerk.access.errors import CsrfRefused, NotSignedIn, TooManyAttempts
from planwerk.access.principal import Principal
from planwerk.access.sessions import Session, SessionLimits
from planwerk.server.installation import sign_in_parts
from planwerk.workflow.errors import PlanwerkError

COOKIE: Final = "planwerk_session"
CSRF_HEADER: Final = "X-CSRF-Token"
IN_PROCESS: Final = "planwerk.principal"
"""The key of the ASGI scope by which a transport in this process names its principal; no network client sets one."""

COOKIE_SECONDS: Final = int(SessionLimits().longest.total_seconds())
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
UNKNOWN_ADDRESS: Final = "unknown"


async def visitor(connection: HTTPConnection) -> Principal | None:
    """Who sends the request, or None where it carries no credentials at all.

    Raises:
        KeyRefused: An API key was sent that is not valid.
        SessionEnded: A cookie was sent whose session is over.
        CsrfRefused: A write by cookie did not prove that it comes from our own page.
    """
    principal = await _identify(connection)
    connection.state.principal = principal
    return principal


async def signed_in(principal: Annotated[Principal | None, Depends(visitor)]) -> Principal:
    """Who sends the request.

    Raises:
        NotSignedIn: Nobody that is known.
    """
    if principal is None:
        raise NotSignedIn
    return principal


Visitor = Annotated[Principal | None, Depends(visitor)]
SignedIn = Annotated[Principal, Depends(signed_in)]


async def _identify(connection: HTTPConnection) -> Principal | None:
    in_process = connection.scope.get(IN_PROCESS)
    if isinstance(in_process, Principal):
        return in_process
    access = sign_in_parts(connection).access
    key = bearer(connection)
    if key is not None:
        return await access.principal_of_key(key)
    token = session_token(connection)
    if token is None:
        return None
    principal = await access.principal_of_session(token)
    if connection.scope.get("method") not in SAFE_METHODS:
        refuse_foreign_page(connection)
        if not access.csrf_matches(token, connection.headers.get(CSRF_HEADER)):
            raise CsrfRefused
    return principal


def bearer(connection: HTTPConnection) -> str | None:
    """The API key in the `Authorization` header; None for none, and for other schemes, which proxies use."""
    scheme, _, key = connection.headers.get("Authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else None


def session_token(connection: HTTPConnection) -> str | None:
    """The secret in the session cookie."""
    return connection.cookies.get(COOKIE) or None


def refuse_foreign_page(connection: HTTPConnection) -> None:
    """Refuse what a browser says another site's page sent (Fetch Metadata, `Sec-Fetch-Site`).

    Raises:
        CsrfRefused: It does.
    """
    if connection.headers.get("Sec-Fetch-Site", "").lower() in {"cross-site", "same-site"}:
        raise CsrfRefused


def client_address(connection: HTTPConnection) -> str:
    """Where the request comes from, as the server sees it; behind a trusted proxy uvicorn puts its client there."""
    return connection.client.host if connection.client is not None else UNKNOWN_ADDRESS


def set_cookie(response: Response, session: Session, connection: HTTPConnection) -> None:
    """Give the browser its session; how long that really lives is decided here at each use, not by the cookie."""
    response.set_cookie(
        COOKIE,
        session.token,
        max_age=COOKIE_SECONDS,
        httponly=True,
        samesite="lax",
        secure=connection.url.scheme == "https",
    )


def clear_cookie(response: Response) -> None:
    """Take the cookie back."""
    response.delete_cookie(COOKIE, httponly=True, samesite="lax")


def refusal_headers(error: PlanwerkError) -> dict[str, str]:
    """The headers that belong to a refusal beside its body: how to authenticate, when to try again."""
    match error:
        case TooManyAttempts():
            return {"Retry-After": str(error.retry_after_seconds)}
        case NotSignedIn():
            return {"WWW-Authenticate": 'Bearer realm="planwerk"'}
        case _:
            return {}
