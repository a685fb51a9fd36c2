"""Knowledge in this process: the adapter of SQLite on a database that is nowhere but in memory.

Full text is a matter of SQLite here as there, so that a search finds the same in a test as on a file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from planwerk.storage.schema import FULL_TEXT_SQLITE, metadata
from planwerk.storage.sqlite.knowledge import SqliteKnowledge

T = TypeVar("T")

PREFIX = "knowledge_"


class InMemoryKnowledge(SqliteKnowledge):
    """Port `KnowledgeIndex`."""

    def __init__(self) -> None:
        super().__init__(_Memory())


class _Memory:
    def __init__(self) -> None:
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        dialect = sqlite.dialect()
        for table in metadata.sorted_tables:
            if table.name.startswith(PREFIX):
                self._connection.execute(str(CreateTable(table).compile(dialect=dialect)))
                for index in table.indexes:
                    self._connection.execute(str(CreateIndex(index).compile(dialect=dialect)))
        for name, statement in FULL_TEXT_SQLITE.items():
            if name.startswith(PREFIX):
                self._connection.execute(statement)

    async def write(self, operation: Callable[[sqlite3.Connection], T], *, atomic: bool = False) -> T:
        self._connection.execute("BEGIN")
        try:
            result = operation(self._connection)
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
        return result

    def read(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        return operation(self._connection)

    async def read_in_thread(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        return operation(self._connection)

    def __del__(self) -> None:
        self._connection.close()
