"""`/api/accounts`: who can sign in to a tenant, and as what (S5.1, S5.2)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, SecretStr

from planwerk.access.accounts import Account, account_resource
from planwerk.access.actions import Action, Resource, Role
from planwerk.access.authorize import allowed, authorize
from planwerk.access.errors import NotFound
from planwerk.access.ids import AccountId
from planwerk.access.principal import Principal
from planwerk.server.authentication import SignedIn
from planwerk.server.parts import Installed, Parts

router = APIRouter(prefix="/api/accounts", tags=["accounts"])


class AccountView(BaseModel):
    """An account as those see it who may."""

    id: str
    login: str
    name: str
    role: Role
    disabled: bool
    has_password: bool
    """Without one it cannot sign in by password."""
    locale: str | None
    created: datetime


class AccountList(BaseModel):
    """The tenant's accounts, oldest first."""

    items: list[AccountView]


class NewAccount(BaseModel):
    """An account to make."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    login: str
    role: Role = Role.MEMBER
    name: str | None = None
    password: SecretStr | None = None
    locale: str | None = None


class AccountPatch(BaseModel):
    """What of an account is to change; what is left out stays."""

    model_config = ConfigDict(extra="forbid")

    role: Role | None = None
    disabled: bool | None = None
    name: str | None = None
    locale: str | None = None


class NewPassword(BaseModel):
    """A password to set."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    password: SecretStr


@router.get("", operation_id="list_accounts")
async def list_accounts(parts: Installed, principal: SignedIn) -> AccountList:
    """The accounts of the tenant."""
    authorize(principal, Action.ACCOUNT_READ, Resource.of_tenant(principal.tenant))
    found = await parts.access.list_accounts(principal.tenant)
    return AccountList(
        items=[_view(each) for each in found if allowed(principal, Action.ACCOUNT_READ, account_resource(each))]
    )


@router.post("", operation_id="create_account", status_code=201)
async def create_account(parts: Installed, principal: SignedIn, given: NewAccount, response: Response) -> AccountView:
    """Make an account; without a password it cannot sign in until it gets one."""
    tenant = replace(Resource.of_tenant(principal.tenant), role=given.role)
    authorize(principal, Action.ACCOUNT_MANAGE, tenant)
    account = await parts.access.create_account(
        given.login,
        role=given.role,
        name=given.name,
        password=given.password.get_secret_value() if given.password else None,
        locale=given.locale,
        tenant=principal.tenant,
    )
    response.headers["Location"] = f"/api/accounts/{account.id}"
    return _view(account)


@router.get("/{account_id}", operation_id="read_account")
async def read_account(parts: Installed, principal: SignedIn, account_id: str) -> AccountView:
    """One account."""
    return _view(await _find(parts, principal, account_id, Action.ACCOUNT_READ))


@router.patch("/{account_id}", operation_id="change_account")
async def change_account(parts: Installed, principal: SignedIn, account_id: str, change: AccountPatch) -> AccountView:
    """Change role, name, language, or shut the account; what is not allowed changes nothing."""
    account = await _find(parts, principal, account_id, Action.ACCOUNT_READ)
    managed = change.role is not None or change.disabled is not None
    if managed:
        authorize(principal, Action.ACCOUNT_MANAGE, account_resource(account, becoming=change.role))
    if change.name is not None or "locale" in change.model_fields_set or not managed:
        authorize(principal, Action.ACCOUNT_EDIT, account_resource(account))
    if change.role is not None:
        account = await parts.access.set_role(principal.tenant, account.id, change.role)
    if change.disabled is not None:
        account = await parts.access.disable(principal.tenant, account.id, disabled=change.disabled)
    if change.name is not None:
        account = await parts.access.set_name(principal.tenant, account.id, change.name)
    if "locale" in change.model_fields_set:
        account = await parts.access.set_locale(principal.tenant, account.id, change.locale)
    return _view(account)


@router.put("/{account_id}/password", operation_id="set_password", status_code=204)
async def set_password(parts: Installed, principal: SignedIn, account_id: str, given: NewPassword) -> Response:
    """Give the account a password; its sessions end."""
    account = await _find(parts, principal, account_id, Action.ACCOUNT_PASSWORD)
    await parts.access.set_password(principal.tenant, account.id, given.password.get_secret_value())
    return Response(status_code=204)


async def _find(parts: Parts, principal: Principal, account_id: str, action: Action) -> Account:
    try:
        account = await parts.access.account(principal.tenant, AccountId(account_id))
    except NotFound:
        authorize(principal, action, Resource.missing("account", account_id))
        raise
    authorize(principal, action, account_resource(account))
    return account


def _view(account: Account) -> AccountView:
    return AccountView(
        id=account.id,
        login=account.login,
        name=account.name,
        role=account.role,
        disabled=account.disabled,
        has_password=account.password_hash is not None,
        locale=account.locale,
        created=account.created,
    )
