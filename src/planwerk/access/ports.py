"""What this room needs stored: accounts, their keys, their sessions, and one-time sign-in tokens."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol, TypeAlias

from planwerk.access.accounts import Account, AccountChange, Tenant
from planwerk.access.ids import AccountId, KeyId, TenantId
from planwerk.access.keys import ApiKey
from planwerk.access.sessions import SessionRecord
from planwerk.access.tokens import SignInToken

ChangeRule: TypeAlias = Callable[[Account, int], AccountChange]
"""Takes the account as stored and how many other enabled owners its tenant has; may raise to refuse."""


class Accounts(Protocol):
    """Who exists and what they hold, for all processes of an installation.

    Each call is one transaction. Secrets come as hashes only. Nothing here decides: rules and times are arguments.
    """

    async def install(self, tenant: Tenant, owner: Account) -> Account:
        """Make the tenant and the installation's local owner where missing; return the local owner there is.

        Of many processes that start at once, one makes them and all get the same account.

        Raises:
            LoginTaken: There is no local owner yet, and another account has its login.
        """
        ...

    async def add_tenant(self, tenant: Tenant) -> None:
        """Make the tenant; one that is there stays as it is."""
        ...

    async def add_account(self, account: Account) -> None:
        """Add an account to an existing tenant.

        Raises:
            LoginTaken: Another account of the installation has this login.
        """
        ...

    async def account(self, account: AccountId) -> Account | None:
        """The account, of whatever tenant."""
        ...

    async def account_by_login(self, login: str) -> Account | None:
        """The account with this login, in its cleaned form."""
        ...

    async def local_owner(self) -> Account | None:
        """The account the one-time local token signs in; None before the installation."""
        ...

    async def accounts(self, tenant: TenantId) -> list[Account]:
        """All accounts of a tenant, oldest first."""
        ...

    async def change_account(self, account: AccountId, rule: ChangeRule) -> Account | None:
        """Let the rule change the account as it is stored now; end its sessions in the same transaction if it says so.

        Two changes at once are one after the other, so the rule's count of owners is true when it is saved.

        Returns:
            The account as saved, or None where there is none. What the rule raises passes through; nothing is changed.
        """
        ...

    async def put_key(self, key: ApiKey) -> None:
        """Store a key; one with the same id is replaced."""
        ...

    async def key(self, key: KeyId) -> ApiKey | None:
        """The key with this id, of whatever tenant, revoked and expired ones too."""
        ...

    async def keys(self, tenant: TenantId, account: AccountId | None = None) -> list[ApiKey]:
        """All keys of the tenant, or of one account in it, oldest first."""
        ...

    async def revoke_key(self, key: KeyId, now: datetime) -> None:
        """Revoke; the first time counts, and an unknown key is none to revoke."""
        ...

    async def touch_key(self, key: KeyId, now: datetime) -> None:
        """Record its last use; never moves it back."""
        ...

    async def put_session(self, session: SessionRecord) -> None:
        """Store a session that began."""
        ...

    async def session(self, token_hash: str) -> SessionRecord | None:
        """The session whose token has this hash, expired ones too until they are purged."""
        ...

    async def extend_session(self, session: SessionRecord) -> None:
        """Save last use and end of a session; one that was ended meanwhile stays ended."""
        ...

    async def end_session(self, token_hash: str) -> None:
        """Forget the session."""
        ...

    async def end_sessions(self, account: AccountId) -> None:
        """Forget all sessions of an account."""
        ...

    async def put_sign_in_token(self, token: SignInToken) -> None:
        """Store a one-time token; earlier ones of its account are worth nothing from now on."""
        ...

    async def take_sign_in_token(self, token_hash: str, now: datetime) -> AccountId | None:
        """Use up the token: of many who try at once, one gets the account. None for unknown, used or expired."""
        ...

    async def purge(self, now: datetime) -> None:
        """Forget expired sessions and tokens."""
        ...
