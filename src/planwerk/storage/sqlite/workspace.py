"""The workspace port on SQLite: a commit is one synchronous operation of the file's one writer (A6).

The file has one writer at a time, so numbers are taken in the order in which they become visible: a reader of the log
or of the feed never has to expect a lower one later (ART-13).
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator, Callable, Collection
from typing import Any, Final, TypeVar

from planwerk.access.ids import TenantId
from planwerk.storage.sqlite import cursor_leases
from planwerk.storage.sqlite.database import SqliteDatabase
from planwerk.storage.sqlite.workspace_rows import (
    INSERT_LOG,
    INSERT_REVISION,
    LOG_COLUMNS,
    envelope_of,
    envelope_row,
    find,
    messages_of,
    revision_row,
    revisions_of,
    runs_of,
    save_entity,
)
from planwerk.storage.wakeups import WakeUps
from planwerk.workflow.ids import ArtifactId, MessageId, RunId, ThreadId, WorkspaceId
from planwerk.workspace.ports import (
    RESULTS_KEPT,
    CommandResult,
    Commit,
    CursorLease,
    CursorMove,
    FeedItem,
    Loaded,
    PlacedRun,
    ThreadContents,
    sole_name,
)
from planwerk.workspace.rules.envelope import LogEnvelope, wire_time
from planwerk.workspace.rules.errors import SoleWorkspaceTaken, StaleCursor, StaleHead
from planwerk.workspace.rules.outcomes import OUTCOME
from planwerk.workspace.rules.state import (
    ArtifactEntity,
    Key,
    MessageEntity,
    Revision,
    RunEntity,
    ThreadEntity,
    WorkspaceEntity,
)

T = TypeVar("T")

LONG_READ: Final = 1_000
"""Reads of more envelopes than this are done in a thread, so that nobody else waits for them."""

PATH: Final = """
    WITH RECURSIVE path (id, parent, distance, data) AS (
        SELECT id, parent, 0, data FROM messages WHERE workspace = ?1 AND id = ?2 AND NOT retracted
        UNION ALL
        SELECT m.id, m.parent, path.distance + 1, m.data FROM path JOIN messages m
        ON m.workspace = ?1 AND NOT m.retracted AND m.id = coalesce(
            (SELECT id FROM messages WHERE workspace = ?1 AND id = path.parent),
            (SELECT message FROM thread_runs WHERE workspace = ?1 AND id = path.parent)))
    SELECT data FROM path ORDER BY distance DESC"""


class SqliteWorkspaceStorage:
    """Workspaces in one file, beside whatever else the file holds."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self._wakeups = WakeUps(database.changes)

    async def load(
        self, tenant: TenantId, workspace: WorkspaceId, keys: Collection[Key], command: tuple[str, str] | None = None
    ) -> Loaded:
        def read(connection: sqlite3.Connection) -> Loaded:
            sql = "SELECT head, data FROM workspaces WHERE id = ? AND tenant = ?"
            row: tuple[int, str] | None = connection.execute(sql, (workspace, tenant)).fetchone()
            place = workspace if row is not None else WorkspaceId("")
            found = {key: find(connection, place, key) for key in keys}
            if row is None:
                return Loaded(0, None, found, None)
            result = _result(connection, workspace, command) if command is not None else None
            return Loaded(row[0], WorkspaceEntity.model_validate_json(row[1]), found, result)

        return self._consistently(read)

    async def commit(self, commit: Commit) -> None:
        await self._database.write(lambda connection: _write(connection, commit), atomic=True)
        self._wakeups.wake()

    async def read(
        self,
        workspace: WorkspaceId,
        *,
        after_seq: int = 0,
        before_seq: int | None = None,
        threads: Collection[ThreadId] | None = None,
        limit: int | None = None,
        last: int | None = None,
    ) -> list[LogEnvelope]:
        conditions = ["workspace = ?", "seq > ?"]
        values: list[str | int] = [workspace, after_seq]
        if before_seq is not None:
            conditions.append("seq < ?")
            values.append(before_seq)
        if threads is not None:
            conditions.append(f"(thread IS NULL OR thread IN ({','.join('?' * len(threads))}))")
            values += threads
        wanted = last if last is not None else limit
        order = "DESC" if last is not None else "ASC"
        sql = f"SELECT {LOG_COLUMNS} FROM log WHERE {' AND '.join(conditions)} ORDER BY seq {order} LIMIT ?"
        values.append(-1 if wanted is None else wanted)

        def read(connection: sqlite3.Connection) -> list[LogEnvelope]:
            return [envelope_of(row) for row in connection.execute(sql, values)]

        if wanted is None or wanted > LONG_READ:
            found = await self._database.read_in_thread(read)
        else:
            found = self._database.read(read)
        return found[::-1] if last is not None else found

    async def head_seq(self, workspace: WorkspaceId) -> int:
        return self._number("SELECT head FROM workspaces WHERE id = ?", workspace)

    async def feed(self, after: int, limit: int) -> list[FeedItem]:
        columns = ", ".join(f"log.{column}" for column in LOG_COLUMNS.split(", "))
        sql = f"""
            SELECT position, tenant, {columns} FROM log JOIN workspaces ON workspaces.id = log.workspace
            WHERE position > ? ORDER BY position LIMIT ?"""
        rows = self._rows(sql, after, limit)
        return [FeedItem(position, TenantId(tenant), envelope_of(tuple(row))) for position, tenant, *row in rows]

    def changes(self) -> AsyncGenerator[None]:
        return self._wakeups.follow()

    async def cursor(self, name: str) -> int:
        return self._number("SELECT position FROM cursors WHERE name = ?", name)

    async def save_cursor(self, name: str, position: int, *, fence: int | None = None) -> None:
        sql = """
            INSERT INTO cursors (name, position) VALUES (?,?)
            ON CONFLICT (name) DO UPDATE SET position = max(position, excluded.position)"""

        def save(connection: sqlite3.Connection) -> None:
            cursor_leases.refuse_passed_on(connection, name, fence)
            connection.execute(sql, (name, position))

        await self._database.write(save)

    async def lease_cursor(
        self, name: str, owner: str, *, now_microseconds: int, lease_microseconds: int, heir_of: str | None = None
    ) -> CursorLease | None:
        until = now_microseconds + lease_microseconds
        row = (name, owner, until, now_microseconds, heir_of)
        return await self._database.write(lambda connection: cursor_leases.take(connection, *row))

    async def renew_cursor(self, lease: CursorLease, *, until_microseconds: int) -> CursorLease | None:
        return await self._database.write(lambda connection: cursor_leases.renew(connection, lease, until_microseconds))

    async def release_cursor(self, lease: CursorLease) -> None:
        await self._database.write(lambda connection: cursor_leases.release(connection, lease))

    async def cursor_owner(self, name: str) -> str | None:
        return self._database.read(lambda connection: cursor_leases.owner(connection, name))

    async def contents(self, tenant: TenantId, hashes: Collection[str]) -> dict[str, bytes]:
        def read(connection: sqlite3.Connection) -> dict[str, bytes]:
            sql = "SELECT data FROM contents WHERE scope = ? AND hash = ?"
            found = ((hash_, connection.execute(sql, (tenant, hash_)).fetchone()) for hash_ in hashes)
            return {hash_: row[0] for hash_, row in found if row is not None}

        return self._database.read(read)

    async def find_workspace(self, tenant: TenantId, kind: str, owner: str | None) -> WorkspaceEntity | None:
        rows = self._rows("SELECT data FROM workspaces WHERE tenant = ? AND sole = ?", tenant, sole_name(kind, owner))
        return WorkspaceEntity.model_validate_json(rows[0][0]) if rows else None

    async def list_workspaces(self, tenant: TenantId) -> list[WorkspaceEntity]:
        rows = self._rows("SELECT data FROM workspaces WHERE tenant = ? ORDER BY rowid", tenant)
        return [WorkspaceEntity.model_validate_json(data) for (data,) in rows]

    async def locate_thread(self, tenant: TenantId, thread: ThreadId) -> WorkspaceId | None:
        sql = """
            SELECT workspace FROM threads JOIN workspaces ON workspaces.id = threads.workspace
            WHERE threads.id = ? AND tenant = ? ORDER BY threads.rowid LIMIT 1"""
        rows = self._rows(sql, thread, tenant)
        return WorkspaceId(rows[0][0]) if rows else None

    async def locate_run(self, tenant: TenantId, run: RunId) -> tuple[WorkspaceId, ThreadId] | None:
        sql = """
            SELECT workspace, thread FROM thread_runs JOIN workspaces ON workspaces.id = thread_runs.workspace
            WHERE thread_runs.id = ? AND tenant = ? ORDER BY thread_runs.rowid LIMIT 1"""
        rows = self._rows(sql, run, tenant)
        return (WorkspaceId(rows[0][0]), ThreadId(rows[0][1])) if rows else None

    async def list_threads(
        self, workspace: WorkspaceId, *, before_updated_seq: int | None, limit: int
    ) -> list[ThreadEntity]:
        sql = """
            SELECT data FROM threads WHERE workspace = ?1 AND (?2 IS NULL OR updated_seq < ?2)
            ORDER BY updated_seq DESC LIMIT ?3"""
        rows = self._rows(sql, workspace, before_updated_seq, limit)
        return [ThreadEntity.model_validate_json(data) for (data,) in rows]

    async def thread_contents(self, workspace: WorkspaceId, thread: ThreadId) -> ThreadContents | None:
        def read(connection: sqlite3.Connection) -> ThreadContents | None:
            sql = """
                SELECT threads.data, head FROM threads JOIN workspaces ON workspaces.id = threads.workspace
                WHERE workspace = ? AND threads.id = ?"""
            row: tuple[str, int] | None = connection.execute(sql, (workspace, thread)).fetchone()
            if row is None:
                return None
            messages = messages_of(connection, workspace, thread)
            runs = runs_of(connection, workspace, thread)
            return ThreadContents(ThreadEntity.model_validate_json(row[0]), messages, runs, head_seq=row[1])

        return self._consistently(read)

    async def find_run(self, workspace: WorkspaceId, run: RunId) -> PlacedRun | None:
        sql = """
            SELECT thread_runs.data, active_run IS thread_runs.id FROM thread_runs
            JOIN threads ON threads.workspace = thread_runs.workspace AND threads.id = thread_runs.thread
            WHERE thread_runs.workspace = ? AND thread_runs.id = ?"""
        rows = self._rows(sql, workspace, run)
        return PlacedRun(RunEntity.model_validate_json(rows[0][0]), active=bool(rows[0][1])) if rows else None

    async def active_run(self, workspace: WorkspaceId, thread: ThreadId) -> RunEntity | None:
        sql = """
            SELECT thread_runs.data FROM threads
            JOIN thread_runs ON thread_runs.workspace = threads.workspace AND thread_runs.id = active_run
            WHERE threads.workspace = ? AND threads.id = ?"""
        rows = self._rows(sql, workspace, thread)
        return RunEntity.model_validate_json(rows[0][0]) if rows else None

    async def message_path(self, workspace: WorkspaceId, message: MessageId) -> list[MessageEntity]:
        return [MessageEntity.model_validate_json(data) for (data,) in self._rows(PATH, workspace, message)]

    async def list_artifacts(self, workspace: WorkspaceId, type_: str, *, archived: bool) -> list[ArtifactEntity]:
        sql = "SELECT data FROM artifacts WHERE workspace = ? AND type = ? AND archived <= ? ORDER BY created, rowid"
        rows = self._rows(sql, workspace, type_, archived)
        return [ArtifactEntity.model_validate_json(data) for (data,) in rows]

    async def list_revisions(self, workspace: WorkspaceId, artifact: ArtifactId) -> list[Revision]:
        return self._database.read(lambda connection: revisions_of(connection, workspace, artifact))

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        return self._database.read(lambda connection: connection.execute(sql, values).fetchall())

    def _number(self, sql: str, value: str) -> int:
        rows = self._rows(sql, value)
        return rows[0][0] if rows else 0

    def _consistently(self, read: Callable[[sqlite3.Connection], T]) -> T:
        """Several reading statements on one state of the file, whatever other processes commit meanwhile."""

        def operation(connection: sqlite3.Connection) -> T:
            connection.execute("BEGIN")
            try:
                return read(connection)
            finally:
                connection.execute("COMMIT")

        return self._database.read(operation)


