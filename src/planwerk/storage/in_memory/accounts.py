"""Accounts, keys and sessions in dictionaries; the loop's single thread makes each call one transaction."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from planwerk.access.accounts import Account, Tenant
from planwerk.access.actions import Role
from planwerk.access.errors import LoginTaken
from planwerk.access.ids import AccountId, KeyId, TenantId
from planwerk.access.keys import ApiKey
from planwerk.access.ports import ChangeRule
from planwerk.access.sessions import SessionRecord
from planwerk.access.tokens import SignInToken


class InMemoryAccounts:
    """The `Accounts` port for one process; nothing outlives it."""

    def __init__(self) -> None:
        self._tenants: dict[TenantId, Tenant] = {}
        self._accounts: dict[AccountId, Account] = {}
        self._keys: dict[KeyId, ApiKey] = {}
        self._sessions: dict[str, SessionRecord] = {}
        self._tokens: dict[str, SignInToken] = {}

    async def install(self, tenant: Tenant, owner: Account) -> Account:
        await self.add_tenant(tenant)
        existing = await self.local_owner()
        if existing is None:
            await self.add_account(owner)
        return existing or owner

    async def add_tenant(self, tenant: Tenant) -> None:
        self._tenants.setdefault(tenant.id, tenant)

    async def add_account(self, account: Account) -> None:
        if await self.account_by_login(account.login) is not None:
            raise LoginTaken(account.login)
        self._accounts[account.id] = account

    async def account(self, account: AccountId) -> Account | None:
        return self._accounts.get(account)

    async def account_by_login(self, login: str) -> Account | None:
        return next((account for account in self._accounts.values() if account.login == login), None)

    async def local_owner(self) -> Account | None:
        return next((account for account in self._accounts.values() if account.is_local_owner), None)

    async def accounts(self, tenant: TenantId) -> list[Account]:
        mine = [account for account in self._accounts.values() if account.tenant == tenant]
        return sorted(mine, key=lambda account: (account.created, account.id))

    async def change_account(self, account: AccountId, rule: ChangeRule) -> Account | None:
        stored = self._accounts.get(account)
        if stored is None:
            return None
        others = sum(
            other.tenant == stored.tenant and other.role is Role.OWNER and not other.disabled and other.id != account
            for other in self._accounts.values()
        )
        change = rule(stored, others)
        self._accounts[account] = change.account
        if change.ends_sessions:
            await self.end_sessions(account)
        return change.account

    async def put_key(self, key: ApiKey) -> None:
        self._keys[key.id] = key

    async def key(self, key: KeyId) -> ApiKey | None:
        return self._keys.get(key)

    async def keys(self, tenant: TenantId, account: AccountId | None = None) -> list[ApiKey]:
        mine = [key for key in self._keys.values() if key.tenant == tenant and account in (None, key.account)]
        return sorted(mine, key=lambda key: (key.created, key.id))

    async def revoke_key(self, key: KeyId, now: datetime) -> None:
        stored = self._keys.get(key)
        if stored is not None and stored.revoked is None:
            self._keys[key] = replace(stored, revoked=now)

    async def touch_key(self, key: KeyId, now: datetime) -> None:
        stored = self._keys.get(key)
        if stored is not None and (stored.last_used is None or stored.last_used < now):
            self._keys[key] = replace(stored, last_used=now)

    async def put_session(self, session: SessionRecord) -> None:
        self._sessions[session.hash] = session

    async def session(self, token_hash: str) -> SessionRecord | None:
        return self._sessions.get(token_hash)

    async def extend_session(self, session: SessionRecord) -> None:
        if session.hash in self._sessions:
            self._sessions[session.hash] = session

    async def end_session(self, token_hash: str) -> None:
        self._sessions.pop(token_hash, None)

    async def end_sessions(self, account: AccountId) -> None:
        self._sessions = {key: session for key, session in self._sessions.items() if session.account != account}

    async def put_sign_in_token(self, token: SignInToken) -> None:
        self._tokens = {key: other for key, other in self._tokens.items() if other.account != token.account}
        self._tokens[token.hash] = token

    async def take_sign_in_token(self, token_hash: str, now: datetime) -> AccountId | None:
        token = self._tokens.pop(token_hash, None)
        return token.account if token is not None and now < token.expires else None

    async def purge(self, now: datetime) -> None:
        self._sessions = {key: session for key, session in self._sessions.items() if now < session.expires}
        self._tokens = {key: token for key, token in self._tokens.items() if now < token.expires}
