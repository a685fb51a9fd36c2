"""Opens each adapter of the runtime's ports, for suites that every adapter passes."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from planwerk.runtime.ports import ContextStore, Journal, RunRecords, RunRequests, WorkQueue
from planwerk.storage.in_memory.contexts import InMemoryContexts
from planwerk.storage.in_memory.journal import InMemoryJournal
from planwerk.storage.in_memory.run_records import InMemoryRunRecords
from planwerk.storage.in_memory.run_requests import InMemoryRunRequests
from planwerk.storage.in_memory.work_queue import InMemoryWorkQueue
from planwerk.storage.migrate import upgrade
from planwerk.storage.sqlite.contexts import SqliteContexts
from planwerk.storage.sqlite.database import SqliteDatabase
from planwerk.storage.sqlite.journal import SqliteJournal
from planwerk.storage.sqlite.run_records import SqliteRunRecords
from planwerk.storage.sqlite.run_requests import SqliteRunRequests
from planwerk.storage.sqlite.work_queue import SqliteWorkQueue

ADAPTERS = ["in_memory", "sqlite"]


@dataclass(frozen=True, slots=True)
class OpenStores:
    journal: Journal
    queue: WorkQueue
    contexts: ContextStore
    records: RunRecords
    requests: RunRequests


@asynccontextmanager
async def open_stores(adapter: str, folder: Path) -> AsyncGenerator[OpenStores]:
    if adapter == "in_memory":
        yield OpenStores(
            InMemoryJournal(), InMemoryWorkQueue(), InMemoryContexts(), InMemoryRunRecords(), InMemoryRunRequests()
        )
        return
    path = folder / "data.db"
    upgrade(path)
    database = SqliteDatabase(path)
    try:
        yield OpenStores(
            SqliteJournal(database),
            SqliteWorkQueue(database),
            SqliteContexts(database),
            SqliteRunRecords(database),
            SqliteRunRequests(database),
        )
    finally:
        await database.close()