def _result(connection: sqlite3.Connection, workspace: WorkspaceId, command: tuple[str, str]) -> CommandResult | None:
    sql = "SELECT body_hash, outcome FROM command_results WHERE workspace = ? AND sender = ? AND id = ?"
    row: tuple[str, str] | None = connection.execute(sql, (workspace, *command)).fetchone()
    return CommandResult(row[0], OUTCOME.validate_json(row[1])) if row is not None else None


def _write(connection: sqlite3.Connection, commit: Commit) -> None:
    if commit.cursor is not None:
        _move_cursor(connection, commit.cursor)
    _move_head(connection, commit)
    for entity in commit.entities:
        save_entity(connection, commit.workspace, entity)
    connection.executemany(INSERT_LOG, [envelope_row(envelope) for envelope in commit.events])
    connection.executemany(INSERT_REVISION, [revision_row(commit.workspace, revision) for revision in commit.revisions])
    connection.executemany(
        "INSERT INTO contents (scope, hash, data) VALUES (?,?,?) ON CONFLICT DO NOTHING",
        [(commit.tenant, hash_, data) for hash_, data in commit.contents.items()],
    )
    _keep_result(connection, commit)


def _move_cursor(connection: sqlite3.Connection, move: CursorMove) -> None:
    cursor_leases.refuse_passed_on(connection, move.name, move.fence)
    row: tuple[int] | None = connection.execute("SELECT position FROM cursors WHERE name = ?", (move.name,)).fetchone()
    stored = row[0] if row is not None else 0
    if stored != move.expected:
        raise StaleCursor(move.name, expected=move.expected, stored=stored)
    connection.execute("INSERT OR REPLACE INTO cursors (name, position) VALUES (?,?)", (move.name, move.new))


