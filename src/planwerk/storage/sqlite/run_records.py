"""Summaries of runs on SQLite."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import MISSING, Field, fields
from typing import Any, Final

from planwerk.runtime.ports import ANY_RUN, RecordPlace, RunFilter, RunRecord
from planwerk.storage.sqlite.database import SqliteDatabase

IN_COLUMNS: Final = ("run", "tenant", "workspace", "thread", "owner", "profile", "status", "started_microseconds")
"""Fields that have a column of their own, in the order in which they are read."""
OTHERS: Final = tuple(field for field in fields(RunRecord) if field.name not in IN_COLUMNS)
COLUMNS: Final = "run, tenant, workspace, thread, owner, profile, status, started, data"

PUT: Final = """
    INSERT INTO run_records (run, tenant, workspace, thread, owner, profile, status, started, expires, data)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (run) DO UPDATE SET status = excluded.status, expires = excluded.expires, data = excluded.data
    WHERE json_extract(run_records.data, '$.ended_microseconds') IS NULL
       OR json_extract(excluded.data, '$.ended_microseconds') IS NOT NULL
"""
GET: Final = f"SELECT {COLUMNS} FROM run_records WHERE run = ?"
OF_THREAD: Final = f"SELECT {COLUMNS} FROM run_records WHERE tenant = ? AND thread = ? ORDER BY started, run"
EXPIRED: Final = "SELECT run FROM run_records WHERE expires <= ? ORDER BY expires LIMIT ?"
FORGET: Final = "DELETE FROM run_records WHERE run = ?"


class SqliteRunRecords:
    """Port `RunRecords` on one file."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def put(self, record: RunRecord) -> None:
        row = (
            record.run,
            record.tenant,
            record.workspace,
            record.thread,
            record.owner,
            record.profile,
            record.status,
            record.started_microseconds,
            record.expires_microseconds if record.ended_microseconds is not None else None,
            json.dumps(_data(record), ensure_ascii=False, separators=(",", ":")),
        )
        await self._database.write(lambda connection: connection.execute(PUT, row))

    async def get(self, run: str) -> RunRecord | None:
        found = self._find(GET, (run,))
        return found[0] if found else None

    async def of_thread(self, tenant: str, thread: str) -> list[RunRecord]:
        return self._find(OF_THREAD, (tenant, thread))

    async def expired(self, now_microseconds: int, limit: int = 100) -> list[str]:
        def find(connection: sqlite3.Connection) -> list[Any]:
            return connection.execute(EXPIRED, (now_microseconds, limit)).fetchall()

        return [row[0] for row in self._database.read(find)]

    async def forget(self, run: str) -> None:
        await self._database.write(lambda connection: connection.execute(FORGET, (run,)))

    async def newest(
        self, tenant: str, wanted: RunFilter = ANY_RUN, *, before: RecordPlace | None = None, limit: int = 50
    ) -> list[RunRecord]:
        conditions, values = ["tenant = ?"], list[Any]([tenant])
        for column in ("owner", "profile", "thread", "workspace"):
            value = getattr(wanted, column)
            if value is not None:
                conditions.append(f"{column} = ?")
                values.append(value)
        if wanted.statuses is not None:
            conditions.append(f"status IN ({','.join('?' * len(wanted.statuses))})")
            values += sorted(wanted.statuses)
        if wanted.is_scheduled:
            conditions.append("owner IS NULL AND json_extract(data, '$.scheduled_microseconds') IS NOT NULL")
        if before is not None:
            conditions.append("(started, run) < (?, ?)")
            values += before
        order = "ORDER BY started DESC, run DESC LIMIT ?"
        statement = f"SELECT {COLUMNS} FROM run_records WHERE {' AND '.join(conditions)} {order}"
        return self._find(statement, (*values, limit))

    def _find(self, statement: str, parameters: tuple[Any, ...]) -> list[RunRecord]:
        def find(connection: sqlite3.Connection) -> list[Any]:
            return connection.execute(statement, parameters).fetchall()

        return [_record(row) for row in self._database.read(find)]


def _data(record: RunRecord) -> dict[str, Any]:
    """What stands in no column and is not what a record has by default."""
    values = {field.name: getattr(record, field.name) for field in OTHERS}
    if record.actor.get("kind") == "user" and record.actor["id"] == record.owner:
        values["actor"] = {name: value for name, value in record.actor.items() if name != "id"}
    return {field.name: values[field.name] for field in OTHERS if values[field.name] != _default(field)}


def _default(field: Field[Any]) -> Any:
    return {} if field.default_factory is not MISSING else None if field.default is MISSING else field.default


def _record(row: tuple[Any, ...]) -> RunRecord:
    *columns, text = row
    defaults = {field.name: _default(field) for field in OTHERS}
    values = {**defaults, **json.loads(text), **dict(zip(IN_COLUMNS, columns, strict=True))}
    owner = values.pop("owner")
    if values["actor"].get("kind") == "user":
        values["actor"] = {"id": owner, **values["actor"]}
    return RunRecord(**values)
