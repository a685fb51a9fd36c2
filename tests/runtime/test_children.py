"""Runs that ask other agents: answered once, stopped with who asked, limited in depth, on any worker (E8.2)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

import pytest

from planwerk.runtime.agents import MAX_DEPTH, child_id
from planwerk.runtime.answers import ANSWERS
from planwerk.runtime.children import Children
from planwerk.runtime.contexts import ThreadContext
from planwerk.runtime.driver import RunDriver
from planwerk.runtime.execution import ExecutionContext
from planwerk.runtime.live import LiveHub
from planwerk.runtime.opening import open_run
from planwerk.runtime.profiles import BlueprintRegistry
from planwerk.runtime.programs import Programs
from planwerk.runtime.providers import Providers
from planwerk.runtime.worker import LEASE_SECONDS, PARK_SECONDS, Worker
from planwerk.testing.virtual_clock import virtual_clock, virtual_time
from planwerk.workflow import entries as journal
from planwerk.workflow.agents import AgentInTheLoop, AgentUsage
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.composition import compose
from planwerk.workflow.events import Event, ExceptionEvent, StartEvent, StopEvent
from planwerk.workflow.ids import EventId, RunId, new_id
from planwerk.workflow.journal_text import read_entries, write_entries
from planwerk.workflow.steps import step
from planwerk.workflow.timers import Timer
from tests.runtime.stores import ADAPTERS, OpenStores, open_stores

HELPED: list[str] = []


class HelpStart(StartEvent):
    way: Literal["answer", "fail", "wait", "count"] = "answer"
    seconds: float = 0.0


class HelpStop(StopEvent):
    text: str


class Helper(Agent):
    """Answers, fails, waits or counts."""

    @step()
    async def help(self, start: HelpStart, context: ThreadContext) -> HelpStop | Timer:
        HELPED.append(start.way)
        match start.way:
            case "answer":
                return HelpStop(text="42")
            case "fail":
                raise ValueError("I do not know")
            case "wait":
                return Timer.after(start.seconds)
            case "count":
                return HelpStop(text=str(await context.increment("asked")))

    @step()
    async def wake(self, fired: Timer.Fired) -> HelpStop:
        return HelpStop(text="late")


class BossStart(StartEvent):
    help: HelpStart = HelpStart()
    thread: Literal["new", "same"] = "new"
    timeout_seconds: float | None = None
    blueprint: str = "Helper"
    profile: str | None = None


class BossStop(StopEvent):
    text: str


class AskHelper(AgentInTheLoop):
    """Asks the helper."""


class Boss(Agent):
    """Asks a helper and says what it said."""

    @step()
    async def ask(self, start: BossStart) -> AskHelper:
        return AskHelper(
            profile=start.profile,
            blueprint=start.blueprint if start.profile is None else None,
            start=start.help,
            thread=start.thread,
            timeout_seconds=start.timeout_seconds,
        )

    @step()
    async def end(self, found: AskHelper.Ended) -> BossStop:
        return BossStop(text=f"ended: {found.text}")

    @step()
    async def cope(self, failed: AskHelper.Failed) -> BossStop:
        return BossStop(text=f"failed: {failed.code}: {failed.message}")

    @step()
    async def give_up(self, late: AskHelper.TimedOut) -> BossStop:
        return BossStop(text="too late")


class Endless(Agent):
    """Asks itself."""

    @step()
    async def ask(self, start: BossStart) -> AgentInTheLoop:
        return AgentInTheLoop(blueprint=Endless, start=start)

    @step()
    async def end(self, found: AgentInTheLoop.Ended) -> BossStop:
        return BossStop(text=found.text)

    @step()
    async def cope(self, failed: AgentInTheLoop.Failed) -> BossStop:
        return BossStop(text=f"{failed.code}: {failed.message}")


class ManyStart(StartEvent):
    width: int


class Many(Agent):
    """Asks many helpers at once."""

    @step()
    async def ask(self, start: ManyStart) -> list[AskHelper]:
        return [AskHelper(blueprint=Helper, start=HelpStart()) for _ in range(start.width)]

    @step()
    async def end(self, start: ManyStart, found: list[AskHelper.Ended]) -> BossStop:
        return BossStop(text=f"{len(found)} of {len({one.run for one in found})}")

    @step()
    async def cope(self, failed: AskHelper.Failed) -> BossStop:
        return BossStop(text="failed")


class House:
    """Workers over one store."""

    def __init__(self, stores: OpenStores) -> None:
        self.stores = stores
        self.clock = virtual_clock()
        self.blueprints = BlueprintRegistry([Boss, Helper, Endless, Many])
        self._working: dict[str, tuple[Worker, asyncio.Task[None]]] = {}

    def worker(self, name: str, **more: Any) -> Worker:
        def thread_context(context: ExecutionContext) -> ThreadContext:
            run = context.run
            return ThreadContext(self.stores.contexts, run.thread or run.context_thread or f"run:{run.run}")

        worker = Worker(
            store=self.stores.journal,
            queue=self.stores.queue,
            contexts=self.stores.contexts,
            live=LiveHub(),
            blueprints=self.blueprints,
            programs=Programs(Providers([(ThreadContext, thread_context)])),
            clock=self.clock,
            name=name,
            **more,
        )
        self._working[name] = (worker, asyncio.create_task(worker.run()))
        return worker

    async def start(self, blueprint: type[Agent], start: StartEvent, **more: Any) -> RunId:
        run = RunId(new_id())
        opened = journal.RunOpened(
            run=run,
            at=self.clock(),
            blueprint=blueprint.__name__,
            fingerprint=compose(blueprint, type(start)).fingerprint,
            config={},
            actor={"kind": "user", "id": "ada", "name": "Ada"},
            tenant="default",
            **more,
        )
        entries: list[journal.Entry] = [opened, journal.EventPublished(start, EventId(new_id()), opened.at)]
        await open_run(self.stores.journal, self.stores.queue, run, entries)
        return run

    async def entries(self, run: RunId) -> list[journal.Entry]:
        """The run's whole journal, once it has ended."""
        return [entry async for _, entry in self.stores.journal.follow(run)]

    async def result(self, run: RunId) -> Event:
        """The run's stop."""
        stops = [entry.event for entry in await self.entries(run) if isinstance(entry, journal.EventPublished)]
        [stop] = [event for event in stops if isinstance(event, StopEvent)]
        return stop

    async def asked(self, run: RunId) -> RunId:
        """The id of the run that the run has asked for."""
        async for _, entry in self.stores.journal.follow(run):
            if isinstance(entry, journal.EventPublished) and isinstance(entry.event, AgentInTheLoop):
                return child_id(run, entry.id)
        raise AssertionError("the run ended without asking")

    async def child(self, run: RunId) -> RunId:
        """The same, once it is open."""
        child = await self.asked(run)
        async for _ in self.stores.journal.follow(child):
            return child
        raise AssertionError("the child has no journal")

    async def opened(self, run: RunId) -> journal.RunOpened:
        first = (await self.stores.journal.read(run))[0]
        assert isinstance(first, journal.RunOpened)
        return first

    async def die(self, name: str) -> None:
        """A worker's process is gone."""
        worker, serving = self._working.pop(name)
        left = [serving, *worker._tasks.values()]  # pyright: ignore[reportPrivateUsage] - it cleans nothing up
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def close(self) -> None:
        for name in list(self._working):
            await self.die(name)


