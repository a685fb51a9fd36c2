"""The workspace wing's entities and envelopes as rows: the columns they are found by, and their data as JSON."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias, assert_never

from pydantic_core import from_json, to_json

from planwerk.access.actors import ACTOR
from planwerk.workflow.ids import EventId, RunId, ThreadId, WorkspaceId
from planwerk.workspace.ports import rebuild_from
from planwerk.workspace.rules.envelope import LogEnvelope, wire_time
from planwerk.workspace.rules.events import read_log_event
from planwerk.workspace.rules.state import (
    ArtifactEntity,
    ArtifactKey,
    Entity,
    Found,
    Key,
    MessageEntity,
    MessageKey,
    PendingKey,
    Revision,
    RevisionsAfterKey,
    RevisionsToKey,
    RunEntity,
    RunKey,
    RunsKey,
    ThreadEntity,
    ThreadKey,
    TreeKey,
    WorkspaceEntity,
)

Row: TypeAlias = tuple[Any, ...]

LOG_COLUMNS: Final = "workspace, seq, id, time, thread, run, actor, traceparent, type, v, data"

INSERT_LOG: Final = f"INSERT INTO log ({LOG_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?)"

INSERT_REVISION: Final = "INSERT INTO revisions (workspace, artifact, version, whole, data) VALUES (?,?,?,?,?)"

SAVE_THREAD: Final = """
    INSERT INTO threads (workspace, id, updated_seq, active_run, data) VALUES (?,?,?,?,?)
    ON CONFLICT (workspace, id) DO UPDATE SET
    updated_seq = excluded.updated_seq, active_run = excluded.active_run, data = excluded.data"""

SAVE_MESSAGE: Final = """
    INSERT INTO messages (workspace, id, thread, parent, seq, retracted, data) VALUES (?,?,?,?,?,?,?)
    ON CONFLICT (workspace, id) DO UPDATE SET retracted = excluded.retracted, data = excluded.data"""

SAVE_RUN: Final = """
    INSERT INTO thread_runs (workspace, id, thread, message, ended, requested_seq, data) VALUES (?,?,?,?,?,?,?)
    ON CONFLICT (workspace, id) DO UPDATE SET message = excluded.message, ended = excluded.ended, data = excluded.data
