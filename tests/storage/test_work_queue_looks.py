"""What a worker asks of the queue costs the same, however many runs wait in it: steps of SQLite's machine, counted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from planwerk.runtime.ports import NEVER
from planwerk.storage.migrate import upgrade
from planwerk.storage.sqlite.database import SqliteDatabase
from planwerk.storage.sqlite.work_queue import SqliteWorkQueue
from planwerk.workflow.ids import RunId

FEW, MANY = 20, 1_500
SPARE_STEPS = 60
"""A deeper tree is a few steps more."""

Look = Callable[[SqliteWorkQueue], Awaitable[object]]


async def take(queue: SqliteWorkQueue) -> None:
    taken = await queue.take("b", now_microseconds=1, lease_microseconds=10)
    assert taken is not None


async def take_another(queue: SqliteWorkQueue) -> None:
    assert await queue.take("b", now_microseconds=1, lease_microseconds=10, leaving=[RunId("waits-0")]) is not None


async def take_one_that_has_lapsed(queue: SqliteWorkQueue) -> None:
    taken = await queue.take("b", now_microseconds=NEVER - 1, lease_microseconds=10)
    assert taken is not None
    assert taken.run == "held"


async def wake(queue: SqliteWorkQueue) -> None:
    await queue.wake(RunId("parked-7"))


async def call(queue: SqliteWorkQueue) -> None:
    await queue.wake(RunId("held"))
    assert await queue.called("a") == ["held"]


async def next_time(queue: SqliteWorkQueue) -> None:
    assert await queue.next_time(5) is None


async def owners(queue: SqliteWorkQueue) -> None:
    assert await queue.owners() == ["a"]


async def drop(queue: SqliteWorkQueue) -> None:
    await queue.drop_leases("a")


async def steps_of(look: Look, folder: Path, runs: int) -> int:
    """Steps of the machine that it takes with so many runs parked, so many waiting for a worker, and one held."""
    upgrade(folder / "planwerk.db")
    database = SqliteDatabase(folder / "planwerk.db")
    queue = SqliteWorkQueue(database)
    await queue.enqueue(RunId("held"))
    await queue.take("a", now_microseconds=1, lease_microseconds=10)
    for number in range(runs):
        await queue.enqueue(RunId(f"parked-{number}"), not_before_microseconds=NEVER)
        await queue.enqueue(RunId(f"waits-{number}"))
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    connections = [found for found in vars(database).values() if hasattr(found, "set_progress_handler")]
    assert len(connections) == 2
    for connection in connections:
        connection.set_progress_handler(count, 1)
    await look(queue)
    await database.close()
    return steps


@pytest.mark.parametrize("look", [take, take_another, take_one_that_has_lapsed, wake, call, next_time, owners, drop])
async def test_it_takes_as_many_steps_with_many_runs_as_with_few(look: Look, tmp_path: Path) -> None:
    few, many = tmp_path / "few", tmp_path / "many"
    few.mkdir()
    many.mkdir()

    assert 0 < await steps_of(look, many, MANY) <= await steps_of(look, few, FEW) + SPARE_STEPS