def never_look(self: Children, driver: RunDriver) -> None:
    """In place of `Children.look`: nothing that is asked for is opened."""


@pytest.fixture(params=ADAPTERS)
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[House]:
    HELPED.clear()
    async with open_stores(request.param, tmp_path) as stores:
        with virtual_time():
            house = House(stores)
            yield house
            await house.close()


async def test_the_end_of_another_agents_run_is_the_answer(house: House) -> None:
    house.worker("one")

    run = await house.start(Boss, BossStart())

    assert await house.result(run) == BossStop(text="ended: 42")
    child = await house.opened(await house.child(run))
    assert child.parent == run
    assert child.chain == ["Boss"]
    assert child.actor == {"kind": "user", "id": "ada", "name": "Ada"}
    assert HELPED == ["answer"]


async def test_its_failure_is_an_answer_too(house: House) -> None:
    house.worker("one")

    run = await house.start(Boss, BossStart(help=HelpStart(way="fail")))

    assert await house.result(run) == BossStop(text="failed: step_failed: I do not know")


@pytest.mark.parametrize(
    ("start", "code"),
    [
        (BossStart(blueprint="Nobody"), "blueprint_not_found"),
        (BossStart(profile="nobody"), "profile_not_found"),
        (BossStart(blueprint="Many"), "start_not_taken"),
    ],
)
async def test_an_agent_that_cannot_be_asked_is_an_answer_too(house: House, start: BossStart, code: str) -> None:
    house.worker("one")

    run = await house.start(Boss, start)

    stop = await house.result(run)
    assert isinstance(stop, BossStop)
    assert stop.text.startswith(f"failed: {code}: ")


