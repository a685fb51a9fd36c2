"""Our runs that wait for a person, in memory, and are answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

from bench.contestants.planwerk_blueprints import BenchAsked, BenchAskStartEvent, BenchYesEvent, value_of
from bench.parking import Answer
from planwerk.runtime.driver import RunDriver
from planwerk.runtime.local import LocalRuntime
from planwerk.storage.in_memory.journal import InMemoryJournal
from planwerk.workflow.entries import EventPublished


@asynccontextmanager
async def waiting(folder: Path, runs: int) -> AsyncGenerator[Answer]:
    runtime = LocalRuntime(InMemoryJournal())
    start = BenchAskStartEvent()
    drivers = [await runtime.start(BenchAsked, start) for _ in range(runs)]
    requests = [await _request_of(runtime, driver) for driver in drivers]

    async def answer(number: int) -> int:
        driver = drivers[number]
        await driver.answer(requests[number], BenchYesEvent(number=number))
        await driver.wait_ended()
        stop = driver.schedule.stop
        assert stop is not None
        return value_of(stop)

    try:
        yield answer
    finally:
        await asyncio.gather(*(driver.release() for driver in drivers))


async def _request_of(runtime: LocalRuntime, driver: RunDriver) -> int:
    """Position of the run's question, once it has asked it."""
    async with aclosing(runtime.journal.follow(driver.run)) as entries:
        async for position, entry in entries:
            if isinstance(entry, EventPublished) and entry.event.answered_by:
                return position
    raise RuntimeError(f"run {driver.run} has ended without a question")
