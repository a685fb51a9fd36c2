"""An installation under test: a clock that is set by hand, cheap hashes, and both adapters of the port."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from argon2 import PasswordHasher

from planwerk.access.accounts import Account, Tenant
from planwerk.access.actions import Role
from planwerk.access.ids import DEFAULT_TENANT, AccountId, TenantId
from planwerk.access.parts import AccessParts
from planwerk.access.passwords import Passwords
from planwerk.access.ports import Accounts
from planwerk.access.principal import Principal
from planwerk.access.service import AccessService
from planwerk.storage.in_memory.accounts import InMemoryAccounts
from planwerk.storage.migrate import upgrade
from planwerk.storage.sqlite.accounts import SqliteAccounts
from planwerk.storage.sqlite.database import SqliteDatabase
from planwerk.workflow.ids import new_id

BEGIN = datetime(2026, 5, 4, 9, 30, tzinfo=UTC)
OTHER_TENANT = TenantId("other")
ADAPTERS = ["in_memory", "sqlite"]
HERE = "192.0.2.1"
PASSWORD = "correct horse"


class Clock:
    """Time that passes only when told."""

    def __init__(self) -> None:
        self.now = BEGIN

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, **amount: float) -> None:
        self.now += timedelta(**amount)


def cheap_passwords() -> Passwords:
    return Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))


def make_account(login: str, *, tenant: TenantId = DEFAULT_TENANT, role: Role = Role.MEMBER) -> Account:
    return Account(AccountId(new_id()), tenant, login, login.title(), role, BEGIN)


def tenant(id_: TenantId = DEFAULT_TENANT) -> Tenant:
    return Tenant(id_, id_.title(), BEGIN)


@asynccontextmanager
async def open_accounts(adapter: str, at: Path) -> AsyncGenerator[Accounts]:
    """The port by one of its adapters."""
    if adapter == "in_memory":
        yield InMemoryAccounts()
        return
    path = at / "planwerk.db"
    upgrade(path)
    database = SqliteDatabase(path)
    try:
        yield SqliteAccounts(database)
    finally:
        await database.close()


def service_over(accounts: Accounts, clock: Clock) -> AccessService:
    return AccessService(AccessParts(accounts, clock=clock, passwords=cheap_passwords()))


async def signed_in(access: AccessService, login: str = "ada", role: Role = Role.BUILDER) -> tuple[str, Principal]:
    """The token of a new session of a new account, and its principal."""
    await access.create_account(login, password=PASSWORD, role=role, name=login.title(), locale="de")
    session = await access.sign_in(login, PASSWORD, HERE)
    return session.token, session.principal