"""

SAVE_ARTIFACT: Final = """
    INSERT INTO artifacts (workspace, id, type, archived, created, data) VALUES (?,?,?,?,?,?)
    ON CONFLICT (workspace, id) DO UPDATE SET archived = excluded.archived, data = excluded.data"""


def envelope_row(envelope: LogEnvelope) -> Row:
    return (
        envelope.workspace,
        envelope.seq,
        envelope.id,
        wire_time(envelope.time),
        envelope.thread,
        envelope.run,
        envelope.actor.model_dump_json(),
        envelope.traceparent,
        envelope.type,
        envelope.v,
        to_json(envelope.event.to_data()).decode(),
    )


def envelope_of(row: Row) -> LogEnvelope:
    workspace, seq, id_, time, thread, run, actor, traceparent, type_, v, data = row
    return LogEnvelope.model_construct(
        seq=seq,
        id=EventId(id_),
        time=datetime.fromisoformat(time),
        workspace=WorkspaceId(workspace),
        thread=ThreadId(thread) if thread else None,
        run=RunId(run) if run else None,
        actor=ACTOR.validate_json(actor),
        traceparent=traceparent,
        event=read_log_event(type_, v, from_json(data)),
    )


def revision_row(workspace: WorkspaceId, revision: Revision) -> Row:
    whole = revision.snapshot is not None
    return (workspace, revision.artifact, revision.version, whole, revision.model_dump_json())


def save_entity(connection: sqlite3.Connection, workspace: WorkspaceId, entity: Entity) -> None:
    """Insert the entity, or put its new data in the place of the old."""
    data = entity.model_dump_json()
    match entity:
        case WorkspaceEntity():
            connection.execute("UPDATE workspaces SET data = ? WHERE id = ?", (data, entity.id))
        case ThreadEntity():
            active = entity.pending[0] if entity.pending else None
            connection.execute(SAVE_THREAD, (workspace, entity.id, entity.updated_seq, active, data))
        case MessageEntity():
            values = (entity.id, entity.thread, entity.parent, entity.seq, entity.retracted, data)
            connection.execute(SAVE_MESSAGE, (workspace, *values))
        case RunEntity():
            ended = entity.ended is not None
            values = (entity.id, entity.thread, entity.parent_of_reply, ended, entity.requested_seq, data)
            connection.execute(SAVE_RUN, (workspace, *values))
        case ArtifactEntity():
            values = (entity.id, entity.type, entity.archived, wire_time(entity.created), data)
            connection.execute(SAVE_ARTIFACT, (workspace, *values))
        case _:
            assert_never(entity)


def find(connection: sqlite3.Connection, workspace: WorkspaceId, key: Key) -> Found:
    """What stands under a key."""
    match key:
        case ThreadKey(id=thread):
            data = _one(connection, "SELECT data FROM threads WHERE workspace = ? AND id = ?", workspace, thread)
            return ThreadEntity.model_validate_json(data) if data else None
        case MessageKey(id=message):
            data = _one(connection, "SELECT data FROM messages WHERE workspace = ? AND id = ?", workspace, message)
            return MessageEntity.model_validate_json(data) if data else None
        case RunKey(id=run):
            data = _one(connection, "SELECT data FROM thread_runs WHERE workspace = ? AND id = ?", workspace, run)
            return RunEntity.model_validate_json(data) if data else None
        case ArtifactKey(id=artifact):
            data = _one(connection, "SELECT data FROM artifacts WHERE workspace = ? AND id = ?", workspace, artifact)
            return ArtifactEntity.model_validate_json(data) if data else None
        case TreeKey(thread=thread):
            return messages_of(connection, workspace, thread)
        case PendingKey(thread=thread):
            return runs_of(connection, workspace, thread, "AND ended = 0")
        case RunsKey(thread=thread):
            return runs_of(connection, workspace, thread)
        case RevisionsAfterKey(artifact=artifact, after=after):
            return tuple(revisions_of(connection, workspace, artifact, after=after))
        case RevisionsToKey(artifact=artifact, version=version):
            return _revisions_to(connection, workspace, artifact, version)
        case _:
            assert_never(key)


def messages_of(connection: sqlite3.Connection, workspace: WorkspaceId, thread: str) -> tuple[MessageEntity, ...]:
    sql = "SELECT data FROM messages WHERE workspace = ? AND thread = ? AND NOT retracted ORDER BY seq"
    return tuple(MessageEntity.model_validate_json(data) for (data,) in connection.execute(sql, (workspace, thread)))


def runs_of(
    connection: sqlite3.Connection, workspace: WorkspaceId, thread: str, condition: str = ""
) -> tuple[RunEntity, ...]:
    sql = f"SELECT data FROM thread_runs WHERE workspace = ? AND thread = ? {condition} ORDER BY requested_seq"
    return tuple(RunEntity.model_validate_json(data) for (data,) in connection.execute(sql, (workspace, thread)))


def revisions_of(
    connection: sqlite3.Connection, workspace: WorkspaceId, artifact: str, *, after: int = 0
) -> list[Revision]:
    sql = "SELECT data FROM revisions WHERE workspace = ? AND artifact = ? AND version > ? ORDER BY version"
    return [Revision.model_validate_json(data) for (data,) in connection.execute(sql, (workspace, artifact, after))]


def _revisions_to(
    connection: sqlite3.Connection, workspace: WorkspaceId, artifact: str, version: int
) -> tuple[Revision, ...]:
    sql = """
        SELECT data FROM revisions WHERE workspace = ?1 AND artifact = ?2 AND version <= ?3 AND version >= (
            SELECT max(version) FROM revisions WHERE workspace = ?1 AND artifact = ?2 AND version <= ?3 AND whole)
        ORDER BY version"""
    rows: Sequence[Row] = connection.execute(sql, (workspace, artifact, version)).fetchall()
    return rebuild_from([Revision.model_validate_json(data) for (data,) in rows])


def _one(connection: sqlite3.Connection, sql: str, workspace: WorkspaceId, id_: str) -> str | None:
    row: tuple[str] | None = connection.execute(sql, (workspace, id_)).fetchone()
    return row[0] if row is not None else None
