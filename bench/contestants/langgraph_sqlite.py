"""langgraph on its SQLite checkpointer: WAL, synchronous NORMAL, a checkpoint committed before the next step."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

import aiosqlite
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from bench.contestants.langgraph import SPARE_SUPERSTEPS, chain_builder
from bench.scenario import Contestant, Once, Sizes


@asynccontextmanager
async def durable(sizes: Sizes) -> AsyncGenerator[Once]:
    async with aiosqlite.connect(sizes.folder / "checkpoints.db") as connection:
        saver = AsyncSqliteSaver(connection)
        await saver.setup()  # sets WAL
        await connection.execute("PRAGMA synchronous=NORMAL")
        graph = chain_builder().compile(checkpointer=saver)
        run = 0

        async def once() -> int:
            nonlocal run
            run += 1
            thread = f"run-{run}"
            state = await graph.ainvoke(
                {"number": 0, "steps": sizes.steps},
                {"recursion_limit": sizes.steps + SPARE_SUPERSTEPS, "configurable": {"thread_id": thread}},
                durability="sync",
            )
            rows = await connection.execute_fetchall("SELECT count(*) FROM checkpoints WHERE thread_id = ?", (thread,))
            return min(state["number"], *(row[0] for row in rows))

        yield once


CONTESTANT: Final = Contestant("langgraph-sqlite", {"durable": durable})
