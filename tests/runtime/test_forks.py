"""A fork of a run that asked, waited or started others: what was done there is not done again (E7.8)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from planwerk.access.actors import UserActor
from planwerk.app import Planwerk
from planwerk.runtime.agents import child_id
from planwerk.testing import ScriptedModel
from planwerk.testing.virtual_clock import virtual_clock, virtual_time
from planwerk.workflow import entries as journal
from planwerk.workflow.agents import AgentInTheLoop, Detached
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import ControlEvent, StartEvent, StopEvent
from planwerk.workflow.ids import EventId, RunId
from planwerk.workflow.people import HumanInTheLoop
from planwerk.workflow.steps import step
from planwerk.workflow.timers import Timer

ADA = UserActor(id="ada", name="Ada")
WORKED: list[str] = []


class ForkStart(StartEvent):
    pass


class ForkStop(StopEvent):
    said: tuple[str, ...] = ()


class ForkName(HumanInTheLoop.Input):
    """Asks for a name."""


class ForkPause(Timer):
    """A quarter of an hour."""


class ForkNamed(ControlEvent):
    name: str


class ForkWorkStart(StartEvent):
    name: str


class ForkWorker(Agent):
    """Works, and says so."""

    @step()
    async def work(self, start: ForkWorkStart) -> ForkStop:
        WORKED.append(start.name)
        await asyncio.sleep(5)
        return ForkStop(said=(start.name,))


class ForkedRun(Agent):
    """Leaves a run behind, asks a person, then an agent, and waits a while."""

    @step()
    async def begin(self, start: ForkStart) -> tuple[ForkName, Detached]:
        left = Detached(blueprint=ForkWorker, start=ForkWorkStart(name="left"))
        return ForkName(question="Which name?"), left

    @step()
    async def named(self, answer: ForkName.Answered) -> ForkNamed:
        return ForkNamed(name=answer.text)

    @step()
    async def ask(self, named: ForkNamed) -> AgentInTheLoop:
        return AgentInTheLoop(blueprint=ForkWorker, start=ForkWorkStart(name=f"asked by {named.name}"))

    @step()
    async def wait(self, found: AgentInTheLoop.Ended) -> ForkPause:
        return ForkPause.after(900)

    @step()
    async def end(self, named: ForkNamed, fired: ForkPause.Fired) -> ForkStop:
        return ForkStop(said=(named.name,))

    @step()
    async def fail(self, failed: AgentInTheLoop.Failed) -> ForkStop:
        return ForkStop(said=(failed.message,))


@pytest.fixture(params=["in_memory", "sqlite"])
async def planwerk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Planwerk]:
    WORKED.clear()
    storage = None if request.param == "in_memory" else tmp_path / "data.db"
    with virtual_time():
        made = Planwerk([ForkedRun, ForkWorker], storage=storage, model=ScriptedModel([]), clock=virtual_clock())
        async with made:
            yield made


async def started(planwerk: Planwerk) -> RunId:
    return await planwerk.host.start("forked-run", ForkStart(), actor=ADA)


async def published(planwerk: Planwerk, run: RunId, cls: type) -> tuple[int, EventId]:
    """Position and id of the run's first event of this class, once it is there."""
    async for position, entry in planwerk.stores.journal.follow(run):
        if isinstance(entry, journal.EventPublished) and type(entry.event) is cls:
            return position, entry.id
    raise AssertionError(f"the run ended without {cls.__name__}")


async def answer(planwerk: Planwerk, request: EventId, text: str) -> None:
    await planwerk.projector.catch_up()
    await planwerk.host.answer(request, text, actor=ADA)


async def stop_of(planwerk: Planwerk, run: RunId) -> StopEvent:
    entries = [entry async for _, entry in planwerk.stores.journal.follow(run)]
    [stop] = [e.event for e in entries if isinstance(e, journal.EventPublished) and isinstance(e.event, StopEvent)]
    return stop


