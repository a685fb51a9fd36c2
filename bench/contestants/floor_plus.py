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

from bench.contestants.floor import HANDLERS, Begin, Done, FloorEvent, Gathered, Result, Work, open_journal
from bench.scenario import Contestant, Once, Sizes

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
async def durable(sizes: Sizes) -> AsyncGenerator[Once]:
    connection = open_journal(sizes.folder / "journal.db")
    loop = asyncio.get_running_loop()
    waiting: list[tuple[Envelope, asyncio.Future[None]]] = []
    run = 0

    def flush() -> None:
        batch = list(waiting)
        waiting.clear()
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(
            "INSERT INTO journal VALUES (?, ?, ?, ?)",
            [(one.run, one.position, type(one.event).__name__, one.text) for one, _ in batch],
        )
        connection.execute("COMMIT")
        for _, committed in batch:
            committed.set_result(None)

    def commit(envelope: Envelope) -> asyncio.Future[None]:
        if not waiting:
            loop.call_soon(flush)
        committed: asyncio.Future[None] = loop.create_future()
        waiting.append((envelope, committed))
        return committed

    async def once() -> int:
        nonlocal run
        run += 1
        value = await Run(run, commit).drive(Begin(steps=sizes.steps))
        (rows,) = connection.execute("SELECT count(*) FROM journal WHERE run = ?", (run,)).fetchone()
        return min(value, rows)

    try:
        yield once
    finally:
        connection.close()


CONTESTANT: Final = Contestant("floor-plus", {"chain": chain, "fanout": fanout, "runs": runs, "durable": durable})