async def test_a_child_shares_the_thread_context_only_if_it_is_asked_to(house: House) -> None:
    house.worker("one")
    count = HelpStart(way="count")

    said = [
        await house.result(await house.start(Boss, BossStart(help=count, thread=thread), thread="a-thread"))
        for thread in ("same", "new", "same", "new")
    ]

    assert said == [BossStop(text=f"ended: {number}") for number in (1, 1, 2, 1)]


async def test_a_run_that_waits_for_an_agent_leaves_memory_and_is_woken_by_its_end_on_another_worker(
    house: House,
) -> None:
    first = house.worker("one")
    run = await house.start(Boss, BossStart(help=HelpStart(way="wait", seconds=3600)))
    await house.child(run)
    await asyncio.sleep(3 * PARK_SECONDS)
    assert first.driven == 0
    await house.die("one")

    house.worker("two")

    assert await house.result(run) == BossStop(text="ended: late")
    owners = [e.worker for e in await house.entries(run) if isinstance(e, journal.OwnershipTaken)]
    assert owners == ["one", "two"]
    assert HELPED == ["wait"]


async def test_a_run_that_is_stopped_stops_whom_it_has_asked(house: House) -> None:
    worker = house.worker("one")
    run = await house.start(Boss, BossStart(help=HelpStart(way="wait", seconds=3600)))
    child = await house.child(run)

    await worker.request_stop(run, "Ada")

    for stopped, who in ((run, "Ada"), (child, "Boss")):
        stop = await house.result(stopped)
        assert isinstance(stop, ExceptionEvent)
        assert (stop.code, stop.message) == ("run_stopped", f"The run was stopped by {who}.")


async def test_a_stop_reaches_children_that_wait_outside_memory(house: House) -> None:
    worker = house.worker("one")
    run = await house.start(Boss, BossStart(help=HelpStart(way="wait", seconds=36_000)))
    child = await house.child(run)
    await asyncio.sleep(3 * PARK_SECONDS)
    assert worker.driven == 0

    await worker.request_stop(run, "Ada")

    stop = await house.result(child)
    assert isinstance(stop, ExceptionEvent)
    assert stop.code == "run_stopped"


async def test_a_child_that_takes_too_long_is_stopped_also_by_another_worker(house: House) -> None:
    house.worker("one")
    start = BossStart(help=HelpStart(way="wait", seconds=36_000), timeout_seconds=600)
    run = await house.start(Boss, start)
    child = await house.child(run)
    await asyncio.sleep(300)
    await house.die("one")
    began = house.clock()

    house.worker("two")

    assert await house.result(run) == BossStop(text="too late")
    assert house.clock() - began < 301e6
    stop = await house.result(child)
    assert isinstance(stop, ExceptionEvent)
    assert stop.code == "run_stopped"


async def test_somebody_may_stop_a_child_alone(house: House) -> None:
    worker = house.worker("one")
    run = await house.start(Boss, BossStart(help=HelpStart(way="wait", seconds=3600)))

    await worker.request_stop(await house.child(run), "Ada")

    assert await house.result(run) == BossStop(text="failed: run_stopped: The run was stopped by Ada.")


async def test_the_call_beyond_the_deepest_level_is_refused_with_the_chain(house: House) -> None:
    house.worker("one")

    run = await house.start(Endless, BossStart())

    stop = await house.result(run)
    assert isinstance(stop, BossStop)
    assert stop.text == (
        "agents_too_deep: Endless may not ask Endless: the chain Endless>Endless>Endless>Endless has 4 runs, and 4 "
        "is the limit (E8.2)."
    )