def _move_head(connection: sqlite3.Connection, commit: Commit) -> None:
    """Take the next places of the log, if nobody else did."""
    head = commit.expected_head + len(commit.events)
    created = next((e for e in commit.entities if isinstance(e, WorkspaceEntity)), None)
    if commit.expected_head == 0 and created is not None:
        sole = sole_name(created.kind, created.owner)
        sql = "SELECT id FROM workspaces WHERE tenant = ? AND sole = ? AND id != ?"
        if sole is not None and connection.execute(sql, (commit.tenant, sole, created.id)).fetchone() is not None:
            raise SoleWorkspaceTaken(sole)
        sql = "INSERT INTO workspaces (id, tenant, sole, head, data) VALUES (?,?,?,?,?) ON CONFLICT (id) DO NOTHING"
        values = (created.id, commit.tenant, sole, head, created.model_dump_json())
    else:
        sql = "UPDATE workspaces SET head = ? WHERE id = ? AND tenant = ? AND head = ?"
        values = (head, commit.workspace, commit.tenant, commit.expected_head)
    if connection.execute(sql, values).rowcount != 1:
        raise StaleHead(commit.workspace, expected=commit.expected_head)


def _keep_result(connection: sqlite3.Connection, commit: Commit) -> None:
    if commit.command is None or commit.outcome is None or commit.time is None:
        return
    connection.execute("DELETE FROM command_results WHERE time < ?", (wire_time(commit.time - RESULTS_KEPT),))
    connection.execute(
        "INSERT INTO command_results (workspace, sender, id, body_hash, outcome, time) VALUES (?,?,?,?,?,?)"
        " ON CONFLICT DO NOTHING",
        (
            commit.workspace,
            commit.command.sender,
            commit.command.id,
            commit.command.body_hash,
            commit.outcome.model_dump_json(),
            wire_time(commit.time),
        ),
    )
