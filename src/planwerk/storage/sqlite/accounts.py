"""Accounts, keys and sessions in a SQLite file; each write is one operation of the file's single writer."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from planwerk.access.accounts import Account, Tenant
from planwerk.access.actions import Action, Role
from planwerk.access.errors import LoginTaken
from planwerk.access.ids import AccountId, KeyId, TenantId
from planwerk.access.keys import ApiKey
from planwerk.access.ports import ChangeRule
from planwerk.access.sessions import SessionRecord
from planwerk.access.tokens import SignInToken
from planwerk.storage.sqlite.database import SqliteDatabase

Row: TypeAlias = tuple[Any, ...]

_ACCOUNT: Final = "id, tenant, login, name, role, locale, disabled, sole, password_hash, created"
_KEY: Final = "id, tenant, account, name, hash, scopes, created, expires, last_used, revoked"
_SESSION: Final = "hash, account, created, last_used, expires"
_LOCAL_OWNER: Final = "local_owner"


class SqliteAccounts:
    """The `Accounts` port on tables of `storage/schema.py`."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def install(self, tenant: Tenant, owner: Account) -> Account:
        def run(connection: sqlite3.Connection) -> Account:
            existing = _one_account(connection, "sole = ?", _LOCAL_OWNER)
            if existing is None:
                _refuse_taken(connection, owner.login)
            _insert_tenant(connection, tenant)
            if existing is None:
                _insert_account(connection, owner)
            return existing or owner

        return await self._database.write(run)

    async def add_tenant(self, tenant: Tenant) -> None:
        await self._database.write(lambda connection: _insert_tenant(connection, tenant))

    async def add_account(self, account: Account) -> None:
        def run(connection: sqlite3.Connection) -> None:
            _refuse_taken(connection, account.login)
            _insert_account(connection, account)

        await self._database.write(run)

    async def account(self, account: AccountId) -> Account | None:
        return self._database.read(lambda connection: _one_account(connection, "id = ?", account))

    async def account_by_login(self, login: str) -> Account | None:
        return self._database.read(lambda connection: _one_account(connection, "login = ?", login))

    async def local_owner(self) -> Account | None:
        return self._database.read(lambda connection: _one_account(connection, "sole = ?", _LOCAL_OWNER))

    async def accounts(self, tenant: TenantId) -> list[Account]:
        statement = f"SELECT {_ACCOUNT} FROM accounts WHERE tenant = ? ORDER BY created, id"
        return [_account(row) for row in self._rows(statement, tenant)]

    async def change_account(self, account: AccountId, rule: ChangeRule) -> Account | None:
        def run(connection: sqlite3.Connection) -> Account | None:
            stored = _one_account(connection, "id = ?", account)
            if stored is None:
                return None
            change = rule(stored, _other_owners(connection, stored))
            _update_account(connection, change.account)
            if change.ends_sessions:
                connection.execute("DELETE FROM sessions WHERE account = ?", (account,))
            return change.account

        return await self._database.write(run)

    async def put_key(self, key: ApiKey) -> None:
        scopes = None if key.scopes is None else json.dumps(sorted(key.scopes))
        await self._execute(
            f"INSERT OR REPLACE INTO api_keys ({_KEY}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(key.id, key.tenant, key.account, key.name, key.hash, scopes),
            *(_time(key.created), _time(key.expires), _time(key.last_used), _time(key.revoked)),
        )

    async def key(self, key: KeyId) -> ApiKey | None:
        rows = self._rows(f"SELECT {_KEY} FROM api_keys WHERE id = ?", key)
        return _key(rows[0]) if rows else None

    async def keys(self, tenant: TenantId, account: AccountId | None = None) -> list[ApiKey]:
        statement = f"SELECT {_KEY} FROM api_keys WHERE tenant = ? AND (? IS NULL OR account = ?) ORDER BY created, id"
        return [_key(row) for row in self._rows(statement, tenant, account, account)]

    async def revoke_key(self, key: KeyId, now: datetime) -> None:
        await self._execute("UPDATE api_keys SET revoked = ? WHERE id = ? AND revoked IS NULL", _time(now), key)

    async def touch_key(self, key: KeyId, now: datetime) -> None:
        await self._execute(
            "UPDATE api_keys SET last_used = ? WHERE id = ? AND (last_used IS NULL OR last_used < ?)",
            *(_time(now), key, _time(now)),
        )

    async def put_session(self, session: SessionRecord) -> None:
        await self._execute(
            f"INSERT INTO sessions ({_SESSION}) VALUES (?, ?, ?, ?, ?)",
            *(session.hash, session.account, _time(session.created), _time(session.last_used), _time(session.expires)),
        )

    async def session(self, token_hash: str) -> SessionRecord | None:
        rows = self._rows(f"SELECT {_SESSION} FROM sessions WHERE hash = ?", token_hash)
        return _session(rows[0]) if rows else None

    async def extend_session(self, session: SessionRecord) -> None:
        await self._execute(
            "UPDATE sessions SET last_used = ?, expires = ? WHERE hash = ?",
            *(_time(session.last_used), _time(session.expires), session.hash),
        )

    async def end_session(self, token_hash: str) -> None:
        await self._execute("DELETE FROM sessions WHERE hash = ?", token_hash)

    async def end_sessions(self, account: AccountId) -> None:
        await self._execute("DELETE FROM sessions WHERE account = ?", account)

    async def put_sign_in_token(self, token: SignInToken) -> None:
        def run(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM sign_in_tokens WHERE account = ?", (token.account,))
            connection.execute(
                "INSERT INTO sign_in_tokens (hash, account, expires) VALUES (?, ?, ?)",
                (token.hash, token.account, _time(token.expires)),
            )

        await self._database.write(run)

    async def take_sign_in_token(self, token_hash: str, now: datetime) -> AccountId | None:
        def run(connection: sqlite3.Connection) -> AccountId | None:
            statement = "DELETE FROM sign_in_tokens WHERE hash = ? RETURNING account, expires"
            row: Row | None = connection.execute(statement, (token_hash,)).fetchone()
            return AccountId(row[0]) if row is not None and now < _read_time(row[1]) else None

        return await self._database.write(run)

    async def purge(self, now: datetime) -> None:
        def run(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM sessions WHERE expires <= ?", (_time(now),))
            connection.execute("DELETE FROM sign_in_tokens WHERE expires <= ?", (_time(now),))

        await self._database.write(run)

    def _rows(self, statement: str, *values: object) -> list[Row]:
        return self._database.read(lambda connection: connection.execute(statement, values).fetchall())

    async def _execute(self, statement: str, *values: object) -> None:
        await self._database.write(lambda connection: connection.execute(statement, values))


def _insert_tenant(connection: sqlite3.Connection, tenant: Tenant) -> None:
    connection.execute(
        "INSERT INTO tenants (id, name, created) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (tenant.id, tenant.name, _time(tenant.created)),
    )


def _one_account(connection: sqlite3.Connection, condition: str, value: str) -> Account | None:
    row: Row | None = connection.execute(f"SELECT {_ACCOUNT} FROM accounts WHERE {condition}", (value,)).fetchone()
    return None if row is None else _account(row)


def _refuse_taken(connection: sqlite3.Connection, login: str) -> None:
    if _one_account(connection, "login = ?", login) is not None:
        raise LoginTaken(login)


def _other_owners(connection: sqlite3.Connection, account: Account) -> int:
    row: tuple[int] = connection.execute(
        "SELECT count(*) FROM accounts WHERE tenant = ? AND role = ? AND NOT disabled AND id != ?",
        (account.tenant, Role.OWNER.value, account.id),
    ).fetchone()
    return row[0]


def _insert_account(connection: sqlite3.Connection, account: Account) -> None:
    sole = _LOCAL_OWNER if account.is_local_owner else None
    connection.execute(
        f"INSERT INTO accounts ({_ACCOUNT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(account.id, account.tenant, account.login, account.name, account.role.value, account.locale),
            *(account.disabled, sole, account.password_hash, _time(account.created)),
        ),
    )


def _update_account(connection: sqlite3.Connection, account: Account) -> None:
    connection.execute(
        "UPDATE accounts SET name = ?, role = ?, locale = ?, disabled = ?, password_hash = ? WHERE id = ?",
        (account.name, account.role.value, account.locale, account.disabled, account.password_hash, account.id),
    )


def _account(row: Row) -> Account:
    identity, tenant, login, name, role, locale, disabled, sole, password_hash, created = row
    return Account(
        id=AccountId(identity),
        tenant=TenantId(tenant),
        login=login,
        name=name,
        role=Role(role),
        created=_read_time(created),
        locale=locale,
        disabled=bool(disabled),
        is_local_owner=sole == _LOCAL_OWNER,
        password_hash=password_hash,
    )


def _key(row: Row) -> ApiKey:
    identity, tenant, account, name, hashed, scopes, created, expires, last_used, revoked = row
    return ApiKey(
        id=KeyId(identity),
        tenant=TenantId(tenant),
        account=AccountId(account),
        name=name,
        hash=hashed,
        created=_read_time(created),
        scopes=None if scopes is None else _read_scopes(scopes),
        expires=expires and _read_time(expires),
        last_used=last_used and _read_time(last_used),
        revoked=revoked and _read_time(revoked),
    )


def _session(row: Row) -> SessionRecord:
    hashed, account, created, last_used, expires = row
    return SessionRecord(hashed, AccountId(account), _read_time(created), _read_time(last_used), _read_time(expires))


def _read_scopes(text: str) -> frozenset[Action]:
    """The scopes this release knows; one that a later release wrote is left out, which only narrows."""
    known = {action.value: action for action in Action}
    names: list[str] = json.loads(text)
    return frozenset(known[name] for name in names if name in known)


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat(timespec="microseconds")


def _read_time(text: str) -> datetime:
    return datetime.fromisoformat(text)