@pytest.mark.parametrize("limit", [1, 2, MAX_DEPTH])
async def test_the_limit_is_a_setting(house: House, limit: int) -> None:
    house.worker("one", max_agent_depth=limit)

    run = await house.start(Endless, BossStart())

    stop = await house.result(run)
    assert isinstance(stop, BossStop)
    assert f"has {limit} runs, and {limit} is the limit" in stop.text


async def test_many_children_answer_each_once(house: House) -> None:
    house.worker("one")
    house.worker("two")

    run = await house.start(Many, ManyStart(width=25))

    assert await house.result(run) == BossStop(text="25 of 25")
    assert HELPED == ["answer"] * 25


async def test_a_child_is_opened_by_the_next_owner_if_the_first_died_before_it_did(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(Children, "look", never_look)
        house.worker("one")
        run = await house.start(Boss, BossStart())
        await house.asked(run)
        await asyncio.sleep(3 * PARK_SECONDS)
        assert HELPED == []
        assert (await house.stores.queue.owners()) == ["one"]  # it may not leave memory: nobody else would open it
    await house.die("one")

    house.worker("two")
    await asyncio.sleep(2 * LEASE_SECONDS)

    assert await house.result(run) == BossStop(text="ended: 42")
    assert HELPED == ["answer"]


async def test_a_child_that_was_never_opened_is_recorded_as_stopped_and_cannot_be_opened_later(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Children, "look", never_look)
    worker = house.worker("one")
    run = await house.start(Boss, BossStart())
    child = await house.asked(run)

    await worker.request_stop(run, "Ada")

    stop = await house.result(child)
    assert isinstance(stop, ExceptionEvent)
    assert stop.code == "run_stopped"
    late: list[journal.Entry] = [await house.opened(child), journal.EventPublished(HelpStart(), EventId("late"), 1)]
    await open_run(house.stores.journal, house.stores.queue, child, late)
    await asyncio.sleep(5)
    assert len([e for e in await house.entries(child) if isinstance(e, journal.RunEnded)]) == 1
    assert HELPED == []


async def test_the_end_of_a_child_is_handed_in_again_if_its_owner_died_before_it_did(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(self: Children, run: RunId) -> None:
        await asyncio.sleep(1e9)

    with monkeypatch.context() as patched:
        patched.setattr(Children, "hand_in_end", never)
        house.worker("one")
        run = await house.start(Boss, BossStart())
        child = await house.child(run)
        await house.entries(child)
        await asyncio.sleep(1)
    await house.die("one")

    house.worker("two")
    await asyncio.sleep(2 * LEASE_SECONDS)

    assert await house.result(run) == BossStop(text="ended: 42")
    assert HELPED == ["answer"]


async def test_nothing_is_kept_of_answers_once_both_runs_are_over(house: House) -> None:
    house.worker("one")
    run = await house.start(Boss, BossStart(help=HelpStart(way="wait", seconds=3600), timeout_seconds=60))
    child = await house.child(run)
    await house.result(run)
    await house.result(child)
    await asyncio.sleep(60)

    asked = (await house.opened(child)).request
    assert asked is not None
    assert not (await house.stores.contexts.get(ANSWERS, run, asked)).version
    assert not await house.stores.queue.owners()


def test_what_says_whose_child_a_run_is_survives_the_journal() -> None:
    opened = journal.RunOpened(
        RunId("run"), 1, "B", "f", {}, {}, "t", parent="p", request="r", chain=["A", "B"], context_thread="thread"
    )
    answer = AskHelper.Ended(run="run", stop=HelpStop(text="42"), used=AgentUsage(model_calls=2, cost="0.5"))
    entries: list[journal.Entry] = [opened, journal.EventPublished(answer, EventId("e"), 2, answers=1)]

    read = read_entries(write_entries(entries))

    assert read == entries
    [_, published] = read
    assert isinstance(published, journal.EventPublished)
    assert isinstance(published.event, AskHelper.Ended)
    assert published.event.text == "42"
