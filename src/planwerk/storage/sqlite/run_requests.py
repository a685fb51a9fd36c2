"""Requests to people on SQLite."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection
from dataclasses import fields
from typing import Any, Final

from planwerk.runtime.ports import NEVER, RequestRecord
from planwerk.storage.sqlite.database import SqliteDatabase

PUT: Final = """
    INSERT INTO run_requests (id, run, asked, waits_for, due, data) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET waits_for = excluded.waits_for, due = excluded.due, data = excluded.data
"""
COLUMNS: Final = "id, run, asked, data"
GET: Final = f"SELECT {COLUMNS} FROM run_requests WHERE id = ?"
OF_RUN: Final = f"SELECT {COLUMNS} FROM run_requests WHERE run = ? ORDER BY asked"
WAITING: Final = f"""
    SELECT {COLUMNS} FROM run_requests WHERE waits_for = ? AND due > ? AND (due, id) > (?, ?) ORDER BY due, id LIMIT ?
"""
FORGET: Final = "DELETE FROM run_requests WHERE run = ?"
IN_COLUMNS: Final = frozenset({"id", "run", "position"})
OTHERS: Final = tuple(field.name for field in fields(RequestRecord) if field.name not in IN_COLUMNS)


class SqliteRunRequests:
    """Port `RunRequests` on one file."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def put(self, record: RequestRecord) -> None:
        data = {name: value for name in OTHERS if (value := getattr(record, name)) is not None and value != "open"}
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        row = (record.id, record.run, record.position, record.waits_for, _due(record), text)
        await self._database.write(lambda connection: connection.execute(PUT, row))

    async def get(self, request: str) -> RequestRecord | None:
        found = self._find(GET, (request,))
        return found[0] if found else None

    async def of_run(self, run: str) -> list[RequestRecord]:
        return self._find(OF_RUN, (run,))

    async def waiting(
        self,
        places: Collection[str],
        *,
        now_microseconds: int,
        after: tuple[int, str] | None = None,
        limit: int = 50,
    ) -> list[RequestRecord]:
        begin = after if after is not None else (now_microseconds, "")
        found = [record for place in places for record in self._find(WAITING, (place, now_microseconds, *begin, limit))]
        return sorted(found, key=lambda record: (_due(record), record.id))[:limit]

    async def forget(self, run: str) -> None:
        await self._database.write(lambda connection: connection.execute(FORGET, (run,)))

    def _find(self, statement: str, parameters: tuple[Any, ...]) -> list[RequestRecord]:
        def find(connection: sqlite3.Connection) -> list[Any]:
            return connection.execute(statement, parameters).fetchall()

        return [_record(*row) for row in self._database.read(find)]


def _record(identity: str, run: str, position: int, text: str) -> RequestRecord:
    data = dict.fromkeys(OTHERS) | {"status": "open"} | json.loads(text)
    return RequestRecord(id=identity, run=run, position=position, **data)


def _due(record: RequestRecord) -> int:
    return NEVER if record.expires_microseconds is None else record.expires_microseconds
