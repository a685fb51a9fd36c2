"""A worker and a store that is away, a process that ends, code that changed (E7.3, E7.5, E7.6, ENG-09)."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from pathlib import Path

import pytest

from planwerk.access.actors import UserActor
from planwerk.app import Planwerk
from planwerk.runtime.worker import Worker
from planwerk.testing import ScriptedModel
from planwerk.workflow import entries as journal
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import StartEvent, StopEvent
from planwerk.workflow.ids import EventId, RunId, new_id
from planwerk.workflow.steps import step

ANNA = UserActor(id=new_id(), name="Anna")


class WorkerStart(StartEvent):
    number: int = 0


class WorkerStop(StopEvent):
    number: int


class Quick(Agent):
    """Ends at once."""

    @step()
    async def work(self, start: WorkerStart) -> WorkerStop:
        return WorkerStop(number=start.number)


class WaitingFor(Agent):
    """Never ends by itself."""

    @step()
    async def work(self, start: WorkerStart) -> WorkerStop:
        await asyncio.Event().wait()
        return WorkerStop(number=0)


def served(folder: Path | None) -> Planwerk:
    storage = folder / "data.db" if folder is not None else None
    return Planwerk([Quick, WaitingFor], storage=storage, model=ScriptedModel([]))


async def test_eng_09_a_run_that_could_not_be_loaded_is_loaded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    first = served(tmp_path)
    await first.start(work=False)
    runs = [await first.host.start("quick", WorkerStart(number=number), actor=ANNA) for number in range(5)]
    await first.stop()

    async with asyncio.timeout(20):
        second = served(tmp_path)
        await second.start(work=False)
        read, failures = second.stores.journal.read, [sqlite3.OperationalError("disk I/O error")] * 2
        over = asyncio.Event()

        async def hiccup(run: RunId, after: int = 0) -> list[journal.Entry]:
            if run == runs[2] and failures:
                error = failures.pop()
                if not failures:
                    over.set()
                raise error
            return await read(run, after)

        monkeypatch.setattr(second.stores.journal, "read", hiccup)
        working = asyncio.create_task(second.worker.run())
        with caplog.at_level(logging.ERROR):
            await over.wait()
            for number, run in enumerate(runs):
                async for _, entry in second.host.follow(run):
                    if isinstance(entry, journal.RunEnded):
                        assert entry.status == "completed", number
        working.cancel()
        await second.worker.shutdown(seconds=1)
        await second.stop()

    assert failures == []
    assert str(runs[2]) in caplog.text


async def test_a_run_of_a_blueprint_that_is_gone_ends_with_an_error(tmp_path: Path) -> None:
    async with served(tmp_path) as first:
        run = await first.host.start("waiting-for", WorkerStart(), actor=ANNA)
        await asyncio.sleep(0.05)
        await first.stop(seconds=0.01)

    async with Planwerk([Quick], storage=tmp_path / "data.db", model=ScriptedModel([])) as second, asyncio.timeout(20):
        found = [entry async for _, entry in second.host.follow(run)]

    ended = found[-1]
    assert isinstance(ended, journal.RunEnded)
    assert ended.error is not None
    assert ended.error.code == "blueprint_not_found"
    due = {entry.execution for entry in found if isinstance(entry, journal.ExecutionDue)}
    assert due == {entry.execution for entry in found if isinstance(entry, journal.ExecutionFailed)}


async def test_a_journal_that_does_not_fit_the_code_ends_with_an_error_that_names_it() -> None:
    async with served(None) as app, asyncio.timeout(20):
        run = RunId(new_id())
        opened = journal.RunOpened(run, 1, "Quick", "", {}, ANNA.model_dump(mode="json"), "default")
        start = journal.EventPublished(WorkerStart(), EventId(new_id()), 1)
        gone = journal.ExecutionDue("x", "step_of_yesterday", 0, ((2,),), 1)  # pyright: ignore[reportArgumentType] - an id
        await app.stores.journal.append(run, [opened, start, gone], expected_version=0, fence=0)
        await app.stores.queue.enqueue(run)

        found = [entry async for _, entry in app.host.follow(run)]

    ended = found[-1]
    assert isinstance(ended, journal.RunEnded)
    assert ended.error is not None
    assert "step_of_yesterday" in ended.error.message


async def test_a_stop_of_a_run_that_nobody_drives_yet_is_kept_for_its_owner(tmp_path: Path) -> None:
    first = served(tmp_path)
    await first.start(work=False)
    run = await first.host.start("waiting-for", WorkerStart(), actor=ANNA)
    await first.host.stop(run, actor=ANNA)
    await first.stop()

    async with served(tmp_path) as second, asyncio.timeout(20):
        found = [entry async for _, entry in second.host.follow(run)]

    ended = found[-1]
    assert isinstance(ended, journal.RunEnded)
    assert ended.status == "stopped"


async def test_a_start_that_is_repeated_is_one_run_and_surely_in_the_queue() -> None:
    app = served(None)
    await app.start(work=False)
    run = RunId(new_id())
    await app.host.start("quick", WorkerStart(number=1), actor=ANNA, run_id=run)
    lease = await app.stores.queue.take("x", now_microseconds=0, lease_microseconds=1)
    assert lease is not None
    await app.stores.queue.release(lease, finished=True)  # as if the process had died before it was enqueued

    again = await app.host.start("quick", WorkerStart(number=2), actor=ANNA, run_id=run)

    assert again == run
    assert len(await app.stores.journal.read(run)) == 2
    assert await app.stores.queue.take("y", now_microseconds=5, lease_microseconds=1) is not None
    await app.stop()


async def test_no_task_is_left_when_an_installation_stops_in_the_middle_of_runs(tmp_path: Path) -> None:
    before = asyncio.all_tasks()
    app = served(tmp_path)
    await app.start()
    for number in range(3):
        await app.host.start("waiting-for", WorkerStart(number=number), actor=ANNA)
    await asyncio.sleep(0.05)
    assert app.worker.driven == 3

    started = asyncio.get_running_loop().time()
    await app.stop(seconds=0.05)

    assert asyncio.get_running_loop().time() - started < 3
    assert app.worker.driven == 0
    assert asyncio.all_tasks() - before == set()


async def test_a_worker_drives_no_more_runs_at_once_than_it_may() -> None:
    app = served(None)
    await app.start(work=False)
    stores = app.stores
    worker = Worker(
        store=stores.journal,
        queue=stores.queue,
        contexts=stores.contexts,
        live=app.live,
        blueprints=app.blueprints,
        programs=app.programs,
        clock=app.clock,
        name="small:1:1",
        max_runs=2,
    )
    runs = [await app.host.start("waiting-for", WorkerStart(number=number), actor=ANNA) for number in range(3)]
    working = asyncio.create_task(worker.run())
    await asyncio.sleep(0.05)
    assert worker.driven == 2

    await worker.request_stop(runs[0], "Anna")
    async with asyncio.timeout(20):
        async for _, entry in stores.journal.follow(runs[2]):
            if isinstance(entry, journal.OwnershipTaken):
                break

    assert worker.driven == 2
    working.cancel()
    await worker.shutdown(seconds=0)
    await app.stop()
