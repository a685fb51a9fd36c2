"""Ends at awkward moments: nothing is written twice, after the end, or on an old version (E4.2, E7.1, E7.5)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from planwerk.runtime.errors import RunLost
from planwerk.runtime.local import LocalRuntime
from planwerk.storage.in_memory.journal import InMemoryJournal
from planwerk.storage.migrate import upgrade
from planwerk.storage.sqlite.database import SqliteDatabase
from planwerk.storage.sqlite.journal import SqliteJournal
from planwerk.testing.virtual_clock import virtual_time
from planwerk.workflow import entries as journal
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import ControlEvent, DisplayEvent, StartEvent, StopEvent
from planwerk.workflow.ids import RunId
from planwerk.workflow.people import HumanInTheLoop
from planwerk.workflow.steps import Retry, step


class EndsStart(StartEvent):
    pass


class EndsOdd(ControlEvent):
    value: object = None


class EndsFlash(DisplayEvent, ephemeral=True):
    text: str = ""


class EndsStop(StopEvent):
    text: str = ""


class SlowJournal(InMemoryJournal):
    """Takes a second for each append."""

    async def append(self, run: RunId, entries: Sequence[journal.Entry], *, expected_version: int, fence: int) -> int:
        await asyncio.sleep(1)
        return await super().append(run, entries, expected_version=expected_version, fence=fence)


class RetriedFor(Agent):
    """Fails, to be tried again much later."""

    @step(retry=Retry(times=1, backoff_seconds=1000))
    async def work(self, start: EndsStart) -> EndsStop:
        raise ValueError("not yet")


async def test_a_stop_during_the_append_of_a_failed_attempt_ends_the_run() -> None:
    store = SlowJournal()
    with virtual_time():
        driver = await LocalRuntime(store).start(RetriedFor, EndsStart())
        await asyncio.sleep(0.5)
        await driver.stop("Anna")
        ended = await driver.wait_ended()

    assert ended.status == "stopped"
    kinds = [type(entry).__name__ for entry in await store.read(driver.run)]
    assert kinds.count("AttemptFailed") == kinds.count("RunEnded") == 1


class Stubborn(Agent):
    """Does not let itself be cancelled."""

    @step()
    async def stop(self, start: EndsStart) -> EndsStop:
        return EndsStop()

    @step()
    async def go_on(self, start: EndsStart) -> EndsOdd:
        for _ in range(5):
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                continue
        return EndsOdd()

    @step()
    async def take(self, odd: EndsOdd) -> EndsStop:
        return EndsStop()


async def test_the_result_of_an_abandoned_step_is_not_written_after_the_end() -> None:
    store = InMemoryJournal()
    with virtual_time():
        run = await LocalRuntime(store).run_to_end(Stubborn, EndsStart())
        await asyncio.sleep(100)

    found = await store.read(run.id)
    assert isinstance(found[-1], journal.RunEnded)
    assert [type(entry).__name__ for entry in found].count("RunEnded") == 1


class AwaitsCancelled(Agent):
    """Awaits something that somebody cancelled."""

    @step()
    async def work(self, start: EndsStart) -> EndsStop:
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        await future
        return EndsStop()


async def test_a_step_that_awaits_what_was_cancelled_fails_by_its_name() -> None:
    run = await LocalRuntime(InMemoryJournal()).run_to_end(AwaitsCancelled, EndsStart())

    assert getattr(run.stop, "error_type", None) == "CancelledError"
    assert getattr(run.stop, "step", None) == "work"


class ReturnsOdd(Agent):
    """Returns what cannot be written."""

    @step()
    async def begin(self, start: EndsStart) -> EndsOdd:
        return EndsOdd(value=object())

    @step()
    async def end(self, odd: EndsOdd) -> EndsStop:
        return EndsStop()


async def test_an_event_that_cannot_be_written_ends_the_run_with_that_error(tmp_path: Path) -> None:
    upgrade(tmp_path / "data.db")
    database = SqliteDatabase(tmp_path / "data.db")
    store = SqliteJournal(database)

    driver = await LocalRuntime(store).start(ReturnsOdd, EndsStart())
    ended = await driver.wait_ended()

    assert ended.error is not None
    assert ended.error.code == "event_unwritable"
    assert "EndsOdd" in ended.error.message
    assert isinstance((await store.read(driver.run))[-1], journal.RunEnded)
    await database.close()


class Flashing(Agent):
    """Returns an ephemeral event beside its stop."""

    @step()
    async def begin(self, start: EndsStart) -> list[EndsFlash | EndsStop]:
        return [EndsFlash(text="now"), EndsStop(text="one"), EndsStop(text="two")]


async def test_ephemeral_events_are_not_journaled_and_what_comes_after_the_stop_is_discarded() -> None:
    store = InMemoryJournal()

    run = await LocalRuntime(store).run_to_end(Flashing, EndsStart())

    assert run.stop == EndsStop(text="one")
    found = [entry for entry in await store.read(run.id) if isinstance(entry, journal.EventPublished)]
    assert [(type(entry.event).__name__, entry.discarded) for entry in found] == [
        ("EndsStart", False),
        ("EndsStop", False),
        ("EndsStop", True),
    ]


class Waits(Agent):
    """Waits for ever."""

    @step()
    async def wait(self, start: EndsStart) -> EndsStop:
        await asyncio.Event().wait()
        return EndsStop()


async def test_a_run_that_is_released_writes_nothing_more_and_leaves_no_task() -> None:
    store = InMemoryJournal()
    before = asyncio.all_tasks()
    driver = await LocalRuntime(store).start(Waits, EndsStart())
    await asyncio.sleep(0)

    await asyncio.gather(driver.release(), driver.release())

    with pytest.raises(RunLost):
        await driver.wait_ended()
    with pytest.raises(RunLost):
        await driver.request_stop("Anna")
    found = await store.read(driver.run)
    assert [type(entry).__name__ for entry in found].count("OwnershipReleased") == 1
    assert asyncio.all_tasks() == before


class EndsAsk(HumanInTheLoop.Input):
    """Asks for the end."""


class Asks(Agent):
    """Asks, and ends with what is said."""

    @step()
    async def ask(self, start: EndsStart) -> EndsAsk:
        return EndsAsk(question="Well?")

    @step()
    async def end(self, said: EndsAsk.Answered) -> EndsStop:
        return EndsStop()


async def test_an_answer_that_comes_while_a_run_is_handed_over_is_for_the_next_owner() -> None:
    """Found by simulation: it was refused as if the run had stopped, and was given again without a pause."""
    with virtual_time():
        runtime = LocalRuntime(SlowJournal())
        first = await runtime.start(Asks, EndsStart())
        await asyncio.sleep(5)
        [position] = first.schedule.requests
        released = asyncio.ensure_future(first.release())
        await asyncio.sleep(0.5)

        with pytest.raises(RunLost, match="handed over"):
            await first.answer(position, EndsAsk.Answered(text="Yes."))

        await released
        second = runtime.driver(first.program, first.config)
        await second.resume(await runtime.journal.read(first.run))
        await second.answer(position, EndsAsk.Answered(text="Yes."))
        assert (await second.wait_ended()).status == "completed"
