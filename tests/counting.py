"""What a stretch of a test asks of the database, in counts that do not jitter."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from planwerk.storage.sqlite.database import SqliteDatabase


@dataclass
class Work:
    """What a stretch asked of the database."""

    statements: list[str]
    steps: int = 0
    """Instructions of SQLite's virtual machine for reading: they grow with each row that is looked at."""


@contextmanager
def counted(database: SqliteDatabase) -> Generator[Work]:
    work = Work([])

    def step() -> int:
        work.steps += 1
        return 0

    database.read(lambda connection: connection.set_trace_callback(work.statements.append))
    database.read(lambda connection: connection.set_progress_handler(step, 1))
    try:
        yield work
    finally:
        database.read(lambda connection: connection.set_trace_callback(None))
        database.read(lambda connection: connection.set_progress_handler(None, 1))
