"""dbos on SQLite, in a faster form than its default: WAL, and synchronous as the workload says instead of FULL."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

from dbos import DBOS, SetWorkflowID
from sqlalchemy import create_engine, event

from bench import moments
from bench.resuming import resuming
from bench.scenario import Contestant, Once, Sizes

RUN: Final = "run-1"


@DBOS.step()
async def tick(number: int) -> int:
    return number + 1


@DBOS.workflow()
async def ticks(steps: int) -> int:
    number = 0
    while number < steps:
        number = await tick(number)
    return number


@DBOS.step()
async def note(number: int) -> str:
    moments.step(number)
    return f"note {number}"


@DBOS.workflow()
async def noting(steps: int) -> int:
    notes = [await note(number) for number in range(1, steps + 1)]
    return len(notes)


@contextmanager
def launched(path: Path, synchronous: str = "NORMAL") -> Generator[None]:
    """Dbos working on a file; workflows found in it go on at once."""
    engine = create_engine(f"sqlite:///{path}")

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, record: Any) -> None:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={synchronous}")
        # The rest as dbos does it on an engine of its own.
        connection.execute("PRAGMA busy_timeout=30000")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.isolation_level = "IMMEDIATE"

    DBOS(config={"name": "bench", "system_database_engine": engine, "log_level": "ERROR"})
    DBOS.launch()
    try:
        yield
    finally:
        DBOS.destroy()
        engine.dispose()
        logging.getLogger("dbos").handlers.clear()  # they write to what was the standard error when dbos began


@asynccontextmanager
async def durable(sizes: Sizes) -> AsyncGenerator[Once]:
    with launched(sizes.folder / "system.db", sizes.synchronous):

        async def once() -> int:
            return await ticks(sizes.steps)

        yield once


@asynccontextmanager
async def durable_many(sizes: Sizes) -> AsyncGenerator[Once]:
    with launched(sizes.folder / "system.db", sizes.synchronous):

        async def once() -> int:
            return sum(await asyncio.gather(*(ticks(sizes.steps) for _ in range(sizes.runs))))

        yield once


async def die(folder: Path, steps: int) -> None:
    with launched(folder / "system.db"), SetWorkflowID(RUN):
        await noting(steps)


async def wake(folder: Path) -> int:
    with launched(folder / "system.db"):
        handle: Any = await DBOS.retrieve_workflow_async(RUN)
        return await handle.get_result()


CONTESTANT: Final = Contestant(
    "dbos",
    {
        "durable": durable,
        "durable-full": durable,
        "durable-many": durable_many,
        "runs-durable": durable_many,
        "resume": resuming(__name__),
    },
)
