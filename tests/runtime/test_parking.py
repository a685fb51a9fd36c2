"""Runs that wait leave memory and come back, on any worker, without a search (E7.4, E8.1, E8.3)."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from planwerk.runtime.answers import hand_in
from planwerk.runtime.driver import RunDriver
from planwerk.runtime.live import LiveHub
from planwerk.runtime.opening import open_run
from planwerk.runtime.ports import NEVER
from planwerk.runtime.profiles import BlueprintRegistry
from planwerk.runtime.programs import Programs
from planwerk.runtime.providers import Providers
from planwerk.runtime.worker import PARK_SECONDS, Worker
from planwerk.testing.virtual_clock import virtual_clock, virtual_time
from planwerk.workflow import entries as journal
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.composition import compose
from planwerk.workflow.events import ControlEvent, StartEvent, StopEvent
from planwerk.workflow.ids import EventId, RunId, new_id
from planwerk.workflow.people import HumanInTheLoop
from planwerk.workflow.steps import step
from planwerk.workflow.timers import Timer
from tests.runtime.stores import ADAPTERS, OpenStores, open_stores

ENG_07_CHARGES: list[int] = []


class ParkStart(StartEvent):
    seconds: float = 0.0
    timeout_seconds: float | None = None


class ParkStop(StopEvent):
    said: str


class AskParked(HumanInTheLoop.Input):
    """Asks while the run is parked."""


class Ticked(ControlEvent):
    number: int


class Parker(Agent):
    """Charges, asks, and goes on with the answer."""

    @step()
    async def charge(self, start: ParkStart) -> AskParked:
        ENG_07_CHARGES.append(1)
        return AskParked(question="Go on?", timeout_seconds=start.timeout_seconds)

    @step()
    async def go_on(self, answer: AskParked.Answered) -> ParkStop:
        return ParkStop(said=answer.text)

    @step()
    async def give_up(self, late: AskParked.TimedOut) -> ParkStop:
        return ParkStop(said="too late")


class Sleeper(Agent):
    """Waits for a time."""

    @step()
    async def wait(self, start: ParkStart) -> Timer:
        return Timer.after(start.seconds)

    @step()
    async def wake(self, fired: Timer.Fired) -> ParkStop:
        return ParkStop(said="awake")


class AskedThrice(Agent):
    """Three branches ask the same."""

    @step()
    async def fan(self, start: ParkStart) -> list[AskParked]:
        return [AskParked(question="ok?")] * 3

    @step()
    async def told(self, answer: AskParked.Answered) -> Ticked:
        return Ticked(number=int(answer.text))

    @step()
    async def join(self, start: ParkStart, told: list[Ticked]) -> ParkStop:
        return ParkStop(said=" ".join(str(each.number) for each in told))


class House:
    """Workers over one store."""

    def __init__(self, stores: OpenStores) -> None:
        self.stores = stores
        self.clock = virtual_clock()
        self.blueprints = BlueprintRegistry([Parker, Sleeper, AskedThrice])
        self._working: list[asyncio.Task[None]] = []

    def worker(self, name: str, *, max_runs: int = 1_000) -> Worker:
        worker = Worker(
            store=self.stores.journal,
            queue=self.stores.queue,
            contexts=self.stores.contexts,
            live=LiveHub(),
            blueprints=self.blueprints,
            programs=Programs(Providers()),
            clock=self.clock,
            name=name,
            max_runs=max_runs,
        )
        self._working.append(asyncio.create_task(worker.run()))
        return worker

    async def start(self, blueprint: type[Agent], start: ParkStart) -> RunId:
        run = RunId(new_id())
        opened = journal.RunOpened(
            run=run,
            at=self.clock(),
            blueprint=blueprint.__name__,
            fingerprint=compose(blueprint, ParkStart).fingerprint,
            config={},
            actor={"kind": "system", "name": "test"},
            tenant="default",
        )
        entries: list[journal.Entry] = [opened, journal.EventPublished(start, EventId(new_id()), opened.at)]
        await open_run(self.stores.journal, self.stores.queue, run, entries)
        return run

    async def request(self, run: RunId) -> EventId:
        """The id of the run's first request, once it is open."""
        async for _, entry in self.stores.journal.follow(run):
            if isinstance(entry, journal.EventPublished) and entry.event.answered_by:
                return entry.id
        raise AssertionError("the run ended without asking")

    async def answer(self, run: RunId, request: EventId, text: str) -> bool:
        answer = AskParked.Answered(text=text)
        return await hand_in(self.stores.contexts, self.stores.queue, run, request, answer, None)

    async def result(self, run: RunId) -> str:
        """What the run said in the end."""
        said = [
            entry.event.said
            async for _, entry in self.stores.journal.follow(run)
            if isinstance(entry, journal.EventPublished) and isinstance(entry.event, ParkStop)
        ]
        assert len(said) == 1
        return said[0]

    async def close(self) -> None:
        for task in self._working:
            task.cancel()
        await asyncio.gather(*self._working, return_exceptions=True)


