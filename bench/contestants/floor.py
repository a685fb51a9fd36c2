"""The hand-written minimum: Pydantic events, a table from class to handler, one asyncio task per step.

Durable: the journal is a row per step, committed at once on the loop's own thread (WAL, NORMAL).
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from bench.scenario import Contestant, Once, Sizes


class FloorEvent(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Begin(FloorEvent):
    steps: int


class Tick(FloorEvent):
    number: int
    steps: int


class Work(FloorEvent):
    number: int


class Result(FloorEvent):
    value: int


class Gathered(FloorEvent):
    results: list[Result]


class Done(FloorEvent):
    value: int


async def begin(event: Begin) -> FloorEvent:
    return Tick(number=1, steps=event.steps)


async def tick(event: Tick) -> FloorEvent:
    if event.number + 1 >= event.steps:
        return Done(value=event.number + 1)
    return Tick(number=event.number + 1, steps=event.steps)


async def work(event: Work) -> FloorEvent:
    return Result(value=2 * event.number)


async def gathered(event: Gathered) -> FloorEvent:
    return Done(value=sum(result.value for result in event.results))


Handler = Callable[[Any], Coroutine[None, None, FloorEvent]]

HANDLERS: Mapping[type[FloorEvent], Handler] = {Begin: begin, Tick: tick, Work: work, Gathered: gathered}


async def drive(event: FloorEvent) -> int:
    """Hand each event to its handler in a task of its own until one is done."""
    while not isinstance(event, Done):
        event = await asyncio.create_task(HANDLERS[type(event)](event))
    return event.value


async def drive_fan_out(width: int) -> int:
    """Start a task per event and hand all results to the join."""
    events = [Work(number=number) for number in range(width)]
    tasks = [asyncio.create_task(HANDLERS[type(event)](event)) for event in events]
    results = [result for result in await asyncio.gather(*tasks) if isinstance(result, Result)]
    return await drive(Gathered(results=results))


@asynccontextmanager
async def chain(sizes: Sizes) -> AsyncGenerator[Once]:
    async def once() -> int:
        return await drive(Begin(steps=sizes.steps))

    yield once


@asynccontextmanager
async def fanout(sizes: Sizes) -> AsyncGenerator[Once]:
    async def once() -> int:
        return await drive_fan_out(sizes.width)

    yield once


@asynccontextmanager
async def runs(sizes: Sizes) -> AsyncGenerator[Once]:
    async def once() -> int:
        return sum(await asyncio.gather(*(drive(Begin(steps=sizes.steps)) for _ in range(sizes.runs))))

    yield once


def open_journal(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute(
        "CREATE TABLE journal (run INTEGER, position INTEGER, type TEXT, event BLOB, PRIMARY KEY (run, position)) "
        "WITHOUT ROWID"
    )
    return connection


@asynccontextmanager
async def durable(sizes: Sizes) -> AsyncGenerator[Once]:
    connection = open_journal(sizes.folder / "journal.db")
    run = 0

    async def once() -> int:
        nonlocal run
        run += 1
        event: FloorEvent = Begin(steps=sizes.steps)
        position = 0
        while not isinstance(event, Done):
            event = await asyncio.create_task(HANDLERS[type(event)](event))
            position += 1
            connection.execute(
                "INSERT INTO journal VALUES (?, ?, ?, ?)",
                (run, position, type(event).__name__, event.__pydantic_serializer__.to_json(event)),
            )
        (rows,) = connection.execute("SELECT count(*) FROM journal WHERE run = ?", (run,)).fetchone()
        return min(event.value, rows)

    try:
        yield once
    finally:
        connection.close()


CONTESTANT: Final = Contestant("floor", {"chain": chain, "fanout": fanout, "runs": runs, "durable": durable})
