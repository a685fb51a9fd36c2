"""Run and thread contexts on SQLite: a row per key, changed by compare-and-set (E9)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncGenerator
from typing import Any, Final

from planwerk.runtime.ports import ContextValue
from planwerk.storage.sqlite.database import SqliteDatabase
from planwerk.storage.wakeups import WakeUps

GET: Final = "SELECT value, version FROM contexts WHERE scope = ? AND owner = ? AND key = ?"
SET: Final = """
    INSERT INTO contexts (scope, owner, key, value, version) VALUES (?, ?, ?, ?, 1)
    ON CONFLICT (scope, owner, key) DO UPDATE SET value = excluded.value, version = version + 1
"""
OWNERS: Final = "SELECT owner, value FROM contexts WHERE scope = ? AND key = ?"
FORGET: Final = "DELETE FROM contexts WHERE scope = ? AND owner = ?"


class SqliteContexts:
    """Port `ContextStore` on one file."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def get(self, scope: str, owner: str, key: str) -> ContextValue:
        return self._database.read(lambda connection: _get(connection, scope, owner, key))

    async def set(self, scope: str, owner: str, key: str, value: Any, *, expected_version: int | None = None) -> bool:
        text = json.dumps(value, ensure_ascii=False)

        def write(connection: sqlite3.Connection) -> bool:
            if expected_version is not None and _get(connection, scope, owner, key).version != expected_version:
                return False
            connection.execute(SET, (scope, owner, key, text))
            return True

        return await self._database.write(write)

    async def forget(self, scope: str, owner: str) -> None:
        await self._database.write(lambda connection: connection.execute(FORGET, (scope, owner)))

    async def owners(self, scope: str, key: str) -> dict[str, Any]:
        rows = self._database.read(lambda connection: connection.execute(OWNERS, (scope, key)).fetchall())
        return {owner: json.loads(value) for owner, value in rows}

    def foreign_changes(self) -> AsyncGenerator[None]:
        return WakeUps(self._database.changes).follow()  # never woken by this process


def _get(connection: sqlite3.Connection, scope: str, owner: str, key: str) -> ContextValue:
    row = connection.execute(GET, (scope, owner, key)).fetchone()
    return ContextValue(json.loads(row[0]), row[1]) if row is not None else ContextValue(None, 0)
