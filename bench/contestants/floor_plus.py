"""The floor, with what a real engine does per step: envelope, context, timer, limit, JSON, and one stream.

Durable: what is journaled in one iteration of the loop shares one commit, as soon as the loop comes round.
"""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from bench.contestants.floor import (
    HANDLERS,
    Begin,
    Done,
    FloorEvent,
    Gathered,
    Note,
    Result,
    Work,
    note_of,
    open_journal,
    rows_of,
)
from bench.scenario import Contestant, Once, Sizes
from bench.stored import note_bytes_per_step

CURRENT_STEP: Final[contextvars.ContextVar[str]] = contextvars.ContextVar("current_step")
STEP_TIMEOUT_SECONDS: Final = 60
MAX_STEPS: Final = 1_000_000
STREAM_LENGTH: Final = 256


@dataclass(slots=True)
class Envelope:
    run: int
    position: int
    cause: int
    time: float
    event: FloorEvent
    text: bytes


class Run:
    """One run's envelopes, numbered from 1, and the watchers' stream of them."""

    def __init__(self, run: int, commit: Callable[[Envelope], asyncio.Future[None]] | None = None) -> None:
        self.run = run
        self.position = 0
        self.steps = 0
        self.stream: deque[Envelope] = deque(maxlen=STREAM_LENGTH)
        self._commit = commit

    async def drive(self, event: FloorEvent) -> int:
        cause = 0
        while not isinstance(event, Done):
            envelope = await self.step(event, cause)
            event, cause = envelope.event, envelope.position
        return event.value

    async def drive_fan_out(self, width: int) -> int:
        envelopes = await asyncio.gather(*(self.step(Work(number=number), 0) for number in range(width)))
        results = [envelope.event for envelope in envelopes if isinstance(envelope.event, Result)]
        return await self.drive(Gathered(results=results))

    async def step(self, event: FloorEvent, cause: int) -> Envelope:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise RuntimeError(f"run {self.run} took more than {MAX_STEPS} steps")
        context = contextvars.copy_context()
        context.run(CURRENT_STEP.set, type(event).__name__)
        outcome = await asyncio.create_task(self._call(event), context=context)
        return await self._publish(outcome, cause)

    async def _call(self, event: FloorEvent) -> FloorEvent:
        async with asyncio.timeout(STEP_TIMEOUT_SECONDS):
            return await HANDLERS[type(event)](event)

    async def _publish(self, event: FloorEvent, cause: int) -> Envelope:
        self.position += 1
        text = event.__pydantic_serializer__.to_json(event)
        envelope = Envelope(self.run, self.position, cause, time.time(), event, text)
        if self._commit is not None:
            await self._commit(envelope)
        self.stream.append(envelope)
        return envelope


@asynccontextmanager
async def chain(sizes: Sizes) -> AsyncGenerator[Once]:
    async def once() -> int:
        return await Run(1).drive(Begin(steps=sizes.steps))

    yield once


@asynccontextmanager
async def fanout(sizes: Sizes) -> AsyncGenerator[Once]:
    async def once() -> int:
        return await Run(1).drive_fan_out(sizes.width)

    yield once


@asynccontextmanager
async def runs(sizes: Sizes) -> AsyncGenerator[Once]:
    async def once() -> int:
        done = await asyncio.gather(*(Run(run).drive(Begin(steps=sizes.steps)) for run in range(sizes.runs)))
        return sum(done)

    yield once


@asynccontextmanager
async def growth_memory(sizes: Sizes) -> AsyncGenerator[Once]:
    async def once() -> int:
        return await noting(Run(1), sizes.steps)

    yield once


async def noting(run: Run, steps: int) -> int:
    """Drive a run whose steps leave notes; how many there are."""
    notes: list[Note] = []
    event: FloorEvent = note_of(1, steps)
    while isinstance(event, Note):
        notes.append(event)
        event = (await run.step(event, len(notes))).event
    return len(notes)


class Journal:
    """Envelopes of any run on a file: those of one iteration of the loop share a commit."""

    def __init__(self, sizes: Sizes) -> None:
        self.connection = open_journal(sizes.folder / "journal.db", sizes.synchronous)
        self.commits = 0
        self._loop = asyncio.get_running_loop()
        self._waiting: list[tuple[Envelope, asyncio.Future[None]]] = []

    def commit(self, envelope: Envelope) -> asyncio.Future[None]:
        """Done when the envelope is committed."""
        if not self._waiting:
            self._loop.call_soon(self._flush)
        committed: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append((envelope, committed))
        return committed

    def _flush(self) -> None:
        batch, self._waiting = self._waiting, []
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.executemany(
            "INSERT INTO journal VALUES (?, ?, ?, ?)",
            [(one.run, one.position, type(one.event).__name__, one.text) for one, _ in batch],
        )
        self.connection.execute("COMMIT")
        self.commits += 1
        for _, committed in batch:
            committed.set_result(None)


@asynccontextmanager
async def durable(sizes: Sizes) -> AsyncGenerator[Once]:
    journal = Journal(sizes)
    run = 0

    async def once() -> int:
        nonlocal run
        run += 1
        value = await Run(run, journal.commit).drive(Begin(steps=sizes.steps))
        return min(value, rows_of(journal.connection, run))

    try:
        yield once
    finally:
        journal.connection.close()


@asynccontextmanager
async def durable_many(sizes: Sizes) -> AsyncGenerator[Once]:
    journal = Journal(sizes)
    begun = 0

    async def once() -> int:
        nonlocal begun
        numbers = range(begun, begun + sizes.runs)
        begun += sizes.runs
        before = journal.commits
        await asyncio.gather(*(Run(run, journal.commit).drive(Begin(steps=sizes.steps)) for run in numbers))
        sizes.note("commits per step", (journal.commits - before) / sizes.runs / sizes.steps)
        return sum(rows_of(journal.connection, run) for run in numbers)

    try:
        yield once
    finally:
        journal.connection.close()


@asynccontextmanager
async def growth(sizes: Sizes) -> AsyncGenerator[Once]:
    journal = Journal(sizes)
    runs = 0

    async def once() -> int:
        nonlocal runs
        runs += 1
        notes = await noting(Run(runs, journal.commit), sizes.steps)
        statement = "SELECT length(event) FROM journal WHERE run = ? ORDER BY position"
        note_bytes_per_step(sizes, [length for (length,) in journal.connection.execute(statement, (runs,))])
        return min(notes, rows_of(journal.connection, runs))

    try:
        yield once
    finally:
        journal.connection.close()


CONTESTANT: Final = Contestant(
    "floor-plus",
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
    },
)
