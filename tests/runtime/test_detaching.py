"""Runs that a run starts and nobody waits for: once per key, in order, tried again, with its rights (E8.4)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from planwerk.access.actors import SystemActor, UserActor
from planwerk.app import Planwerk
from planwerk.runtime.agents import AgentsTooDeep
from planwerk.runtime.detaching import Detaching, detached_id
from planwerk.runtime.errors import RunFailed
from planwerk.runtime.ports import RunRecord
from planwerk.testing.virtual_clock import virtual_clock, virtual_time
from planwerk.workflow import entries as journal
from planwerk.workflow.agents import AgentInTheLoop, Detached
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import StartEvent, StopEvent
from planwerk.workflow.ids import RunId
from planwerk.workflow.steps import step

JOBS: list[str] = []
FAILS: dict[str, int] = {}
ADA = UserActor(id="ada", name="Ada")


class JobStart(StartEvent):
    name: str
    seconds: float = 0.0


class JobStop(StopEvent):
    text: str = ""


class Job(Agent):
    """Works for a while, and fails as often as it is told to."""

    @step()
    async def work(self, start: JobStart) -> JobStop:
        JOBS.append(f"{start.name} begins")
        await asyncio.sleep(start.seconds)
        if FAILS.get(start.name, 0):
            FAILS[start.name] -= 1
            raise ValueError("not yet")
        JOBS.append(f"{start.name} ends")
        return JobStop()


class LeaveStart(StartEvent):
    jobs: tuple[Detached, ...]


class Leaver(Agent):
    """Starts jobs beside its stop."""

    @step()
    async def leave(self, start: LeaveStart) -> list[Detached | JobStop]:
        return [*start.jobs, JobStop(text="gone")]


class LateLeaver(Agent):
    """Stops, and starts a job within the grace of what may still finish."""

    @step()
    async def stop(self, start: JobStart) -> JobStop:
        return JobStop(text="gone")

    @step(stop_on_error=False)
    async def leave(self, start: JobStart) -> Detached:
        await asyncio.sleep(1)
        return Detached(blueprint=Job, start=start)


class Endless(Agent):
    """Starts itself."""

    @step()
    async def again(self, start: JobStart) -> list[Detached | JobStop]:
        JOBS.append("again")
        return [Detached(blueprint=Endless, start=start), JobStop()]


class Asker(Agent):
    """Asks the job and hands its end on."""

    @step()
    async def ask(self, start: JobStart) -> AgentInTheLoop:
        return AgentInTheLoop(blueprint=Job, start=start)

    @step()
    async def end(self, found: AgentInTheLoop.Ended | AgentInTheLoop.Failed) -> JobStop:
        return JobStop(text=type(found).__name__)


BLUEPRINTS = (Leaver, Job, LateLeaver, Endless, Asker)


def job(name: str, seconds: float = 0.0, **more: object) -> Detached:
    return Detached.model_validate({"blueprint": Job, "start": JobStart(name=name, seconds=seconds), **more})


@pytest.fixture(params=["in_memory", "sqlite"])
async def planwerk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Planwerk]:
    JOBS.clear()
    FAILS.clear()
    storage = None if request.param == "in_memory" else tmp_path / "data.db"
    with virtual_time():
        app = Planwerk(BLUEPRINTS, storage=storage, clock=virtual_clock())
        async with app:
            yield app


async def leave(app: Planwerk, *jobs: Detached) -> RunId:
    run = await app.host.start("leaver", LeaveStart(jobs=jobs), actor=ADA)
    assert await app.host.result(run) == JobStop(text="gone")
    return run


async def detached(app: Planwerk) -> list[RunRecord]:
    """Records of the detached runs, in no order."""
    await asyncio.sleep(1)
    await app.projector.catch_up()
    found = await app.stores.records.newest("default")
    return [record for record in found if record.actor == {"kind": "system", "name": "detached"}]


async def started(app: Planwerk, run: RunId) -> str:
    """The name of the job that a run began with."""
    start = (await app.host.entries(run))[1]
    assert isinstance(start, journal.EventPublished)
    assert isinstance(start.event, JobStart)
    return start.event.name


async def test_a_run_goes_on_with_what_nobody_waits_for(planwerk: Planwerk) -> None:
    run = await leave(planwerk, job("tidy", seconds=60))
    assert "tidy ends" not in JOBS

    await asyncio.sleep(61)

    assert JOBS == ["tidy begins", "tidy ends"]
    [record] = await detached(planwerk)
    assert record.parent_run == run
    assert record.owner == "ada"
    assert record.status == "completed"
    [ended] = [e for e in await planwerk.host.entries(run) if isinstance(e, journal.RunEnded)]
    assert ended.untaken == ()


async def test_what_is_stopped_does_not_stop_what_it_left(planwerk: Planwerk) -> None:
    run = await leave(planwerk, job("tidy", seconds=60))
    await planwerk.host.stop(run, actor=ADA)

    await asyncio.sleep(61)

    assert JOBS == ["tidy begins", "tidy ends"]


async def test_of_several_with_one_key_the_first_is_run(planwerk: Planwerk) -> None:
    await leave(planwerk, job("first", key="a"), job("second", key="a"), job("third", key="b"))
    await leave(planwerk, job("fourth", key="a"), job("fifth"), job("sixth"))
    await asyncio.sleep(5)

    assert sorted(name for name in JOBS if name.endswith("ends")) == [
        "fifth ends",
        "first ends",
        "sixth ends",
        "third ends",
    ]


async def test_those_with_one_order_key_run_one_after_another(planwerk: Planwerk) -> None:
    await leave(planwerk, *(job(name, seconds=20, order_key="o") for name in ("a", "b")))
    await leave(planwerk, job("c", seconds=20, order_key="o"), job("other", seconds=1, order_key="p"))

    await asyncio.sleep(100)

    assert [entry for entry in JOBS if not entry.startswith("other")] == [
        *("a begins", "a ends", "b begins", "b ends", "c begins", "c ends"),
    ]
    assert JOBS.index("other ends") < JOBS.index("a ends")


async def test_a_failed_one_is_tried_again_before_those_behind_it(planwerk: Planwerk) -> None:
    FAILS["a"] = 2

    await leave(planwerk, job("a", order_key="o", backoff_seconds=10), job("b", order_key="o"))
    await asyncio.sleep(5)
    assert JOBS == ["a begins"]
    await asyncio.sleep(60)

    assert JOBS == ["a begins", "a begins", "a begins", "a ends", "b begins", "b ends"]
    assert [record.status for record in await detached(planwerk)].count("failed") == 2


async def test_one_that_fails_for_good_lets_the_next_one_in(planwerk: Planwerk) -> None:
    FAILS["a"] = 9

    await leave(planwerk, job("a", order_key="o", retries=1, backoff_seconds=1), job("b", order_key="o"))
    await asyncio.sleep(20)

    assert JOBS == ["a begins", "a begins", "b begins", "b ends"]


async def test_one_that_is_stopped_is_not_tried_again(planwerk: Planwerk) -> None:
    await leave(planwerk, job("a", seconds=60, order_key="o"), job("b", order_key="o"))
    runs = [RunId(record.run) for record in await detached(planwerk)]
    first, _ = sorted([(await started(planwerk, run), run) for run in runs])

    await planwerk.host.stop(first[1], actor=ADA)
    await asyncio.sleep(100)

    assert JOBS == ["a begins", "b begins", "b ends"]


async def test_it_may_be_started_within_the_grace_after_the_stop(planwerk: Planwerk) -> None:
    run = await planwerk.host.start("late-leaver", JobStart(name="late"), actor=ADA)
    await planwerk.host.result(run)

    await asyncio.sleep(10)

    assert JOBS == ["late begins", "late ends"]


async def test_one_that_cannot_be_run_is_recorded_as_failed(planwerk: Planwerk) -> None:
    await leave(planwerk, Detached(profile="nobody", start=JobStart(name="x"), order_key="o"), job("b", order_key="o"))
    await asyncio.sleep(5)

    after, failed = sorted(await detached(planwerk), key=lambda record: record.status)
    assert failed.error is not None
    assert (failed.status, failed.error["code"]) == ("failed", "profile_not_found")
    assert after.status == "completed"
    with pytest.raises(RunFailed, match="there is no profile 'nobody'"):
        await planwerk.host.result(RunId(failed.run))


async def test_runs_that_start_each_other_end(planwerk: Planwerk) -> None:
    await planwerk.host.start("endless", JobStart(name="x"), actor=SystemActor(name="schedule"))
    await asyncio.sleep(30)

    assert JOBS == ["again"] * 4
    [error] = [record.error for record in await detached(planwerk) if record.error is not None]
    assert error["code"] == AgentsTooDeep.code
    assert "the chain endless>Endless>Endless>Endless has 4 runs" in error["message"]


async def test_what_is_read_again_after_a_crash_opens_nothing_twice(planwerk: Planwerk) -> None:
    FAILS["b"] = 1
    run = await leave(planwerk, job("a", key="k"), job("b", order_key="o", backoff_seconds=1), job("c", order_key="o"))
    await asyncio.sleep(30)
    before = list(JOBS)
    again = planwerk.projector.detaching
    assert isinstance(again, Detaching)

    for item in await planwerk.stores.journal.feed(0, 1_000):
        opened = (await planwerk.host.entries(item.run))[0]
        assert isinstance(opened, journal.RunOpened)
        await again.follow(opened, item.entries)
    await asyncio.sleep(30)

    assert before == JOBS
    assert len(before) == 7
    opened = (await planwerk.host.entries(run))[0]
    assert isinstance(opened, journal.RunOpened)


async def test_an_installation_counts_the_children_of_a_run_and_shows_whose_they_are(planwerk: Planwerk) -> None:
    run = await planwerk.host.start("asker", JobStart(name="x"), actor=ADA)

    assert await planwerk.host.result(run) == JobStop(text="AgentEndedEvent")

    await asyncio.sleep(1)
    [child] = [record for record in await planwerk.stores.records.newest("default") if record.parent_run == run]
    assert (child.blueprint, child.owner, child.status) == ("Job", "ada", "completed")


def test_a_key_names_one_run_in_a_tenant() -> None:
    def named(tenant: str, key: str | None, event: str = "e") -> str:
        opened = journal.RunOpened(RunId("run"), 1, "B", "f", {}, {}, tenant)
        return detached_id(opened, event, job("a", key=key))  # pyright: ignore[reportArgumentType]

    assert named("t", "k") == named("t", "k", "another")
    assert len({named("t", "k"), named("u", "k"), named("t", "l"), named("t", None), named("t", None, "f")}) == 5
