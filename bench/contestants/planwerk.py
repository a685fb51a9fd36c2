"""Ours, through the public API: blueprints of typed steps, run by the runtime in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final, cast

from bench.scenario import OURS, Contestant, Once, Sizes
from planwerk import Agent, ControlEvent, StartEvent, StopEvent, step
from planwerk.runtime.local import LocalRuntime
from planwerk.storage.in_memory.journal import InMemoryJournal
from planwerk.storage.migrate import upgrade
from planwerk.storage.sqlite.database import SqliteDatabase
from planwerk.storage.sqlite.journal import SqliteJournal

SPARE_COMMITS: Final = 2
"""A run's opening and its end; beyond these a step has one commit at most."""


class BenchChainStartEvent(StartEvent):
    steps: int


class BenchTickEvent(ControlEvent):
    number: int
    steps: int


class BenchScatterEvent(StartEvent):
    width: int


class BenchWorkEvent(ControlEvent):
    number: int


class BenchResultEvent(ControlEvent):
    value: int


class BenchStopEvent(StopEvent):
    value: int


class BenchChain(Agent):
    """Counts to the number of its steps, a step each."""

    @step()
    async def begin(self, start: BenchChainStartEvent) -> BenchTickEvent:
        return BenchTickEvent(number=1, steps=start.steps)

    @step()
    async def tick(self, tick: BenchTickEvent) -> BenchTickEvent | BenchStopEvent:
        if tick.number + 1 >= tick.steps:
            return BenchStopEvent(value=tick.number + 1)
        return BenchTickEvent(number=tick.number + 1, steps=tick.steps)


class BenchFanOut(Agent):
    """Doubles many numbers at once and adds them up."""

    @step()
    async def scatter(self, start: BenchScatterEvent) -> list[BenchWorkEvent]:
        return [BenchWorkEvent(number=number) for number in range(start.width)]

    @step()
    async def work(self, work: BenchWorkEvent) -> BenchResultEvent:
        return BenchResultEvent(value=2 * work.number)

    @step()
    async def gather(self, results: list[BenchResultEvent]) -> BenchStopEvent:
        return BenchStopEvent(value=sum(result.value for result in results))


def value_of(stop: StopEvent) -> int:
    return cast("BenchStopEvent", stop).value


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
        start = BenchChainStartEvent(steps=sizes.steps)
        return sum(map(value_of, await asyncio.gather(*(runtime.run(BenchChain, start) for _ in range(sizes.runs)))))

    yield once


@asynccontextmanager
async def durable(sizes: Sizes) -> AsyncGenerator[Once]:
    path = sizes.folder / "planwerk.db"
    upgrade(path)
    database = SqliteDatabase(path)
    runtime = LocalRuntime(SqliteJournal(database))

    async def once() -> int:
        before = database.commits
        value = value_of(await runtime.run(BenchChain, BenchChainStartEvent(steps=sizes.steps)))
        return value if database.commits - before <= sizes.steps + SPARE_COMMITS else 0

    try:
        yield once
    finally:
        await database.close()


CONTESTANT: Final = Contestant(OURS, {"chain": chain, "fanout": fanout, "runs": runs, "durable": durable})
