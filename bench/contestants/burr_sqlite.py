"""burr with its asynchronous SQLite persister: WAL, the state written and committed after every action."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, cast

from burr.core import ApplicationBuilder, Graph
from burr.core.application import Application
from burr.integrations.persisters.b_aiosqlite import AsyncSQLitePersister

from bench.contestants.burr import chain_graph, noting_graph, value_of
from bench.resuming import resuming
from bench.scenario import Contestant, Once, Sizes
from bench.stored import note_bytes_per_step

RUN: Final = "run-1"


@asynccontextmanager
async def opened(path: Path, synchronous: str = "NORMAL") -> AsyncGenerator[Any]:
    async with cast("Any", AsyncSQLitePersister).from_values(str(path)) as persister:
        await persister.connection.execute("PRAGMA journal_mode=WAL")
        await persister.connection.execute(f"PRAGMA synchronous={synchronous}")
        await persister.initialize()
        yield persister


async def started(graph: Graph, persister: Any, run: str, **state: Any) -> Application[Any]:
    """The run as its file has it, or a new one."""
    builder = (
        cast("Any", ApplicationBuilder()).with_graph(graph).with_identifiers(app_id=run).with_state_persister(persister)
    )
    first = graph.actions[0].name
    begun = {"number": 0, **state}
    return await builder.initialize_from(
        persister, resume_at_next_action=True, default_state=begun, default_entrypoint=first
    ).abuild()


async def rows_of(persister: Any, run: str) -> list[int]:
    """Bytes of what is stored of a run, in order."""
    rows = await persister.connection.execute_fetchall(
        "SELECT length(state) FROM burr_state WHERE app_id = ? ORDER BY sequence_id", (run,)
    )
    return [row[0] for row in rows]


@asynccontextmanager
async def durable(sizes: Sizes) -> AsyncGenerator[Once]:
    graph = chain_graph()
    async with opened(sizes.folder / "states.db", sizes.synchronous) as persister:
        begun = 0

        async def once() -> int:
            nonlocal begun
            begun += 1
            run = f"run-{begun}"
            value = await value_of(await started(graph, persister, run, steps=sizes.steps), "finish")
            return min(value, len(await rows_of(persister, run)))

        yield once


@asynccontextmanager
async def durable_many(sizes: Sizes) -> AsyncGenerator[Once]:
    graph = chain_graph()
    async with opened(sizes.folder / "states.db", sizes.synchronous) as persister:
        begun = 0

        async def one(number: int) -> int:
            run = f"run-{number}"
            value = await value_of(await started(graph, persister, run, steps=sizes.steps), "finish")
            return min(value, len(await rows_of(persister, run)))

        async def once() -> int:
            nonlocal begun
            numbers = range(begun, begun + sizes.runs)
            begun += sizes.runs
            return sum(await asyncio.gather(*(one(number) for number in numbers)))

        yield once


@asynccontextmanager
async def growth(sizes: Sizes) -> AsyncGenerator[Once]:
    graph = noting_graph()
    async with opened(sizes.folder / "states.db", sizes.synchronous) as persister:
        begun = 0

        async def once() -> int:
            nonlocal begun
            begun += 1
            run = f"run-{begun}"
            value = await value_of(await started(graph, persister, run, steps=sizes.steps, notes=[]), "count")
            note_bytes_per_step(sizes, await rows_of(persister, run))
            await persister.connection.execute("DELETE FROM burr_state")  # some hundred megabytes each
            await persister.connection.commit()
            return value

        yield once


async def die(folder: Path, steps: int) -> None:
    async with opened(folder / "states.db") as persister:
        await value_of(await started(noting_graph(), persister, RUN, steps=steps, notes=[]), "count")


async def wake(folder: Path) -> int:
    async with opened(folder / "states.db") as persister:
        return await value_of(await started(noting_graph(), persister, RUN), "count")


CONTESTANT: Final = Contestant(
    "burr-sqlite",
    {
        "durable": durable,
        "durable-full": durable,
        "durable-many": durable_many,
        "runs-durable": durable_many,
        "growth": growth,
        "resume": resuming(__name__),
    },
)
