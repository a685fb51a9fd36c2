"""Memories on SQLite: words are found by a full-text table, parts of words by looking through the scope's texts.

The table holds the folded text of current memories under the number of their row, with the scope as a word of its own.
That word is part of every search, so what is ranked is what belongs to the scope, and what others have costs nothing.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from typing import Any, Final, cast

from planwerk.capabilities.memory.errors import MemoryFull
from planwerk.capabilities.memory.ports import (
    MOST_IN_SCOPE,
    MOST_SUPERSEDED,
    MemoryPlace,
    MemoryQuery,
    MemoryScope,
    ScopeKind,
    StoredMemory,
)
from planwerk.storage.memory_search import SHORTEST_BEGINNING, Parts, fold, fused, query_words
from planwerk.storage.sqlite.database import SqliteDatabase

COLUMNS: Final = (
    "m.id, m.tenant, m.kind, m.owner, m.text, m.created, m.updated, m.source_run, m.author, m.superseded_by"
)
IN_SCOPE: Final = "m.tenant = ? AND m.kind = ? AND m.owner = ?"
CURRENT: Final = f"{IN_SCOPE} AND m.superseded_by IS NULL"
BY_WORDS: Final = f"""
    SELECT {COLUMNS} FROM memories_words AS found JOIN memories AS m ON m.number = found.rowid
    WHERE memories_words MATCH ? AND {CURRENT} ORDER BY bm25(memories_words, 0.0, 1.0), m.updated DESC LIMIT ?
"""
FOLDED: Final = f"""
    SELECT m.id, folded.text FROM memories AS m JOIN memories_words AS folded ON folded.rowid = m.number
    WHERE {CURRENT} ORDER BY m.updated DESC, m.id DESC
"""
GET: Final = f"SELECT {COLUMNS} FROM memories AS m WHERE {IN_SCOPE} AND m.id = ?"
NEWEST: Final = f"""
    SELECT {COLUMNS} FROM memories AS m WHERE {{whose}} AND (m.updated, m.id) < (?, ?)
    ORDER BY m.updated DESC, m.id DESC LIMIT ?
"""
NEWEST_CURRENT: Final = NEWEST.format(whose=CURRENT)
NEWEST_OF_ALL: Final = NEWEST.format(whose=IN_SCOPE)
COUNT: Final = f"SELECT count(*) FROM memories AS m WHERE {CURRENT}"
KNOWN: Final = "SELECT 1 FROM memories WHERE id = ?"
INSERT: Final = """
    INSERT INTO memories (id, tenant, kind, owner, text, created, updated, source_run, author, superseded_by)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
INDEX: Final = "INSERT INTO memories_words (rowid, scope, text) VALUES (?, ?, ?)"
UNINDEX: Final = "DELETE FROM memories_words WHERE rowid = ?"
NUMBER: Final = f"SELECT m.number FROM memories AS m WHERE {CURRENT} AND m.id = ?"
SUPERSEDE: Final = "UPDATE memories SET superseded_by = ? WHERE number = ?"
EDIT: Final = "UPDATE memories SET text = ?, updated = ? WHERE number = ?"
CHAIN: Final = f"""
    WITH RECURSIVE going (number, id) AS (
        SELECT m.number, m.id FROM memories AS m WHERE {IN_SCOPE} AND m.id = ?
        UNION SELECT m.number, m.id FROM memories AS m JOIN going ON m.superseded_by = going.id WHERE {IN_SCOPE}
    ) SELECT number FROM going
"""
ALL: Final = f"SELECT m.number FROM memories AS m WHERE {IN_SCOPE}"
DELETE: Final = "DELETE FROM memories WHERE number = ?"
OLDEST_SUPERSEDED: Final = f"""
    SELECT m.number FROM memories AS m WHERE {IN_SCOPE} AND m.superseded_by IS NOT NULL
    ORDER BY m.updated DESC, m.id DESC LIMIT -1 OFFSET ?
"""
NAMESPACES: Final = """
    SELECT owner, count(*) FROM memories WHERE tenant = ? AND kind = 'organization' AND superseded_by IS NULL
    GROUP BY owner ORDER BY owner
"""
LAST: Final = (2**62, "")


