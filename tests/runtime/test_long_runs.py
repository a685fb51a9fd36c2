"""A run of a million events is written, read back and folded as one of ten thousand (E7.1, E7.2, E7.7)."""

from __future__ import annotations

from pathlib import Path
from statistics import mean
from typing import Final

import pytest

from planwerk.runtime.local import LocalRuntime
from planwerk.storage.migrate import upgrade
from planwerk.storage.sqlite.database import SqliteDatabase
from planwerk.storage.sqlite.journal import SqliteJournal
from planwerk.workflow import entries as journal
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.composition import compose
from planwerk.workflow.events import ControlEvent, StartEvent, StopEvent
from planwerk.workflow.ids import RunId
from planwerk.workflow.schedule import RunSchedule
from planwerk.workflow.steps import step

PART: Final = 500
"""Appends that are compared, behind the first ones and before the last."""
SPARE_BYTES: Final = 24
"""Of a step: positions and the count have more digits."""
LENGTHS: Final = "SELECT length(entries) FROM journal_appends WHERE run = ? ORDER BY first_position"


class MileStart(StartEvent):
    steps: int


class MileTick(ControlEvent):
    number: int
    steps: int


class MileStop(StopEvent):
    number: int


class MileWalk(Agent):
    """Goes step by step."""

    @step()
    async def begin(self, start: MileStart) -> MileTick:
        return MileTick(number=1, steps=start.steps)

    @step()
    async def tick(self, tick: MileTick) -> MileTick | MileStop:
        if tick.number == tick.steps:
            return MileStop(number=tick.number)
        return MileTick(number=tick.number + 1, steps=tick.steps)


async def walk(file: Path, steps: int) -> None:
    upgrade(file)
    database = SqliteDatabase(file, durability="process")
    try:
        runtime = LocalRuntime(SqliteJournal(database))
        run = (await runtime.run_to_end(MileWalk, MileStart(steps=steps))).id
        rows = database.read(lambda connection: connection.execute(LENGTHS, (run,)).fetchall())
        found = await runtime.journal.read(RunId(run))
    finally:
        await database.close()

    lengths = [length for (length,) in rows][1:-1]  # the opening and the end are no steps
    assert abs(len(lengths) - steps) <= 1
    assert mean(lengths[-PART:]) <= mean(lengths[:PART]) + SPARE_BYTES
    assert sum(isinstance(entry, journal.ExecutionFinished) for entry in found) == steps + 1
    folded = RunSchedule(compose(MileWalk, MileStart))
    for entry in found:
        folded.apply(entry)
    assert (folded.stop, folded.ended, folded.position) == (MileStop(number=steps), True, len(found))


async def test_a_run_of_ten_thousand_events(tmp_path: Path) -> None:
    await walk(tmp_path / "long.db", 10_000)


@pytest.mark.soak
async def test_a_run_of_a_million_events(tmp_path: Path) -> None:
    await walk(tmp_path / "long.db", 1_000_000)
