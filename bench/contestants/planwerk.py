"""Ours, through the public API: blueprints of typed steps, run by the runtime in this process."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.contestants.planwerk_blueprints import (
    BenchChain,
    BenchChainStartEvent,
    BenchFanOut,
    BenchNotes,
    BenchNotesStartEvent,
    BenchScatterEvent,
    value_of,
)
from bench.parking import parking
from bench.resuming import resuming
from bench.scenario import OURS, Contestant, Once, Sizes
from bench.stored import note_bytes_per_step
from planwerk.runtime.local import LocalRuntime
from planwerk.storage.in_memory.journal import InMemoryJournal
from planwerk.storage.migrate import upgrade
from planwerk.storage.sqlite.database import SqliteDatabase
from planwerk.storage.sqlite.journal import SqliteJournal

SPARE_COMMITS: Final = 2
"""A run's opening and its end; beyond these a step has one commit at most."""
COMMITS: Final = "commits per step"


@asynccontextmanager
async def chain(sizes: Sizes) -> AsyncGenerator[Once]:
    runtime = LocalRuntime(InMemoryJournal())

    async def once() -> int:
        runtime.journal = InMemoryJournal()  # what earlier repetitions left would slow the garbage collector for all
        return value_of(await runtime.run(BenchChain, BenchChainStartEvent(steps=sizes.steps)))

    yield once


@asynccontextmanager
async def fanout(sizes: Sizes) -> AsyncGenerator[Once]:
    runtime = LocalRuntime(InMemoryJournal())

    async def once() -> int:
        runtime.journal = InMemoryJournal()
        return value_of(await runtime.run(BenchFanOut, BenchScatterEvent(width=sizes.width)))

    yield once


@asynccontextmanager
async def runs(sizes: Sizes) -> AsyncGenerator[Once]:
    runtime = LocalRuntime(InMemoryJournal())

    async def once() -> int:
        runtime.journal = InMemoryJournal()
        return await many(runtime, sizes)

    yield once


async def many(runtime: LocalRuntime, sizes: Sizes) -> int:
    start = BenchChainStartEvent(steps=sizes.steps)
    return sum(map(value_of, await asyncio.gather(*(runtime.run(BenchChain, start) for _ in range(sizes.runs)))))


@asynccontextmanager
async def growth_memory(sizes: Sizes) -> AsyncGenerator[Once]:
    runtime = LocalRuntime(InMemoryJournal())

    async def once() -> int:
        runtime.journal = InMemoryJournal()
        return value_of(await runtime.run(BenchNotes, BenchNotesStartEvent(steps=sizes.steps)))

    yield once


@dataclass(frozen=True, slots=True)
class OnFile:
    """Our runtime on a SQLite file."""

    path: Path
    database: SqliteDatabase
    runtime: LocalRuntime

    def query(self, statement: str) -> list[tuple[int]]:
        def run(connection: sqlite3.Connection) -> list[tuple[int]]:
            return connection.execute(statement).fetchall()

        return self.database.read(run)


@asynccontextmanager
async def on_file(sizes: Sizes) -> AsyncGenerator[OnFile]:
    path = sizes.folder / "planwerk.db"
    upgrade(path)
    database = SqliteDatabase(path, durability="power" if sizes.synchronous == "FULL" else "process")
    try:
        yield OnFile(path, database, LocalRuntime(SqliteJournal(database)))
    finally:
        await database.close()


@asynccontextmanager
async def durable(sizes: Sizes) -> AsyncGenerator[Once]:
    async with on_file(sizes) as file:

        async def once() -> int:
            before = file.database.commits
            value = value_of(await file.runtime.run(BenchChain, BenchChainStartEvent(steps=sizes.steps)))
            commits = file.database.commits - before
            sizes.note(COMMITS, commits / sizes.steps)
            return value if commits <= sizes.steps + SPARE_COMMITS else 0

        yield once


@asynccontextmanager
async def durable_many(sizes: Sizes) -> AsyncGenerator[Once]:
    async with on_file(sizes) as file:

        async def once() -> int:
            before = file.database.commits
            value = await many(file.runtime, sizes)
            sizes.note(COMMITS, (file.database.commits - before) / sizes.runs / sizes.steps)
            return value

        yield once


@asynccontextmanager
async def growth(sizes: Sizes) -> AsyncGenerator[Once]:
    async with on_file(sizes) as file:

        async def once() -> int:
            (last,) = file.query("SELECT coalesce(max(feed), 0) FROM journal_appends")[0]
            value = value_of(await file.runtime.run(BenchNotes, BenchNotesStartEvent(steps=sizes.steps)))
            stored = file.query(f"SELECT length(entries) FROM journal_appends WHERE feed > {last} ORDER BY feed")
            note_bytes_per_step(sizes, [length for (length,) in stored])
            return value

        yield once


CONTESTANT: Final = Contestant(
    OURS,
    {
        "chain": chain,
        "fanout": fanout,
        "fanout-wide": fanout,
        "runs": runs,
        "runs-durable": durable_many,
        "durable": durable,
        "durable-full": durable,
        "durable-many": durable_many,
        "growth": growth,
        "growth-memory": growth_memory,
        "parked": parking("bench.contestants.planwerk_waiting"),
        "resume": resuming("bench.contestants.planwerk_serving"),
    },
)
