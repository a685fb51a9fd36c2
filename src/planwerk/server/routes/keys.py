"""`/api/keys`: API keys, whose text is shown once (S5.1)."""

from __future__ import annotations

from datetime import UTC, datetime

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict

from planwerk.access.accounts import account_resource
from planwerk.access.actions import Action, Resource
from planwerk.access.authorize import allowed, authorize
from planwerk.access.errors import NotFound
from planwerk.access.ids import KeyId
from planwerk.access.keys import ApiKey, key_resource, parse_scopes
from planwerk.server.authentication import SignedIn
from planwerk.server.parts import Installed

router = APIRouter(prefix="/api/keys", tags=["keys"])


class KeyView(BaseModel):
    """A key without its text."""

    id: str
    """The part of the key between `pw_` and its secret."""
    name: str
    account: str
    scopes: list[str] | None
    """None: everything its account may do."""
    created: datetime
    expires: datetime | None
    last_used: datetime | None
    revoked: datetime | None


class KeyList(BaseModel):
    """Keys, oldest first; revoked and expired ones too."""

    items: list[KeyView]


class NewKeyView(KeyView):
    """A key just made: the only time its text is told."""

    text: str


class KeyRequest(BaseModel):
    """A key to make."""

    model_config = ConfigDict(extra="forbid")

    name: str
    scopes: list[str] | None = None
    expires: datetime | None = None


@router.get("", operation_id="list_keys")
async def list_keys(parts: Installed, principal: SignedIn) -> KeyList:
    """All keys of the tenant for those who may see them, else one's own."""
    everybody = allowed(principal, Action.KEY_MANAGE, Resource.of_tenant(principal.tenant))
    if not everybody:
        await _authorize_own(parts, principal)
    found = await parts.access.list_keys(principal.tenant, None if everybody else principal.account)
    return KeyList(items=[_view(key) for key in found if allowed(principal, Action.KEY_MANAGE, key_resource(key))])


@router.post("", operation_id="create_key", status_code=201)
async def create_key(parts: Installed, principal: SignedIn, given: KeyRequest) -> NewKeyView:
    """Make a key for one's own account; nobody makes one that acts as somebody else."""
    await _authorize_own(parts, principal)
    expires = given.expires
    made = await parts.access.create_key(
        principal,
        given.name,
        scopes=parse_scopes(given.scopes) if given.scopes is not None else None,
        expires=expires.replace(tzinfo=UTC) if expires is not None and expires.tzinfo is None else expires,
    )
    return NewKeyView(**_view(made.key).model_dump(), text=made.text)


@router.delete("/{key_id}", operation_id="revoke_key", status_code=204)
async def revoke_key(parts: Installed, principal: SignedIn, key_id: str) -> Response:
    """Refuse the key from now on."""
    try:
        key = await parts.access.key(principal.tenant, KeyId(key_id))
    except NotFound:
        authorize(principal, Action.KEY_MANAGE, Resource.missing("key", key_id))
        raise
    authorize(principal, Action.KEY_MANAGE, key_resource(key))
    await parts.access.revoke_key(principal.tenant, key.id)
    return Response(status_code=204)


async def _authorize_own(parts: Installed, principal: SignedIn) -> None:
    account = await parts.access.account(principal.tenant, principal.account)
    authorize(principal, Action.KEY_MANAGE, account_resource(account))


def _view(key: ApiKey) -> KeyView:
    return KeyView(
        id=key.id,
        name=key.name,
        account=key.account,
        scopes=None if key.scopes is None else sorted(key.scopes),
        created=key.created,
        expires=key.expires,
        last_used=key.last_used,
        revoked=key.revoked,
    )
