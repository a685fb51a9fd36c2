"""Making and changing accounts. Routes ask `authorize` first, with `account_resource`; nothing here asks again."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from planwerk.access.accounts import (
    Account,
    AccountChange,
    Tenant,
    change_disabled,
    change_password,
    change_role,
    check_password,
    clean_locale,
    clean_login,
    clean_name,
    parse_tenant,
)
from planwerk.access.actions import Role
from planwerk.access.errors import NotFound
from planwerk.access.ids import DEFAULT_TENANT, AccountId, TenantId
from planwerk.access.parts import AccessParts, account_in
from planwerk.access.ports import ChangeRule
from planwerk.workflow.ids import new_id

LOCAL_LOGIN: Final = "owner"


class AccountDesk:
    """Accounts of one installation."""

    def __init__(self, parts: AccessParts) -> None:
        self._parts = parts

    async def ensure_installation(self, *, owner_name: str = "Owner", owner_login: str = LOCAL_LOGIN) -> Account:
        """The tenant `default` and its local owner, made where they are missing (S5.2).

        The local owner signs in by the one-time token, and by password only once it has been given one.
        """
        now = self._parts.clock()
        owner = Account(
            id=AccountId(new_id()),
            tenant=DEFAULT_TENANT,
            login=clean_login(owner_login),
            name=clean_name(owner_name),
            role=Role.OWNER,
            created=now,
            is_local_owner=True,
        )
        return await self._parts.accounts.install(Tenant(DEFAULT_TENANT, "Default", now), owner)

    async def ensure_tenant(self, slug: str, name: str | None = None) -> TenantId:
        """A tenant beside `default`, made if it is missing (S5.2: the operator adds others).

        Raises:
            InvalidAccount: The slug is none, or the name cannot be shown.
        """
        tenant = Tenant(parse_tenant(slug), clean_name(name or slug), self._parts.clock())
        await self._parts.accounts.add_tenant(tenant)
        return tenant.id

    async def create_account(
        self,
        login: str,
        *,
        role: Role = Role.MEMBER,
        name: str | None = None,
        password: str | None = None,
        locale: str | None = None,
        tenant: TenantId = DEFAULT_TENANT,
    ) -> Account:
        """A new account; without a password it cannot sign in until it gets one.

        Args:
            name: Shown to people; the login where it is left out.

        Raises:
            InvalidAccount: Something of it is not acceptable; nothing was made.
            LoginTaken: Another account has this login.
        """
        login = clean_login(login)
        name = clean_name(login if name is None else name)
        locale = clean_locale(locale)
        password_hash = None if password is None else await self._hash(password)
        account = Account(
            id=AccountId(new_id()),
            tenant=tenant,
            login=login,
            name=name,
            role=role,
            created=self._parts.clock(),
            locale=locale,
            password_hash=password_hash,
        )
        await self._parts.accounts.add_account(account)
        return account

    async def list_accounts(self, tenant: TenantId = DEFAULT_TENANT) -> list[Account]:
        """The tenant's accounts, oldest first."""
        return await self._parts.accounts.accounts(tenant)

    async def account(self, tenant: TenantId, account: AccountId) -> Account:
        """One account of the tenant.

        Raises:
            NotFound: There is none, or it is another tenant's.
        """
        return await account_in(self._parts, tenant, account)

    async def account_by_login(self, tenant: TenantId, login: str) -> Account:
        """The account with this login in the tenant, however it is written.

        Raises:
            NotFound: There is none, or it is another tenant's.
        """
        found = await self._parts.accounts.account_by_login(clean_login(login))
        if found is None or found.tenant != tenant:
            raise NotFound("account", login)
        return found

    async def set_password(self, tenant: TenantId, account: AccountId, password: str) -> Account:
        """Give a password; all sessions of the account end.

        Raises:
            InvalidAccount: The password is too short or too long.
            NotFound: There is no such account in the tenant.
        """
        password_hash = await self._hash(password)
        return await self._change(tenant, account, lambda stored, _: change_password(stored, password_hash))

    async def set_role(self, tenant: TenantId, account: AccountId, role: Role) -> Account:
        """Give another role; a lesser one ends all sessions of the account.

        Raises:
            LastOwner: The tenant would be left without an owner.
            NotFound: There is no such account in the tenant.
        """
        return await self._change(
            tenant, account, lambda stored, others: change_role(stored, role, other_owners=others)
        )

    async def disable(self, tenant: TenantId, account: AccountId, *, disabled: bool = True) -> Account:
        """Shut the account, or open it again; shutting ends its sessions, and its keys are refused meanwhile.

        Raises:
            LastOwner: The tenant would be left without an owner.
            NotFound: There is no such account in the tenant.
        """
        return await self._change(
            tenant, account, lambda stored, others: change_disabled(stored, disabled, other_owners=others)
        )

    async def set_locale(self, tenant: TenantId, account: AccountId, locale: str | None) -> Account:
        """Choose the language; None follows the browser.

        Raises:
            InvalidAccount: It is no language tag.
            NotFound: There is no such account in the tenant.
        """
        locale = clean_locale(locale)
        return await self._change(tenant, account, lambda stored, _: AccountChange(replace(stored, locale=locale)))

    async def set_name(self, tenant: TenantId, account: AccountId, name: str) -> Account:
        """Choose the name that people see.

        Raises:
            InvalidAccount: It cannot be shown as one line.
            NotFound: There is no such account in the tenant.
        """
        name = clean_name(name)
        return await self._change(tenant, account, lambda stored, _: AccountChange(replace(stored, name=name)))

    async def end_sessions(self, tenant: TenantId, account: AccountId) -> None:
        """Sign the account out everywhere.

        Raises:
            NotFound: There is no such account in the tenant.
        """
        found = await account_in(self._parts, tenant, account)
        await self._parts.accounts.end_sessions(found.id)

    async def can_sign_in_remotely(self, tenant: TenantId = DEFAULT_TENANT) -> bool:
        """Whether anybody can sign in without this machine's one-time token: what S1.3 asks before serving others."""
        accounts = await self._parts.accounts.accounts(tenant)
        return any(account.password_hash is not None and not account.disabled for account in accounts)

    async def _change(self, tenant: TenantId, account: AccountId, rule: ChangeRule) -> Account:
        found = await account_in(self._parts, tenant, account)
        changed = await self._parts.accounts.change_account(found.id, rule)
        if changed is None:
            raise NotFound("account", account)
        return changed

    async def _hash(self, password: str) -> str:
        check_password(password)
        return await self._parts.passwords.hash(password)
