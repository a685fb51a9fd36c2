"""The work queue on SQLite: a row per run that has something to do; taking one is one transaction (E7.3).

`not_before` says of a run that nobody holds from when on it may be taken, and of a leased one whether it was enqueued
since; `lease_until` is 0 where nobody holds it. So taking, calling and waking each look into one place of an index,
however many runs are parked, and however many wait for a worker.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncGenerator, Collection
from typing import Any, Final

from planwerk.runtime.ports import NEVER, Lease
from planwerk.storage.sqlite.database import SqliteDatabase
from planwerk.storage.wakeups import WakeUps
from planwerk.workflow.ids import RunId

TAKEN: Final = -2
"""As `not_before` of a leased run."""
CALLED: Final = -1
"""The same, once it was enqueued again."""

ENQUEUE: Final = f"""
    INSERT INTO run_queue (run, fence, lease_owner, lease_until, not_before) VALUES (?, 0, NULL, 0, ?)
    ON CONFLICT (run) DO UPDATE SET
        not_before = CASE WHEN lease_owner IS NULL THEN excluded.not_before ELSE {CALLED} END
"""
WAKE: Final = f"""
    UPDATE run_queue SET not_before = CASE WHEN lease_owner IS NULL THEN 0 ELSE {CALLED} END WHERE run = ?
"""
FIND_CALLED: Final = f"SELECT 1 FROM run_queue WHERE not_before = {CALLED} AND lease_owner = ? LIMIT 1"
CALL: Final = f"""
    UPDATE run_queue SET not_before = {TAKEN} WHERE not_before = {CALLED} AND lease_owner = ? RETURNING run
"""
PARK: Final = f"""
    UPDATE run_queue SET lease_owner = NULL, lease_until = 0, not_before = ?
    WHERE run = ? AND fence = ? AND not_before = {TAKEN}
"""
IN_INDEX: Final = f"not_before < {NEVER}"
"""Said where the index is to be looked into: it leaves out what only waits to be woken."""
NEXT: Final = f"SELECT min(not_before) FROM run_queue WHERE lease_until = 0 AND not_before > ? AND {IN_INDEX}"
_FREE: Final = f"""
    SELECT run FROM (
        SELECT run FROM run_queue WHERE lease_until > 0 AND lease_until <= ?1 AND {IN_INDEX} {{but}}
        ORDER BY lease_until LIMIT 1
    )
    UNION ALL
    SELECT run FROM (
        SELECT run FROM run_queue WHERE lease_until = 0 AND not_before <= ?1 AND {IN_INDEX} {{but}}
        ORDER BY not_before, rowid LIMIT 1
    )
    LIMIT 1
"""
"""Whose lease has lapsed first, then who has waited longest for a worker."""
FREE: Final = _FREE.format(but="")
FREE_BUT: Final = _FREE.format(but="AND run NOT IN (SELECT value FROM json_each(?2))")
FREE_RUN: Final = "SELECT run FROM run_queue WHERE run = ?2 AND not_before <= ?1 AND lease_until <= ?1"
TAKE: Final = f"""
    UPDATE run_queue SET fence = fence + 1, lease_owner = ?, lease_until = ?, not_before = {TAKEN}
    WHERE run = ? RETURNING fence
"""
RENEW: Final = "UPDATE run_queue SET lease_until = ? WHERE run = ? AND fence = ?"
FINISH: Final = "DELETE FROM run_queue WHERE run = ? AND fence = ?"
FORGET: Final = "DELETE FROM run_queue WHERE run = ?"
OWNERS: Final = f"SELECT DISTINCT lease_owner FROM run_queue WHERE lease_until > 0 AND {IN_INDEX} ORDER BY lease_owner"
DROP: Final = f"""
    UPDATE run_queue SET lease_owner = NULL, lease_until = 0
    WHERE lease_until > 0 AND {IN_INDEX} AND lease_owner = ?
"""
GIVE_BACK: Final = "UPDATE run_queue SET lease_owner = NULL, lease_until = 0 WHERE run = ? AND fence = ?"


class SqliteWorkQueue:
    """Port `WorkQueue` on one file."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self._wakeups = WakeUps(database.changes)

    async def enqueue(self, run: RunId, *, not_before_microseconds: int = 0) -> None:
        await self._database.write(lambda connection: connection.execute(ENQUEUE, (run, not_before_microseconds)))
        self._wakeups.wake()

    async def take(
        self,
        worker: str,
        *,
        now_microseconds: int,
        lease_microseconds: int,
        run: RunId | None = None,
        leaving: Collection[RunId] = (),
    ) -> Lease | None:
        until = now_microseconds + lease_microseconds
        statement, values = (FREE, [now_microseconds]) if run is None else (FREE_RUN, [now_microseconds, run])
        if leaving and run is None:
            statement, values = FREE_BUT, [now_microseconds, json.dumps(list(leaving))]

        def take(connection: sqlite3.Connection) -> Lease | None:
            free: Any = connection.execute(statement, values).fetchone()
            if free is None:
                return None
            fence = connection.execute(TAKE, (worker, until, free[0])).fetchone()[0]
            return Lease(RunId(free[0]), fence, until)

        return await self._database.write(take)

    async def renew(self, lease: Lease, *, until_microseconds: int) -> Lease | None:
        row = (until_microseconds, lease.run, lease.fence)
        changed = await self._database.write(lambda connection: connection.execute(RENEW, row).rowcount)
        return Lease(lease.run, lease.fence, until_microseconds) if changed else None

    async def release(self, lease: Lease, *, finished: bool) -> None:
        statement = FINISH if finished else GIVE_BACK
        await self._database.write(lambda connection: connection.execute(statement, (lease.run, lease.fence)))
        if not finished:
            self._wakeups.wake()

    async def wake(self, run: RunId) -> None:
        await self._database.write(lambda connection: connection.execute(WAKE, (run,)))
        self._wakeups.wake()

    async def called(self, worker: str) -> list[RunId]:
        def find(connection: sqlite3.Connection) -> bool:
            return connection.execute(FIND_CALLED, (worker,)).fetchone() is not None

        def call(connection: sqlite3.Connection) -> list[RunId]:
            return [RunId(row[0]) for row in connection.execute(CALL, (worker,)).fetchall()]

        return await self._database.write(call) if self._database.read(find) else []

    async def park(self, lease: Lease, *, until_microseconds: int) -> bool:
        row = (until_microseconds, lease.run, lease.fence)
        parked = await self._database.write(lambda connection: connection.execute(PARK, row).rowcount) == 1
        if parked and until_microseconds < NEVER:
            self._wakeups.wake()  # whoever waits for the next time has to wait for this one
        return parked

    async def next_time(self, now_microseconds: int) -> int | None:
        rows = self._database.read(lambda connection: connection.execute(NEXT, (now_microseconds,)).fetchall())
        return rows[0][0]

    async def forget(self, run: RunId) -> None:
        await self._database.write(lambda connection: connection.execute(FORGET, (run,)))

    async def owners(self) -> list[str]:
        rows = self._database.read(lambda connection: connection.execute(OWNERS).fetchall())
        return [row[0] for row in rows]

    async def drop_leases(self, owner: str) -> None:
        await self._database.write(lambda connection: connection.execute(DROP, (owner,)))
        self._wakeups.wake()

    def changes(self) -> AsyncGenerator[None]:
        return self._wakeups.follow()
