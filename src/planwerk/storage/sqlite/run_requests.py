"""Requests to people on SQLite.

What the record of its run says of a request as well is not said again: it is read from there. So a request outlives the
record of its run only as far as it needs nothing of it; both are forgotten together, the request first.

One index serves both lists: while a request is open it stands at the place where it waits by the time at which it is
due; once answered, at "answered:" and that place, by the time of its answer.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import fields
from typing import Any, Final

from planwerk.runtime.ports import NEVER, RequestRecord
from planwerk.storage.sqlite.database import SqliteDatabase

PUT: Final = """
    INSERT INTO run_requests (id, run, asked, waits_for, due, data) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET waits_for = excluded.waits_for, due = excluded.due, data = excluded.data
"""
OF_ITS_RUN: Final = "tenant, workspace, thread, owner, profile, data ->> 'profile_name'"
FROM_RUN: Final = ("tenant", "workspace", "thread", "owner", "profile", "profile_name")
RUN: Final = f"SELECT {OF_ITS_RUN} FROM run_records WHERE run = ?"
_FIND: Final = f"""
    SELECT asked.id, asked.run, asked.asked, asked.data, {", ".join(f"its.{c}" for c in OF_ITS_RUN.split(", "))}
    FROM run_requests AS asked LEFT JOIN run_records AS its ON its.run = asked.run
"""
GET: Final = f"{_FIND} WHERE asked.id = ?"
OF_RUN: Final = f"{_FIND} WHERE asked.run = ? ORDER BY asked.asked"
WAITING: Final = f"""
    {_FIND} WHERE asked.waits_for = ? AND asked.due > ? AND (asked.due, asked.id) > (?, ?)
    ORDER BY asked.due, asked.id LIMIT ?
"""
ANSWERED: Final = f"""
    {_FIND} WHERE asked.waits_for = ? AND (asked.due, asked.id) < (?, ?) ORDER BY asked.due DESC, asked.id DESC LIMIT ?
"""
FORGET: Final = "DELETE FROM run_requests WHERE run = ?"
IN_COLUMNS: Final = frozenset({"id", "run", "position"})
OTHERS: Final = tuple(field.name for field in fields(RequestRecord) if field.name not in IN_COLUMNS)


class SqliteRunRequests:
    """Port `RunRequests` on one file."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def put(self, record: RequestRecord) -> None:
        def put(connection: sqlite3.Connection) -> None:
            known = connection.execute(RUN, (record.run,)).fetchone() or (None,) * len(FROM_RUN)
            text = json.dumps(_data(record, known), ensure_ascii=False, separators=(",", ":"))
            row = (record.id, record.run, record.position, _listed_at(record), _listed_by(record), text)
            connection.execute(PUT, row)

        await self._database.write(put)

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
        return sorted(found, key=lambda record: (_listed_by(record), record.id))[:limit]

    async def answered(
        self, places: Collection[str], *, before: tuple[int, str] | None = None, limit: int = 50
    ) -> list[RequestRecord]:
        end = before if before is not None else (NEVER, "")
        found = [record for place in places for record in self._find(ANSWERED, (f"answered:{place}", *end, limit))]
        return sorted(found, key=lambda record: (_listed_by(record), record.id), reverse=True)[:limit]

    async def forget(self, run: str) -> None:
        await self._database.write(lambda connection: connection.execute(FORGET, (run,)))

    def _find(self, statement: str, parameters: tuple[Any, ...]) -> list[RequestRecord]:
        def find(connection: sqlite3.Connection) -> list[Any]:
            return connection.execute(statement, parameters).fetchall()

        return [_record(*row) for row in self._database.read(find)]


def _data(record: RequestRecord, known: Sequence[Any]) -> dict[str, Any]:
    """What stands in no column, nor in the record of its run, and is not so by default."""
    default: dict[str, Any] = {**dict.fromkeys(OTHERS), "status": "open", **dict(zip(FROM_RUN, known, strict=True))}
    return {name: value for name in OTHERS if (value := getattr(record, name)) != default[name]}


def _record(identity: str, run: str, position: int, text: str, *known: Any) -> RequestRecord:
    data: dict[str, Any] = {
        **dict.fromkeys(OTHERS),
        "status": "open",
        **dict(zip(FROM_RUN, known, strict=True)),
        **json.loads(text),
    }
    return RequestRecord(id=identity, run=run, position=position, **data)


def _listed_at(record: RequestRecord) -> str | None:
    return record.waits_for if record.answered_at is None else f"answered:{record.answered_at}"


def _listed_by(record: RequestRecord) -> int:
    if record.answered_at is not None:
        return record.closed_microseconds or 0
    return NEVER if record.expires_microseconds is None else record.expires_microseconds
