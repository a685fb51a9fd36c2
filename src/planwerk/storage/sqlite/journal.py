"""Journals on SQLite: one row per append, one statement per row; histories out of line, by content (E7.1, E7.7)."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, Final

from planwerk.runtime.errors import StaleFence, StaleVersion
from planwerk.runtime.ports import FeedItem
from planwerk.storage.sqlite.database import SqliteDatabase
from planwerk.storage.wakeups import WakeUps
from planwerk.workflow.entries import Entry, RunEnded
from planwerk.workflow.ids import RunId
from planwerk.workflow.journal_text import read_entries, write_entries

# One statement checks and writes: the run's head by what it selects, the fence by what it leaves out.
APPEND: Final = """
    INSERT INTO journal_appends (run, first_position, last_position, fence, entries)
    SELECT ?1, ?2 + 1, ?3, ?4, ?5
    WHERE ?2 = coalesce(
        (SELECT last_position FROM journal_appends WHERE run = ?1 ORDER BY first_position DESC LIMIT 1), 0
    )
      AND NOT EXISTS (SELECT 1 FROM run_queue WHERE run = ?1 AND fence > ?4)
"""
HEAD: Final = "SELECT coalesce(max(last_position), 0) FROM journal_appends WHERE run = ?"  # of a refusal only
FENCE: Final = "SELECT coalesce(max(fence), 0) FROM run_queue WHERE run = ?"
READ: Final = """
    SELECT first_position, entries FROM journal_appends WHERE run = ? AND last_position > ? ORDER BY first_position
"""
FEED: Final = "SELECT feed, run, first_position, entries FROM journal_appends WHERE feed > ? ORDER BY feed LIMIT ?"
FORGET: Final = "DELETE FROM journal_appends WHERE run = ?"
FORGET_CONTENTS: Final = "DELETE FROM contents WHERE scope = ?"
KEEP: Final = "INSERT OR IGNORE INTO contents (scope, hash, data) VALUES (?, ?, ?)"
CONTENT: Final = "SELECT data FROM contents WHERE scope = ? AND hash = ?"


REMEMBERED_RUNS: Final = 2_000
"""Of how many runs it is remembered which contents are stored: a run that waits outside memory needs none (E7.4)."""


class SqliteJournal:
    """Port `Journal` on one file."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self._wakeups = WakeUps(database.changes)
        self._stored: dict[RunId, set[str]] = {}
        """Contents stored for certain, of the runs written here last; of others they are offered again."""

    async def append(self, run: RunId, entries: Sequence[Entry], *, expected_version: int, fence: int) -> int:
        sink = _Sink(self._stored.get(run))
        text = write_entries(entries, {"contents": sink})
        version = expected_version + len(entries)
        row = (run, expected_version, version, fence, text)

        def write(connection: sqlite3.Connection) -> None:
            if connection.execute(APPEND, row).rowcount != 1:
                raise _refusal(connection, run, expected_version, fence)
            if sink.new:
                scope = _scope(run)
                connection.executemany(KEEP, [(scope, digest, data.encode()) for digest, data in sink.new.items()])

        await self._database.write(write)
        if sink.new:
            self._stored.setdefault(run, set()).update(sink.new)
            if len(self._stored) > REMEMBERED_RUNS:
                del self._stored[next(iter(self._stored))]
        if isinstance(entries[-1], RunEnded):
            self._stored.pop(run, None)
        self._wakeups.wake(run)
        return version

    async def read(self, run: RunId, after: int = 0) -> list[Entry]:
        context = {"contents": _Source(self._database, run)}
        rows = self._database.read(lambda connection: connection.execute(READ, (run, after)).fetchall())
        if not rows:
            return []
        first_position: int = rows[0][0]
        found = read_entries("\n".join([text for _, text in rows]), context)
        return found[max(0, after - first_position + 1) :]

    async def forget(self, run: RunId) -> None:
        def write(connection: sqlite3.Connection) -> None:
            connection.execute(FORGET, (run,))
            connection.execute(FORGET_CONTENTS, (_scope(run),))

        await self._database.write(write)

    async def follow(self, run: RunId, after: int = 0) -> AsyncGenerator[tuple[int, Entry]]:
        async with aclosing(self._wakeups.follow(run)) as changes:
            async for _ in changes:
                for entry in await self.read(run, after):
                    after += 1
                    yield after, entry
                    if isinstance(entry, RunEnded):
                        return

    async def feed(self, after: int, limit: int = 100) -> list[FeedItem]:
        rows = self._database.read(lambda connection: connection.execute(FEED, (after, limit)).fetchall())
        return [
            FeedItem(feed, RunId(run), first, read_entries(text, {"contents": _Source(self._database, RunId(run))}))
            for feed, run, first, text in rows
        ]

    def changes(self) -> AsyncGenerator[None]:
        return self._wakeups.follow()


def _scope(run: RunId) -> str:
    return f"run:{run}"


def _refusal(connection: sqlite3.Connection, run: RunId, expected: int, fence: int) -> StaleFence | StaleVersion:
    current: int = connection.execute(FENCE, (run,)).fetchone()[0]
    if current > fence:
        return StaleFence(run, carried=fence, current=current)
    return StaleVersion(run, expected=expected, current=connection.execute(HEAD, (run,)).fetchone()[0])


class _Sink:
    """Takes histories out of line: what is not stored for certain is written with the append."""

    def __init__(self, stored: set[str] | None) -> None:
        self._stored: set[str] = stored or set()
        self.new: dict[str, str] = {}

    def has(self, digest: str) -> bool:
        return digest in self._stored or digest in self.new

    def put(self, digest: str, content: str) -> None:
        self.new[digest] = content


class _Source:
    """Reads a run's contents back."""

    def __init__(self, database: SqliteDatabase, run: RunId) -> None:
        self._database = database
        self._scope = _scope(run)

    def get(self, digest: str) -> str:
        def find(connection: sqlite3.Connection) -> Any:
            return connection.execute(CONTENT, (self._scope, digest)).fetchone()

        row = self._database.read(find)
        if row is None:
            raise KeyError(digest)
        return row[0].decode()