@pytest.fixture(params=ADAPTERS)
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[House]:
    ENG_07_CHARGES.clear()
    async with open_stores(request.param, tmp_path) as stores:
        with virtual_time():
            house = House(stores)
            yield house
            await house.close()


async def test_a_run_that_waits_leaves_memory_and_gives_its_lease_back(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    # A handler that keeps its records must not keep the run's memory with them.
    caplog.set_level("INFO")
    worker = house.worker("one")
    run = await house.start(Parker, ParkStart())
    await house.request(run)
    await asyncio.sleep(PARK_SECONDS / 2)
    held = await house.stores.queue.owners()

    await asyncio.sleep(PARK_SECONDS)

    assert held == ["one"]
    assert worker.driven == 0
    assert await house.stores.queue.owners() == []
    gc.collect()
    assert not [found for found in gc.get_objects() if isinstance(found, RunDriver) and not found.schedule.ended]
    assert not isinstance((await house.stores.journal.read(run))[-1], journal.RunEnded)


async def test_parking_writes_nothing_to_the_journal(house: House) -> None:
    house.worker("one")
    run = await house.start(Parker, ParkStart())
    await house.request(run)
    before = await house.stores.journal.read(run)

    await asyncio.sleep(10 * PARK_SECONDS)

    assert await house.stores.journal.read(run) == before


@pytest.mark.parametrize("after_seconds", [0.0, 1.0, PARK_SECONDS, 300.0])
async def test_an_answer_brings_a_run_back_whenever_it_comes(house: House, after_seconds: float) -> None:
    house.worker("one")
    run = await house.start(Parker, ParkStart())
    request = await house.request(run)
    await asyncio.sleep(after_seconds)
    asked = house.clock()

    assert await house.answer(run, request, "yes")

    assert await house.result(run) == "yes"
    assert house.clock() - asked < 1_000_000
    assert len(ENG_07_CHARGES) == 1


async def test_an_answer_brings_a_run_back_on_another_worker(house: House) -> None:
    first = house.worker("one")
    run = await house.start(Parker, ParkStart())
    request = await house.request(run)
    await asyncio.sleep(2 * PARK_SECONDS)
    await first.shutdown(seconds=0)
    house.worker("two")

    await house.answer(run, request, "by another")

    assert await house.result(run) == "by another"
    owners = [
        entry.worker for entry in await house.stores.journal.read(run) if isinstance(entry, journal.OwnershipTaken)
    ]
    assert owners == ["one", "two"]


async def test_an_answer_that_came_while_nobody_worked_is_found(house: House) -> None:
    first = house.worker("one")
    run = await house.start(Parker, ParkStart(timeout_seconds=100))
    request = await house.request(run)
    await asyncio.sleep(2 * PARK_SECONDS)
    await first.shutdown(seconds=0)
    await house.answer(run, request, "in time")
    await asyncio.sleep(300)

    house.worker("two")

    assert await house.result(run) == "in time"


async def test_the_first_of_two_answers_counts(house: House) -> None:
    house.worker("one")
    run = await house.start(Parker, ParkStart())
    request = await house.request(run)

    first = await house.answer(run, request, "first")
    second = await house.answer(run, request, "second")

    assert (first, second) == (True, False)
    assert await house.result(run) == "first"


async def test_an_answer_to_another_request_wakes_nothing(house: House) -> None:
    worker = house.worker("one")
    run = await house.start(Parker, ParkStart())
    await house.request(run)
    await asyncio.sleep(2 * PARK_SECONDS)

    for number in range(5):
        await house.answer(run, EventId(new_id()), f"tick {number}")
    await asyncio.sleep(3 * PARK_SECONDS)

    found = await house.stores.journal.read(run)
    assert not any(isinstance(entry, journal.EventPublished) and entry.answers for entry in found)
    assert worker.driven == 0
    assert len(ENG_07_CHARGES) == 1  # ENG-07


@pytest.mark.parametrize("seconds", [1.0, 12.0, 300.0])
async def test_a_timer_brings_its_run_back_at_its_time(house: House, seconds: float) -> None:
    worker = house.worker("one")
    began = house.clock()
    run = await house.start(Sleeper, ParkStart(seconds=seconds))

    said = await house.result(run)

    assert said == "awake"
    assert (house.clock() - began) / 1e6 == pytest.approx(seconds, abs=0.2)
    assert worker.driven <= 1


async def test_a_parked_request_times_out_at_its_time(house: House) -> None:
    house.worker("one")
    began = house.clock()
    run = await house.start(Parker, ParkStart(timeout_seconds=300))

    assert await house.result(run) == "too late"
    assert (house.clock() - began) / 1e6 == pytest.approx(300, abs=0.2)


async def test_a_stop_reaches_a_parked_run(house: House) -> None:
    worker = house.worker("one")
    run = await house.start(Parker, ParkStart())
    await house.request(run)
    await asyncio.sleep(2 * PARK_SECONDS)

    await worker.request_stop(run, "Ada")
    last = [entry async for _, entry in house.stores.journal.follow(run)][-1]

    assert isinstance(last, journal.RunEnded)
    assert last.status == "stopped"


async def test_a_stop_reaches_a_run_that_another_worker_drives(house: House) -> None:
    house.worker("one")
    run = await house.start(Parker, ParkStart())
    await house.request(run)
    other = house.worker("two")

    await other.request_stop(run, "Ada")
    last = [entry async for _, entry in house.stores.journal.follow(run)][-1]

    assert isinstance(last, journal.RunEnded)
    assert last.status == "stopped"


async def test_runs_that_wait_give_way_where_there_is_no_room(house: House) -> None:
    worker = house.worker("one", max_runs=2)
    runs = [await house.start(Parker, ParkStart()) for _ in range(7)]

    async with asyncio.timeout(PARK_SECONDS - 1):
        requests = [await house.request(run) for run in runs]
    for run, request in zip(runs, requests, strict=True):
        await house.answer(run, request, str(run))

    assert [await house.result(run) for run in runs] == [str(run) for run in runs]
    assert worker.driven <= 2


async def test_a_run_that_waits_to_be_woken_has_no_time(house: House) -> None:
    queue, run = house.stores.queue, RunId(new_id())
    await queue.enqueue(run)
    lease = await queue.take("one", now_microseconds=1, lease_microseconds=100)
    assert lease is not None

    assert await queue.park(lease, until_microseconds=NEVER)
    assert await queue.next_time(5) is None
    assert await queue.take("two", now_microseconds=NEVER - 1, lease_microseconds=100) is None
    await queue.wake(run)
    assert await queue.take("two", now_microseconds=5, lease_microseconds=100) is not None


async def test_a_lease_that_was_called_for_is_not_parked(house: House) -> None:
    queue, run = house.stores.queue, RunId(new_id())
    await queue.enqueue(run)
    lease = await queue.take("one", now_microseconds=1, lease_microseconds=100)
    assert lease is not None
    await queue.enqueue(run)

    assert not await queue.park(lease, until_microseconds=NEVER)
    assert await queue.called("two") == []
    assert await queue.called("one") == [run]
    assert await queue.called("one") == []
    assert await queue.park(lease, until_microseconds=500)
    assert await queue.take("two", now_microseconds=499, lease_microseconds=100) is None
    assert await queue.next_time(5) == 500
    assert await queue.next_time(500) is None
    assert await queue.take("two", now_microseconds=500, lease_microseconds=100) is not None


async def test_a_parked_run_that_is_enqueued_may_be_taken_at_once(house: House) -> None:
    queue, run = house.stores.queue, RunId(new_id())
    await queue.enqueue(run)
    lease = await queue.take("one", now_microseconds=1, lease_microseconds=100)
    assert lease is not None
    await queue.park(lease, until_microseconds=NEVER)
    assert await queue.take("two", now_microseconds=10**18, lease_microseconds=100) is None

    await queue.enqueue(run)
    again = await queue.take("two", now_microseconds=5, lease_microseconds=100)

    assert again is not None
    assert again.fence > lease.fence
    assert not await queue.park(lease, until_microseconds=NEVER)


async def test_waking_a_run_that_is_over_leaves_it_out_of_the_queue(house: House) -> None:
    queue, run = house.stores.queue, RunId(new_id())
    await queue.wake(run)
    assert await queue.take("one", now_microseconds=1, lease_microseconds=100) is None

    await queue.enqueue(run, not_before_microseconds=500)
    await queue.wake(run)

    assert await queue.take("one", now_microseconds=1, lease_microseconds=100) is not None
    await queue.wake(run)
    assert await queue.called("one") == [run]


async def test_three_identical_questions_of_a_parked_run_keep_their_answers_apart(house: House) -> None:
    house.worker("one")
    run = await house.start(AskedThrice, ParkStart())
    await house.request(run)
    await asyncio.sleep(2 * PARK_SECONDS)
    found = await house.stores.journal.read(run)
    first, second, third = (
        e.id for e in found if isinstance(e, journal.EventPublished) and isinstance(e.event, AskParked)
    )

    for request, text in ((second, "1"), (third, "2"), (first, "3")):
        await house.answer(run, request, text)
        await asyncio.sleep(2 * PARK_SECONDS)

    assert await house.result(run) == "3 1 2"  # ENG-05: in the order of the questions, whoever was answered first