async def test_an_open_request_is_asked_anew_and_both_are_answered_apart(planwerk: Planwerk) -> None:
    run = await started(planwerk)
    position, asked = await published(planwerk, run, ForkName)

    forked = await planwerk.forks.fork(run, position, actor=ADA)
    _, asked_again = await published(planwerk, forked.run, ForkName)
    assert asked_again != asked
    await answer(planwerk, asked_again, "Ben")
    await answer(planwerk, asked, "Eva")

    assert await stop_of(planwerk, forked.run) == ForkStop(said=("Ben",))
    assert await stop_of(planwerk, run) == ForkStop(said=("Eva",))


async def test_what_was_answered_there_is_not_asked_again(planwerk: Planwerk) -> None:
    run = await started(planwerk)
    _, asked = await published(planwerk, run, ForkName)
    await answer(planwerk, asked, "Eva")
    position, _ = await published(planwerk, run, ForkNamed)

    forked = await planwerk.forks.fork(run, position, actor=ADA)

    assert await stop_of(planwerk, forked.run) == ForkStop(said=("Eva",))
    await planwerk.projector.catch_up()
    assert {one.status for one in await planwerk.host.requests_of(forked.run)} <= {"answered"}


async def test_an_agent_that_had_answered_is_not_asked_again_and_a_timer_runs_anew(planwerk: Planwerk) -> None:
    run = await started(planwerk)
    _, asked = await published(planwerk, run, ForkName)
    await answer(planwerk, asked, "Eva")
    position, _ = await published(planwerk, run, ForkPause)
    await stop_of(planwerk, run)
    before, begun = list(WORKED), planwerk.clock()

    forked = await planwerk.forks.fork(run, position, actor=ADA)

    assert await stop_of(planwerk, forked.run) == ForkStop(said=("Eva",))
    assert planwerk.clock() - begun >= 900_000_000
    assert before == WORKED


async def test_an_agent_that_had_not_answered_is_asked_by_the_new_run_too(planwerk: Planwerk) -> None:
    run = await started(planwerk)
    _, asked = await published(planwerk, run, ForkName)
    await answer(planwerk, asked, "Eva")
    position, _ = await published(planwerk, run, AgentInTheLoop)

    forked = await planwerk.forks.fork(run, position, actor=ADA)

    assert await stop_of(planwerk, forked.run) == ForkStop(said=("Eva",))
    assert await stop_of(planwerk, run) == ForkStop(said=("Eva",))
    assert WORKED.count("asked by Eva") == 2


async def test_a_run_that_was_left_behind_is_not_started_again(planwerk: Planwerk) -> None:
    run = await started(planwerk)
    position, asked = await published(planwerk, run, ForkName)
    await answer(planwerk, asked, "Eva")
    await stop_of(planwerk, run)

    forked = await planwerk.forks.fork(run, position, actor=ADA)
    _, asked_again = await published(planwerk, forked.run, ForkName)
    await answer(planwerk, asked_again, "Ben")
    await stop_of(planwerk, forked.run)

    assert WORKED.count("left") == 1


async def test_a_fork_of_a_run_that_others_waited_for_is_a_run_of_its_own(planwerk: Planwerk) -> None:
    run = await started(planwerk)
    _, asked = await published(planwerk, run, ForkName)
    await answer(planwerk, asked, "Eva")
    _, request = await published(planwerk, run, AgentInTheLoop)
    child = child_id(run, request)
    await stop_of(planwerk, run)

    forked = await planwerk.forks.fork(child, 2, actor=ADA)
    assert await stop_of(planwerk, forked.run) == ForkStop(said=("asked by Eva",))

    opened = (await planwerk.stores.journal.read(forked.run))[0]
    assert isinstance(opened, journal.RunOpened)
    assert (opened.parent, opened.request, opened.detached, opened.on_behalf_of) == (None, None, None, None)
    answers = [e for e in await planwerk.stores.journal.read(run) if getattr(e, "answers", None) is not None]
    assert len(answers) == 3
