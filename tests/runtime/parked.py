"""A process that serves runs waiting for a person, and one that makes them.

python -m tests.runtime.parked make FILE RUNS    start so many runs, and let each leave memory
python -m tests.runtime.parked serve FILE        serve them, answer one, and print what that took as JSON
"""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from bench.parking import resident_kib

from planwerk.access.actors import UserActor
from planwerk.app import DEFAULT_TENANT, Planwerk
from planwerk.runtime.ports import RunFilter
from planwerk.storage.sqlite.database import SqliteDatabase
from planwerk.testing import ScriptedModel
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.entries import EventPublished
from planwerk.workflow.events import StartEvent, StopEvent
from planwerk.workflow.ids import EventId, RunId
from planwerk.workflow.people import HumanInTheLoop
from planwerk.workflow.steps import step

ANNA: Final = UserActor(id="01a23123-37b3-7000-8163-9fef0541eafc", name="Anna")
AT_ONCE: Final = 200
STEPS_COUNTED: Final = 10
POLL_SECONDS: Final = 0.05
WAITING_OUTSIDE_MEMORY: Final = """
    SELECT count(*) FROM run_records JOIN run_queue USING (run) WHERE status = 'waiting' AND lease_until = 0
"""


class ParkedStart(StartEvent):
    number: int


class ParkedStop(StopEvent):
    said: str


class ParkedAsk(HumanInTheLoop.Input):
    """What each asks."""


class ParkedAgent(Agent):
    """Asks, and waits as long as it takes."""

    @step()
    async def ask(self, start: ParkedStart) -> ParkedAsk:
        return ParkedAsk(question=f"What about number {start.number}?")

    @step()
    async def end(self, answer: ParkedAsk.Answered) -> ParkedStop:
        return ParkedStop(said=answer.text)


def installation(file: Path) -> Planwerk:
    planwerk = Planwerk([ParkedAgent], storage=file, model=ScriptedModel([]))
    planwerk.park_seconds = 0.05
    planwerk.max_runs = AT_ONCE
    return planwerk


async def make(file: Path, runs: int) -> None:
    async with installation(file) as planwerk:
        for first in range(0, runs, AT_ONCE):
            numbers = range(first, min(first + AT_ONCE, runs))
            starts = (planwerk.host.start("parked-agent", ParkedStart(number=n), actor=ANNA) for n in numbers)
            await asyncio.gather(*starts)
        connection = sqlite3.connect(file)
        while connection.execute(WAITING_OUTSIDE_MEMORY).fetchone() != (runs,):  # noqa: ASYNC110 - nothing tells it
            await asyncio.sleep(POLL_SECONDS)
        connection.close()


async def serve(file: Path) -> dict[str, Any]:
    """Serve the runs, and answer one of them at random."""
    async with installation(file) as planwerk:
        await planwerk.projector.catch_up()
        await planwerk.starter.catch_up()
        found: dict[str, Any] = {"resident_kib": resident_kib()}
        waiting = await planwerk.host.newest(DEFAULT_TENANT, RunFilter(statuses=frozenset({"waiting"})), limit=1)
        if waiting:
            await answer_one(planwerk, file, 0)  # whatever was left of the start is done once this run has ended
            with counting_steps(planwerk) as steps:
                ended = await answer_one(planwerk, file, 1)
            found |= {"ended": ended, "steps": sum(steps)}
    return found


async def answer_one(planwerk: Planwerk, file: Path, seed: int) -> list[str]:
    """Answer one of the runs; what it ends with."""
    connection = sqlite3.connect(file)
    (rows,) = connection.execute("SELECT count(*) FROM run_requests").fetchone()
    place = random.Random(seed).randrange(rows)
    identity, run = connection.execute(f"SELECT id, run FROM run_requests LIMIT 1 OFFSET {place}").fetchone()
    connection.close()
    await planwerk.host.answer(EventId(identity), "It is fine.", actor=ANNA)
    events = [entry.event async for _, entry in planwerk.host.follow(RunId(run)) if isinstance(entry, EventPublished)]
    await planwerk.projector.catch_up()
    return [event.said for event in events if isinstance(event, ParkedStop)]


@contextmanager
def counting_steps(planwerk: Planwerk) -> Generator[list[int]]:
    """Count the steps of SQLite's machine, on every connection, in tens."""
    steps: list[int] = []

    def count() -> int:
        steps.append(STEPS_COUNTED)
        return 0

    assert isinstance(planwerk.stores.database, SqliteDatabase)
    connections = [c for c in vars(planwerk.stores.database).values() if isinstance(c, sqlite3.Connection)]
    for connection in connections:
        connection.set_progress_handler(count, STEPS_COUNTED)
    yield steps
    for connection in connections:
        connection.set_progress_handler(None, 0)


if __name__ == "__main__":
    what, path, *rest = sys.argv[1:]
    if what == "make":
        asyncio.run(make(Path(path), int(rest[0])))
    else:
        sys.stdout.write(json.dumps(asyncio.run(serve(Path(path)))))
