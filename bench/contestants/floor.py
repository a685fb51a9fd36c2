"""The hand-written minimum: Pydantic events, a table from class to handler, one asyncio task per step.

Durable: the journal is a row per step, committed at once on the loop's own thread (WAL).
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from bench import moments
from bench.parking import Answer, parking
from bench.resuming import resuming
from bench.scenario import Contestant, Once, Sizes
from bench.stored import note_bytes_per_step


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


class Note(FloorEvent):
    number: int
    steps: int
    text: str


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


async def note(event: Note) -> FloorEvent:
    moments.step(event.number)
    return Done(value=event.number) if event.number == event.steps else note_of(event.number + 1, event.steps)


def note_of(number: int, steps: int) -> Note:
    return Note(number=number, steps=steps, text=f"note {number}")


Handler = Callable[[Any], Coroutine[None, None, FloorEvent]]

HANDLERS: Mapping[type[FloorEvent], Handler] = {Begin: begin, Tick: tick, Work: work, Gathered: gathered, Note: note}
EVENTS: Mapping[str, type[FloorEvent]] = {cls.__name__: cls for cls in (Begin, Tick, Note, Done)}


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


@asynccontextmanager
async def growth_memory(sizes: Sizes) -> AsyncGenerator[Once]:
    async def once() -> int:
        journal: list[FloorEvent] = []
        event: FloorEvent = note_of(1, sizes.steps)
        while not isinstance(event, Done):
            journal.append(event)
            event = await asyncio.create_task(HANDLERS[type(event)](event))
        return len(journal)

    yield once


def open_journal(path: Path, synchronous: str = "NORMAL") -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"PRAGMA synchronous={synchronous}")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS journal (run INTEGER, position INTEGER, type TEXT, event BLOB, "
        "PRIMARY KEY (run, position)) WITHOUT ROWID"
    )
    return connection


class DurableRun:
    """A run on a journal: an event is committed before it is handled."""

    def __init__(self, connection: sqlite3.Connection, run: int) -> None:
        self._connection = connection
        self._run = run
        self._position = 0

    async def drive(self, event: FloorEvent) -> int:
        while not isinstance(event, Done):
            event = await asyncio.create_task(HANDLERS[type(event)](event))
            self.write(event)
        return event.value

    def write(self, event: FloorEvent) -> None:
        self._position += 1
        self._connection.execute(
            "INSERT INTO journal VALUES (?, ?, ?, ?)",
            (self._run, self._position, type(event).__name__, event.__pydantic_serializer__.to_json(event)),
        )

    def fold(self) -> list[FloorEvent]:
        """Every event of the run, read back; the next is written behind them."""
        rows = self._connection.execute(
            "SELECT type, event FROM journal WHERE run = ? ORDER BY position", (self._run,)
        ).fetchall()
        events = [EVENTS[name].__pydantic_validator__.validate_json(text) for name, text in rows]
        self._position = len(events)
        return events


def rows_of(connection: sqlite3.Connection, run: int) -> int:
    (rows,) = connection.execute("SELECT count(*) FROM journal WHERE run = ?", (run,)).fetchone()
    return rows


@asynccontextmanager
async def durable(sizes: Sizes) -> AsyncGenerator[Once]:
    connection = open_journal(sizes.folder / "journal.db", sizes.synchronous)
    run = 0

    async def once() -> int:
        nonlocal run
        run += 1
        value = await DurableRun(connection, run).drive(Begin(steps=sizes.steps))
        return min(value, rows_of(connection, run))

    try:
        yield once
    finally:
        connection.close()


@asynccontextmanager
async def durable_many(sizes: Sizes) -> AsyncGenerator[Once]:
    connection = open_journal(sizes.folder / "journal.db", sizes.synchronous)
    begun = 0

    async def once() -> int:
        nonlocal begun
        numbers = range(begun, begun + sizes.runs)
        begun += sizes.runs
        await asyncio.gather(*(DurableRun(connection, run).drive(Begin(steps=sizes.steps)) for run in numbers))
        return sum(rows_of(connection, run) for run in numbers)

    try:
        yield once
    finally:
        connection.close()


@asynccontextmanager
async def growth(sizes: Sizes) -> AsyncGenerator[Once]:
    connection = open_journal(sizes.folder / "journal.db", sizes.synchronous)
    runs = 0

    async def once() -> int:
        nonlocal runs
        runs += 1
        run = DurableRun(connection, runs)
        first = note_of(1, sizes.steps)
        run.write(first)
        await run.drive(first)
        lengths = connection.execute("SELECT length(event) FROM journal WHERE run = ? ORDER BY position", (runs,))
        note_bytes_per_step(sizes, [length for (length,) in lengths])
        return sum(isinstance(event, Note) for event in run.fold())

    try:
        yield once
    finally:
        connection.close()


async def die(folder: Path, steps: int) -> None:
    run = DurableRun(open_journal(folder / "journal.db"), 1)
    first = note_of(1, steps)
    run.write(first)
    await run.drive(first)


async def wake(folder: Path) -> int:
    run = DurableRun(open_journal(folder / "journal.db"), 1)
    events = run.fold()
    await run.drive(events[-1])
    return sum(isinstance(event, Note) for event in run.fold())


async def wait_for_answer(question: asyncio.Future[Done], journal: list[FloorEvent]) -> int:
    """A run that has asked: a task on a future, and what it has journaled."""
    journal.append(Begin(steps=1))
    journal.append(note_of(1, 1))
    done = await question
    journal.append(done)
    return done.value


@asynccontextmanager
async def waiting(folder: Path, runs: int) -> AsyncGenerator[Answer]:
    loop = asyncio.get_running_loop()
    questions: list[asyncio.Future[Done]] = [loop.create_future() for _ in range(runs)]
    journals: list[list[FloorEvent]] = [[] for _ in range(runs)]
    tasks = [
        asyncio.create_task(wait_for_answer(question, journal))
        for question, journal in zip(questions, journals, strict=True)
    ]
    await asyncio.sleep(0)

    async def answer(number: int) -> int:
        questions[number].set_result(Done(value=number))
        return await tasks[number]

    try:
        yield answer
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


CONTESTANT: Final = Contestant(
    "floor",
    {
        "chain": chain,
        "fanout": fanout,
        "fanout-wide": fanout,
        "runs": runs,
        "runs-durable": runs,
        "durable": durable,
        "durable-full": durable,
        "durable-many": durable_many,
        "growth": growth,
        "growth-memory": growth_memory,
        "parked": parking(__name__),
        "resume": resuming(__name__),
    },
)
