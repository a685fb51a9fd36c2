"""langgraph on its SQLite checkpointer: WAL, a checkpoint committed before the next step."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import aiosqlite
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from bench.contestants.langgraph import SPARE_SUPERSTEPS, chain_builder, noting_builder
from bench.resuming import resuming
from bench.scenario import Contestant, Once, Sizes
from bench.stored import note_bytes_per_step

RUN: Final = "run-1"
NO_LIMIT: Final = 1_000_000
STORED: Final = """
    SELECT length(checkpoint) + length(metadata) + coalesce((
        SELECT sum(length(value)) FROM writes
        WHERE writes.thread_id = checkpoints.thread_id AND writes.checkpoint_id = checkpoints.checkpoint_id
    ), 0) FROM checkpoints WHERE thread_id = ? ORDER BY checkpoint_id
"""


@asynccontextmanager
async def opened(path: Path, synchronous: str = "NORMAL") -> AsyncGenerator[AsyncSqliteSaver]:
    async with aiosqlite.connect(path) as connection:
        saver = AsyncSqliteSaver(connection)
        await saver.setup()  # sets WAL
        await connection.execute(f"PRAGMA synchronous={synchronous}")
        yield saver


def config_of(run: str, steps: int) -> dict[str, Any]:
    return {"recursion_limit": steps + SPARE_SUPERSTEPS, "configurable": {"thread_id": run}}


async def chain_on(graph: Any, saver: AsyncSqliteSaver, run: str, steps: int) -> int:
    state = await graph.ainvoke({"number": 0, "steps": steps}, config_of(run, steps), durability="sync")
    rows = await saver.conn.execute_fetchall("SELECT count(*) FROM checkpoints WHERE thread_id = ?", (run,))
    return min(state["number"], *(row[0] for row in rows))


@asynccontextmanager
async def durable(sizes: Sizes) -> AsyncGenerator[Once]:
    async with opened(sizes.folder / "checkpoints.db", sizes.synchronous) as saver:
        graph = chain_builder().compile(checkpointer=saver)
        begun = 0

        async def once() -> int:
            nonlocal begun
            begun += 1
            return await chain_on(graph, saver, f"run-{begun}", sizes.steps)

        yield once


@asynccontextmanager
async def durable_many(sizes: Sizes) -> AsyncGenerator[Once]:
    async with opened(sizes.folder / "checkpoints.db", sizes.synchronous) as saver:
        graph = chain_builder().compile(checkpointer=saver)
        begun = 0

        async def once() -> int:
            nonlocal begun
            numbers = range(begun, begun + sizes.runs)
            begun += sizes.runs
            return sum(
                await asyncio.gather(*(chain_on(graph, saver, f"run-{number}", sizes.steps) for number in numbers))
            )

        yield once


@asynccontextmanager
async def growth(sizes: Sizes) -> AsyncGenerator[Once]:
    async with opened(sizes.folder / "checkpoints.db", sizes.synchronous) as saver:
        graph = noting_builder().compile(checkpointer=saver)
        begun = 0

        async def once() -> int:
            nonlocal begun
            begun += 1
            run = f"run-{begun}"
            state = await graph.ainvoke(
                {"number": 0, "steps": sizes.steps, "notes": []}, config_of(run, sizes.steps), durability="sync"
            )
            note_bytes_per_step(sizes, [row[0] for row in await saver.conn.execute_fetchall(STORED, (run,))])
            await saver.adelete_thread(run)  # some hundred megabytes each
            return len(state["notes"])

        yield once


async def die(folder: Path, steps: int) -> None:
    async with opened(folder / "checkpoints.db") as saver:
        graph = noting_builder().compile(checkpointer=saver)
        await graph.ainvoke({"number": 0, "steps": steps, "notes": []}, config_of(RUN, steps), durability="sync")


async def wake(folder: Path) -> int:
    async with opened(folder / "checkpoints.db") as saver:
        graph = noting_builder().compile(checkpointer=saver)
        state = await graph.ainvoke(None, config_of(RUN, NO_LIMIT), durability="sync")
        return len(state["notes"])


CONTESTANT: Final = Contestant(
    "langgraph-sqlite",
    {
        "durable": durable,
        "durable-full": durable,
        "durable-many": durable_many,
        "runs-durable": durable_many,
        "growth": growth,
        "resume": resuming(__name__),
    },
)
