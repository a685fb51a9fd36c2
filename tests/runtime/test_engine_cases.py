"""Faults that users of comparable engines ran into, each impossible here, once per adapter (cases ENG)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path

import pytest

from planwerk.runtime.driver import RunDriver
from planwerk.runtime.errors import RunFailed, StaleVersion
from planwerk.runtime.local import LocalRuntime
from planwerk.runtime.ports import Journal
from planwerk.testing.virtual_clock import virtual_time
from planwerk.workflow import entries as journal
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import ControlEvent, ExceptionEvent, StartEvent, StopEvent
from planwerk.workflow.ids import EventId, RunId
from planwerk.workflow.steps import step
from tests.runtime.stores import ADAPTERS, open_stores


class CaseStart(StartEvent):
    items: tuple[int, ...] = ()
    name: str = ""


class CaseWork(ControlEvent):
    number: int


class CaseDone(ControlEvent):
    number: int


class CaseStop(StopEvent):
    count: int = 0
    name: str = ""
    fan: tuple[int, ...] = ()


@pytest.fixture(params=ADAPTERS)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Journal]:
    async with open_stores(request.param, tmp_path) as stores:
        yield stores.journal


async def _read(store: Journal, run: RunId) -> list[journal.Entry]:
    return [entry async for _, entry in store.follow(run)]


async def _until(store: Journal, run: RunId, step: str, kind: type[journal.Entry], *, times: int = 1) -> None:
    """Follow the run until so many executions of the step are due, or have finished."""
    steps: dict[str, str] = {}
    seen = 0
    async for _, entry in store.follow(run):
        if isinstance(entry, journal.ExecutionDue):
            steps[entry.execution] = entry.step
        if isinstance(entry, kind) and steps.get(getattr(entry, "execution", "")) == step:
            seen += 1
            if seen == times:
                return


def _due(found: list[journal.Entry]) -> list[str]:
    return [entry.step for entry in found if isinstance(entry, journal.ExecutionDue)]


async def _resumed(store: Journal, first: RunDriver) -> RunDriver:
    """A driver that has taken the run over, from what was stored."""
    again = LocalRuntime(store).driver(first.program, first.config)
    await again.resume(await store.read(first.run))
    return again


# ENG-01 --------------------------------------------------------------------------------------------------------------


class CaseFan(Agent):
    """Fans work out over a list, and joins beside the start."""

    @step()
    async def split(self, start: CaseStart) -> list[CaseWork]:
        return [CaseWork(number=number) for number in start.items]

    @step()
    async def do(self, work: CaseWork) -> CaseDone:
        return CaseDone(number=work.number)

    @step()
    async def collect(self, done: list[CaseDone], start: CaseStart) -> CaseStop:
        return CaseStop(count=len(done), name=start.name)


async def test_eng_01_a_join_after_an_empty_fan_out_runs_once_with_its_other_inputs(store: Journal) -> None:
    """ENG-01."""
    run = await LocalRuntime(store).run_to_end(CaseFan, CaseStart(items=(), name="night"))

    assert run.stop == CaseStop(count=0, name="night")
    assert _due(await store.read(run.id)) == ["split", "collect"]


# ENG-03 --------------------------------------------------------------------------------------------------------------


class CaseBranch(ControlEvent):
    pass


class CaseSum(ControlEvent):
    numbers: tuple[int, ...]


class CasePlain(ControlEvent):
    text: str


class CaseFannedAndPlain(Agent):
    """A join of an inner fan-out and of an ordinary step."""

    dice = random.Random(3)

    @step()
    async def branch(self, start: CaseStart) -> CaseBranch:
        return CaseBranch()

    @step()
    async def fan(self, branch: CaseBranch) -> list[CaseWork]:
        return [CaseWork(number=number) for number in (1, 2, 3)]

    @step()
    async def map(self, work: CaseWork) -> CaseDone:
        await asyncio.sleep(self.dice.uniform(0, 0.01))
        return CaseDone(number=work.number)

    @step()
    async def inner(self, branch: CaseBranch, done: list[CaseDone]) -> CaseSum:
        return CaseSum(numbers=tuple(each.number for each in done))

    @step()
    async def plain(self, start: CaseStart) -> CasePlain:
        return CasePlain(text="b")

    @step()
    async def final(self, fanned: CaseSum, plain: CasePlain) -> CaseStop:
        return CaseStop(fan=fanned.numbers, name=plain.text)


async def test_eng_03_a_join_of_a_fanned_and_a_plain_branch_has_both(store: Journal) -> None:
    """ENG-03."""
    with virtual_time():
        for _ in range(50):
            run = await LocalRuntime(store).run_to_end(CaseFannedAndPlain, CaseStart())

            assert run.stop == CaseStop(fan=(1, 2, 3), name="b")
            assert _due(await store.read(run.id)).count("final") == 1


# ENG-13 --------------------------------------------------------------------------------------------------------------


class CaseDoc:
    """Holds an enum inside, as people write them."""

    class Phase(Enum):
        DRAFT = "draft"


class CaseTyped(ControlEvent):
    phase: CaseDoc.Phase
    at: datetime
    tags: set[str]
    price: Decimal


class CaseTypes(Agent):
    """Sends values of types that stores like to lose, and waits before it looks at them."""

    received: list[CaseTyped] = []  # noqa: RUF012 - what the test looks at

    @step()
    async def send(self, start: CaseStart) -> CaseTyped:
        at = datetime.fromisoformat("2026-03-01T10:00+03:00")
        return CaseTyped(phase=CaseDoc.Phase.DRAFT, at=at, tags={"a"}, price=Decimal("0.10"))

    @step()
    async def look(self, typed: CaseTyped) -> CaseStop:
        await asyncio.sleep(1)
        self.received.append(typed)
        return CaseStop()


async def test_eng_13_values_come_back_from_the_store_as_the_types_they_were(store: Journal) -> None:
    """ENG-13; over the death of a real process in test_kill.py."""
    CaseTypes.received.clear()
    first = await LocalRuntime(store).start(CaseTypes, CaseStart())
    await _until(store, first.run, "look", journal.ExecutionDue)
    await first.release()
    with virtual_time():
        again = await _resumed(store, first)
        await again.wait_ended()

    (typed,) = CaseTypes.received
    assert typed.phase is CaseDoc.Phase.DRAFT
    assert (typed.at.isoformat(), typed.at.utcoffset()) == ("2026-03-01T10:00:00+03:00", timedelta(hours=3))
    assert (typed.tags, type(typed.tags)) == ({"a"}, set)
    assert (str(typed.price), type(typed.price)) == ("0.10", Decimal)


# ENG-15 --------------------------------------------------------------------------------------------------------------


class CaseRaises(Agent):
    """Fails at once."""

    @step()
    async def fail(self, start: CaseStart) -> CaseStop:
        raise ValueError("boom")


async def test_eng_15_readers_of_a_failed_run_end_with_the_failure_however_late_they_come(store: Journal) -> None:
    """ENG-15."""
    runtime = LocalRuntime(store)
    driver = await runtime.start(CaseRaises, CaseStart())
    early = asyncio.create_task(_read(store, driver.run))
    await driver.wait_ended()
    late = await _read(store, driver.run)

    for seen in (await early, late):
        assert isinstance(seen[-1], journal.RunEnded)
        assert seen[-1].status == "failed"
        published = [entry.event for entry in seen if isinstance(entry, journal.EventPublished)]
        failure = next(event for event in published if isinstance(event, ExceptionEvent))
        assert (failure.step, failure.error_type, failure.message) == ("fail", "ValueError", "boom")
    with pytest.raises(RunFailed, match="boom") as raised:
        await runtime.run(CaseRaises, CaseStart())
    assert raised.value.event.error_type == "ValueError"


# ENG-17 --------------------------------------------------------------------------------------------------------------


class CaseOther(ControlEvent):
    pass


class CaseEarlyStop(Agent):
    """Stops while a sibling still works."""

    touched: list[str] = []  # noqa: RUF012 - what the test looks at

    @step()
    async def fast(self, start: CaseStart) -> CaseStop:
        return CaseStop()

    @step()
    async def slow(self, start: CaseStart) -> CaseOther:
        await asyncio.sleep(0.2)
        self.touched.append("slow")
        return CaseOther()

    @step()
    async def after(self, other: CaseOther) -> CaseStop:
        return CaseStop()


async def test_eng_17_a_sibling_that_works_at_the_stop_is_cancelled_and_touches_nothing(store: Journal) -> None:
    """ENG-17."""
    CaseEarlyStop.touched.clear()
    with virtual_time():
        run = await LocalRuntime(store).run_to_end(CaseEarlyStop, CaseStart())
        await asyncio.sleep(0.6)
        ours = [task for task in asyncio.all_tasks() if "RunDriver" in repr(task.get_coro())]

    found = await store.read(run.id)
    delivered = [entry.event for entry in found if isinstance(entry, journal.EventPublished) and not entry.discarded]
    assert type(delivered[-1]) is CaseStop
    assert CaseEarlyStop.touched == []
    assert not any(isinstance(event, CaseOther) for event in delivered)
    assert ours == []


# ENG-19 --------------------------------------------------------------------------------------------------------------


async def test_eng_19_of_two_appends_on_one_version_one_is_refused_and_follows_after_a_read(store: Journal) -> None:
    """ENG-19: both loaded version 5."""
    run = RunId("019a0000-0000-7000-8000-000000000001")
    before = [journal.EventPublished(CaseWork(number=n), EventId(str(n)), n) for n in range(5)]
    await store.append(run, before, expected_version=0, fence=0)

    async def worker(number: int) -> int:
        entry = journal.EventPublished(CaseWork(number=number), EventId(str(number)), number)
        version = 5
        while True:
            try:
                return await store.append(run, [entry], expected_version=version, fence=0)
            except StaleVersion:
                version = len(await store.read(run))

    assert sorted(await asyncio.gather(worker(10), worker(11))) == [6, 7]
    events = [entry.event for entry in await store.read(run) if isinstance(entry, journal.EventPublished)]
    numbers = [event.number for event in events if isinstance(event, CaseWork)]
    assert numbers[:5] == [0, 1, 2, 3, 4]
    assert sorted(numbers[5:]) == [10, 11]


# ENG-29 --------------------------------------------------------------------------------------------------------------


class CaseOrder(Agent):
    """Fans out four pieces of work of different length."""

    delays = (0.04, 0.01, 0.03, 0.02)

    @step()
    async def split(self, start: CaseStart) -> list[CaseWork]:
        return [CaseWork(number=number) for number in range(4)]

    @step()
    async def work(self, work: CaseWork) -> CaseDone:
        await asyncio.sleep(self.delays[work.number])
        return CaseDone(number=work.number)

    @step()
    async def join(self, start: CaseStart, done: list[CaseDone]) -> CaseStop:
        return CaseStop(fan=tuple(event.number for event in done))


class CaseOrderReversed(CaseOrder):
    """The same with reversed delays."""

    delays = (0.02, 0.03, 0.01, 0.04)


@pytest.mark.parametrize("blueprint", [CaseOrder, CaseOrderReversed])
async def test_eng_29_a_join_has_fan_out_order_whatever_finishes_first(
    store: Journal, blueprint: type[CaseOrder]
) -> None:
    """ENG-29: the first two runs."""
    with virtual_time():
        stop = await LocalRuntime(store).run(blueprint, CaseStart())

    assert stop == CaseStop(fan=(0, 1, 2, 3))


async def test_eng_29_a_run_resumed_after_two_completions_joins_in_the_same_order(store: Journal) -> None:
    """ENG-29: the third run."""
    with virtual_time():
        first = await LocalRuntime(store).start(CaseOrder, CaseStart())
        await _until(store, first.run, "work", journal.ExecutionFinished, times=2)
        await first.release()
        second = await _resumed(store, first)
        await second.wait_ended()

    assert second.schedule.stop == CaseStop(fan=(0, 1, 2, 3))
    found = await store.read(first.run)
    finished = [entry.execution for entry in found if isinstance(entry, journal.ExecutionFinished)]
    assert len(finished) == len(set(finished)) == 6
    again = [entry.attempt for entry in found if isinstance(entry, journal.ExecutionStarted)]
    assert again
    assert set(again) == {2}
