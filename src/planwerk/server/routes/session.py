"""`/api/session` and `/signin`: coming in, who is in, and going out (S5.1)."""

from __future__ import annotations

from contextlib import suppress

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, ConfigDict

from planwerk.access.accounts import account_resource
from planwerk.access.actions import Action, Role
from planwerk.access.authorize import authorize
from planwerk.access.errors import NotSignedIn
from planwerk.access.principal import Principal
from planwerk.access.sessions import Session
from planwerk.server.authentication import (
    SignedIn,
    clear_cookie,
    client_address,
    refuse_foreign_page,
    session_token,
    set_cookie,
    visitor,
)
from planwerk.server.installation import SignInParts, sign_in_parts

router = APIRouter(tags=["session"])


class Credentials(BaseModel):
    """A login and its password."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    login: str
    password: str


class SessionChange(BaseModel):
    """What a person chooses for herself."""

    model_config = ConfigDict(extra="forbid")

    locale: str | None
    """None follows the browser."""


class SessionAccount(BaseModel):
    """The person who is signed in."""

    id: str
    name: str
    login: str
    locale: str | None


class SessionView(BaseModel):
    """Who is signed in, and what a client needs to go on."""

    account: SessionAccount
    tenant: str
    role: Role
    csrf: str | None
    """For the header `X-CSRF-Token` of every write by cookie; None where an API key is used."""
    private_workspace: str


@router.get("/api/session", operation_id="read_session")
async def read_session(request: Request, principal: SignedIn) -> SessionView:
    """Who is signed in."""
    return await _view(sign_in_parts(request), principal, session_token(request))


@router.post("/api/session", operation_id="sign_in")
async def sign_in(request: Request, response: Response, credentials: Credentials) -> SessionView:
    """Sign in with login and password; the session comes as a cookie."""
    refuse_foreign_page(request)
    parts = sign_in_parts(request)
    session = await parts.access.sign_in(credentials.login, credentials.password, client_address(request))
    await _replace_session(request, response, session)
    return await _view(parts, session.principal, session.token)


@router.patch("/api/session", operation_id="change_session")
async def change_session(request: Request, principal: SignedIn, change: SessionChange) -> SessionView:
    """Choose the language."""
    parts = sign_in_parts(request)
    account = await parts.access.account(principal.tenant, principal.account)
    authorize(principal, Action.ACCOUNT_EDIT, account_resource(account))
    await parts.access.set_locale(principal.tenant, principal.account, change.locale)
    return await _view(parts, principal, session_token(request))


@router.delete("/api/session", operation_id="sign_out", status_code=204)
async def sign_out(request: Request) -> Response:
    """End the session; with none, there is none to end."""
    response = Response(status_code=204)
    with suppress(NotSignedIn):
        principal = await visitor(request)
        token = session_token(request)
        if principal is not None and principal.via == "session" and token is not None:
            await sign_in_parts(request).access.sign_out(token)
    clear_cookie(response)
    return response


@router.get("/signin", operation_id="sign_in_by_link", status_code=303, include_in_schema=False)
async def sign_in_by_link(request: Request, token: str = "") -> Response:
    """Turn a one-time token into a session, and leave the address that holds it (S5.1: no token in a URL after it)."""
    headers = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
    try:
        session = await sign_in_parts(request).access.sign_in_with_token(token)
    except NotSignedIn:
        return RedirectResponse("/?signin=expired", status_code=303, headers=headers)
    response = RedirectResponse("/", status_code=303, headers=headers)
    await _replace_session(request, response, session)
    return response


async def _replace_session(request: Request, response: Response, session: Session) -> None:
    """One browser, one session: the one it came with ends."""
    old = session_token(request)
    if old is not None:
        await sign_in_parts(request).access.sign_out(old)
    set_cookie(response, session, request)


async def _view(parts: SignInParts, principal: Principal, token: str | None) -> SessionView:
    account = await parts.access.account(principal.tenant, principal.account)
    return SessionView(
        account=SessionAccount(id=account.id, name=account.name, login=account.login, locale=account.locale),
        tenant=principal.tenant,
        role=account.role,
        csrf=parts.access.csrf(token) if principal.via == "session" and token is not None else None,
        private_workspace=await parts.workspaces.private_of(principal.tenant, principal.actor()),
    )