class SqliteMemories:
    """Port `MemoryStore` on one file."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def search(
        self, scopes: Sequence[MemoryScope], queries: Sequence[MemoryQuery], *, limit: int
    ) -> list[StoredMemory]:
        wanted = [words for query in queries if (words := query_words(query.text))]
        if not wanted or not scopes:
            return []

        def find(connection: sqlite3.Connection) -> list[StoredMemory]:
            found: dict[str, StoredMemory] = {}
            rankings: list[list[str]] = []
            for words in wanted:
                for ranking in (
                    _by_words(connection, scopes, words, limit),
                    _by_parts(connection, scopes, words, limit),
                ):
                    found.update((memory.id, memory) for memory in ranking)
                    rankings.append([memory.id for memory in ranking])
            return [found[identity] for identity in fused(rankings)[:limit]]

        return self._database.read(find)

    async def newest(
        self,
        scope: MemoryScope,
        *,
        before: MemoryPlace | None = None,
        limit: int = 50,
        with_superseded: bool = False,
    ) -> list[StoredMemory]:
        statement = NEWEST_OF_ALL if with_superseded else NEWEST_CURRENT
        return self._rows(statement, (*_whose(scope), *(before or LAST), limit))

    async def get(self, scope: MemoryScope, memory: str) -> StoredMemory | None:
        found = self._rows(GET, (*_whose(scope), memory))
        return found[0] if found else None

    async def count(self, scope: MemoryScope) -> int:
        return self._database.read(lambda connection: _count(connection, scope))

    async def add(self, memory: StoredMemory) -> bool:
        def write(connection: sqlite3.Connection) -> bool:
            if connection.execute(KNOWN, (memory.id,)).fetchone() is not None:
                return False
            if _count(connection, memory.scope) >= MOST_IN_SCOPE:
                raise MemoryFull(MOST_IN_SCOPE)
            _insert(connection, memory)
            return True

        return await self._database.write(write)

    async def supersede(self, memory: str, new: StoredMemory) -> bool:
        def write(connection: sqlite3.Connection) -> bool:
            number = _number(connection, new.scope, memory)
            if number is None or connection.execute(KNOWN, (new.id,)).fetchone() is not None:
                return False
            _unindex(connection, number)
            connection.execute(SUPERSEDE, (new.id, number))
            _insert(connection, new)
            _drop(connection, OLDEST_SUPERSEDED, (*_whose(new.scope), MOST_SUPERSEDED))
            return True

        return await self._database.write(write)

    async def edit(self, scope: MemoryScope, memory: str, text: str, *, now_microseconds: int) -> StoredMemory | None:
        def write(connection: sqlite3.Connection) -> StoredMemory | None:
            number = _number(connection, scope, memory)
            if number is None:
                return None
            connection.execute(EDIT, (text, now_microseconds, number))
            _unindex(connection, number)
            _index(connection, number, scope, text)
            return _memory(connection.execute(GET, (*_whose(scope), memory)).fetchone())

        return await self._database.write(write)

    async def delete(self, scope: MemoryScope, memory: str) -> bool:
        whose = _whose(scope)
        return await self._database.write(lambda connection: _drop(connection, CHAIN, (*whose, memory, *whose)) > 0)

    async def clear(self, scope: MemoryScope) -> int:
        def write(connection: sqlite3.Connection) -> int:
            count = _count(connection, scope)
            _drop(connection, ALL, _whose(scope))
            return count

        return await self._database.write(write)

    async def namespaces(self, tenant: str) -> dict[str, int]:
        return dict(self._database.read(lambda connection: connection.execute(NAMESPACES, (tenant,)).fetchall()))

    def _rows(self, statement: str, parameters: tuple[Any, ...]) -> list[StoredMemory]:
        return self._database.read(lambda connection: _memories(connection, statement, parameters))


def _by_words(
    connection: sqlite3.Connection, scopes: Sequence[MemoryScope], words: Sequence[str], limit: int
) -> list[StoredMemory]:
    """Of each scope what fits best; of several the ranks are fused, as scores of different searches do not compare."""
    terms = " OR ".join(f'"{word}"*' if len(word) >= SHORTEST_BEGINNING else f'"{word}"' for word in words)
    rankings = [
        _memories(connection, BY_WORDS, (f"scope : {_word(scope)} AND text : ({terms})", *_whose(scope), limit))
        for scope in dict.fromkeys(scopes)
    ]
    found = {memory.id: memory for ranking in rankings for memory in ranking}
    return [found[identity] for identity in fused([memory.id for memory in ranking] for ranking in rankings)]


def _by_parts(
    connection: sqlite3.Connection, scopes: Sequence[MemoryScope], words: Sequence[str], limit: int
) -> list[StoredMemory]:
    parts = Parts(words)
    shared: dict[tuple[MemoryScope, str], int] = {}
    for scope in dict.fromkeys(scopes):
        for identity, folded in connection.execute(FOLDED, _whose(scope)):
            if letters := parts.shared_with(folded):
                shared[scope, identity] = letters
    best = sorted(shared, key=shared.__getitem__, reverse=True)[:limit]
    return [_memory(connection.execute(GET, (*_whose(scope), identity)).fetchone()) for scope, identity in best]


def _memories(connection: sqlite3.Connection, statement: str, parameters: tuple[Any, ...]) -> list[StoredMemory]:
    return [_memory(row) for row in connection.execute(statement, parameters)]


def _memory(row: tuple[Any, ...]) -> StoredMemory:
    identity, tenant, kind, owner, *rest = row
    return StoredMemory(identity, MemoryScope(tenant, cast("ScopeKind", kind), owner), *rest)


def _whose(scope: MemoryScope) -> tuple[str, str, str]:
    return scope.tenant, scope.kind, scope.owner


def _word(scope: MemoryScope) -> str:
    """The scope as a word of the full-text table; what it finds is compared with the scope itself all the same."""
    digest = hashlib.sha256("\0".join(_whose(scope)).encode())
    return f"s{digest.hexdigest()[:15]}"


def _count(connection: sqlite3.Connection, scope: MemoryScope) -> int:
    row: tuple[int] = connection.execute(COUNT, _whose(scope)).fetchone()
    return row[0]


def _number(connection: sqlite3.Connection, scope: MemoryScope, memory: str) -> int | None:
    row: tuple[int] | None = connection.execute(NUMBER, (*_whose(scope), memory)).fetchone()
    return row[0] if row is not None else None


def _insert(connection: sqlite3.Connection, memory: StoredMemory) -> None:
    row = (
        memory.id,
        *_whose(memory.scope),
        memory.text,
        memory.created_microseconds,
        memory.updated_microseconds,
        memory.source_run,
        memory.author,
        memory.superseded_by,
    )
    number = connection.execute(INSERT, row).lastrowid
    assert number is not None
    if memory.superseded_by is None:
        _index(connection, number, memory.scope, memory.text)


def _index(connection: sqlite3.Connection, number: int, scope: MemoryScope, text: str) -> None:
    connection.execute(INDEX, (number, _word(scope), fold(text)))


def _unindex(connection: sqlite3.Connection, number: int) -> None:
    connection.execute(UNINDEX, (number,))


def _drop(connection: sqlite3.Connection, which: str, parameters: tuple[Any, ...]) -> int:
    """Delete the rows of these numbers, from the full-text table too, and return how many they were."""
    numbers = [row[0] for row in connection.execute(which, parameters).fetchall()]
    for number in numbers:
        _unindex(connection, number)
        connection.execute(DELETE, (number,))
    return len(numbers)
