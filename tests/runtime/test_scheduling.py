"""Profiles run by their schedules: each occurrence at most once, and exactly once whatever dies in between (E8.3)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from planwerk.access.actors import UserActor
from planwerk.app import DEFAULT_TENANT, Planwerk
from planwerk.runtime.ports import RunFilter, RunRecord
from planwerk.runtime.profiles import Profile, ProfileArtifact
from planwerk.runtime.schedule_state import Occurrence
from planwerk.runtime.scheduling import ProfileHasNoSchedule, Schedules, ScheduleStillRunning
from planwerk.testing import ScriptedModel
from planwerk.testing.virtual_clock import virtual_time
from planwerk.workflow import entries as journal
from planwerk.workflow.agents import AgentInTheLoop
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import StartEvent, StopEvent
from planwerk.workflow.ids import ArtifactId, RunId, new_id
from planwerk.workflow.locale_string import LocaleString
from planwerk.workflow.steps import step
from planwerk.workspace.rules.commands import ArchiveArtifact, CreateArtifact

ADA = UserActor(id="ada", name="Ada")
WORKED: list[str] = []


class ReportStart(StartEvent):
    topic: str = "news"
    seconds: float = 0.0


class ReportStop(StopEvent):
    text: str = ""


class Report(Agent):
    """Writes a report."""

    @step()
    async def write(self, start: ReportStart) -> ReportStop:
        WORKED.append(start.topic)
        if start.topic == "broken":
            raise ValueError("no such topic")
        await asyncio.sleep(start.seconds)
        return ReportStop(text=start.topic)


class Editor(Agent):
    """Lets a report be written."""

    @step()
    async def ask(self, start: ReportStart) -> AgentInTheLoop:
        return AgentInTheLoop(blueprint=Report, start=ReportStart(topic="asked"))

    @step()
    async def end(self, found: AgentInTheLoop.Ended | AgentInTheLoop.Failed) -> ReportStop:
        return ReportStop(text=type(found).__name__)


class Clock:
    """Goes with the loop's virtual time, and can be set."""

    def __init__(self, begins: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._first = self._loop.time()
        self._begins = micros(begins)

    def __call__(self) -> int:
        return self._begins + round((self._loop.time() - self._first) * 1e6)

    def put_forward(self, **by: float) -> None:
        self._begins += round(timedelta(**by).total_seconds() * 1e6)


def micros(moment: str) -> int:
    return round(datetime.fromisoformat(moment).timestamp() * 1e6)


def at(moment: int) -> str:
    return datetime.fromtimestamp(moment / 1e6, UTC).strftime("%d %H:%M")


@dataclass(frozen=True)
class House:
    """An installation whose schedules are looked at when a test says so."""

    app: Planwerk
    clock: Clock

    async def profile(self, blueprint: type[Agent] = Report, **schedule: Any) -> Profile:
        """A profile that reports at seven o'clock UTC unless something else is said."""
        given = {"cron": "0 7 * * *", "event": {"topic": "news"}, **schedule}
        data = ProfileArtifact.model_validate(
            {
                "slug": "daily",
                "name": LocaleString(en="Daily report", de="Tagesbericht"),
                "blueprint": blueprint.__name__,
                "schedule": given,
            }
        )
        return await self.app.profiles.create(DEFAULT_TENANT, data, actor=ADA)

    async def now(self) -> Profile:
        return next(each for each in await self.app.profiles.all(DEFAULT_TENANT) if each.slug == "daily")

    async def edit(self, **schedule: Any) -> None:
        await self.app.profiles.edit(DEFAULT_TENANT, "daily", {"schedule": schedule}, actor=ADA)

    async def look(self) -> int | None:
        return await self.app.schedules.look(DEFAULT_TENANT, await self.now())

    async def recent(self) -> list[tuple[str, str]]:
        """Occurrences and what became of them, the newest first."""
        status = await self.app.schedules.status(await self.now())
        return [(at(each.at), each.outcome) for each in status.state.recent]

    async def runs(self) -> list[RunRecord]:
        return await self.app.host.newest(DEFAULT_TENANT, RunFilter(is_scheduled=True))

    async def ended(self, count: int) -> list[RunRecord]:
        """The scheduled runs once so many of them have ended, the newest first."""
        async with asyncio.timeout(3_600):
            while not _have_ended(runs := await self.runs(), count):  # noqa: ASYNC110 - records have no event for it
                await asyncio.sleep(0.5)
        return runs


def _have_ended(runs: list[RunRecord], count: int) -> bool:
    return len(runs) >= count and all(run.ended_microseconds is not None for run in runs)


@pytest.fixture(params=["in_memory", "sqlite"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return None if request.param == "in_memory" else tmp_path / "data.db"


@pytest.fixture
async def house(storage: Path | None) -> AsyncIterator[House]:
    WORKED.clear()
    with virtual_time():
        clock = Clock("2026-12-01T05:00:00+00:00")
        app = Planwerk((Report, Editor), storage=storage, model=ScriptedModel([]), clock=clock)
        await app.start(keep_schedules=False)
        try:
            yield House(app, clock)
        finally:
            await app.stop()


async def test_an_occurrence_is_run_once_however_often_it_is_looked(house: House) -> None:
    profile = await house.profile()
    assert await house.look() == micros("2026-12-01T07:00:00+00:00")
    assert await house.runs() == []

    house.clock.put_forward(hours=2)
    for _ in range(3):
        assert await house.look() == micros("2026-12-02T07:00:00+00:00")

    (run,) = await house.ended(1)
    assert (run.status, WORKED) == ("completed", ["news"])
    assert run.actor == {"kind": "system", "name": "schedule of daily"}
    assert (run.profile_name, run.profile_version, run.owner) == ("Daily report", profile.version, None)
    assert run.workspace == await house.app.profiles.home(DEFAULT_TENANT)
    assert run.scheduled_microseconds == micros("2026-12-01T07:00:00+00:00")
    assert await house.recent() == [("01 07:00", "started")]


async def test_two_that_look_at_once_run_it_once(house: House) -> None:
    await house.profile()
    await house.look()
    house.clock.put_forward(hours=2)

    await asyncio.gather(*(house.look() for _ in range(5)))

    await house.ended(1)
    assert WORKED == ["news"]
    assert await house.recent() == [("01 07:00", "started")]


async def test_occurrences_before_the_schedule_was_made_are_none_of_its(house: House) -> None:
    house.clock.put_forward(hours=2, minutes=30)
    await house.profile()

    assert await house.look() == micros("2026-12-02T07:00:00+00:00")

    assert await house.recent() == []


async def test_one_that_came_due_before_anybody_looked_is_caught_up(house: House) -> None:
    await house.profile()
    house.clock.put_forward(hours=2, minutes=30)

    await house.look()

    assert await house.recent() == [("01 07:00", "started")]


async def test_after_a_pause_of_the_server_only_the_newest_inside_the_window_is_run(house: House) -> None:
    await house.profile(cron="0 * * * *", catch_up_seconds=3_600 * 5)
    await house.look()
    house.clock.put_forward(hours=4, minutes=30)

    await house.look()

    await house.ended(1)
    assert WORKED == ["news"]
    assert await house.recent() == [("01 09:00", "started")]
    status = await house.app.schedules.status(await house.now())
    assert status.state.recent[0].passed_over


async def test_one_that_is_too_long_ago_is_missed_and_not_run(house: House) -> None:
    await house.profile(catch_up_seconds=3_600)
    await house.look()
    house.clock.put_forward(hours=3, minutes=1)

    assert await house.look() == micros("2026-12-02T07:00:00+00:00")

    assert await house.recent() == [("01 07:00", "missed")]
    assert await house.runs() == []


async def test_without_a_window_it_is_on_time_for_a_minute(house: House) -> None:
    await house.profile(catch_up_seconds=0)
    await house.look()

    house.clock.put_forward(hours=2, seconds=59)
    await house.look()
    house.clock.put_forward(days=1, seconds=2)
    await house.look()

    assert await house.recent() == [("02 07:00", "missed"), ("01 07:00", "started")]


async def test_while_the_run_before_works_an_occurrence_is_skipped_and_recorded(house: House) -> None:
    await house.profile(cron="0 * * * *", event={"topic": "long", "seconds": 100})
    await house.look()
    house.clock.put_forward(hours=1)
    await house.look()
    house.clock.put_forward(hours=1)

    await house.look()

    assert await house.recent() == [("01 07:00", "skipped"), ("01 06:00", "started")]
    await house.ended(1)
    house.clock.put_forward(hours=1)
    await house.look()
    assert (await house.recent())[0][1] == "started"


async def test_runs_may_overlap_where_the_schedule_says_so(house: House) -> None:
    await house.profile(cron="0 * * * *", event={"topic": "long", "seconds": 100}, while_running="start")
    await house.look()
    for _ in range(2):
        house.clock.put_forward(hours=1)
        await house.look()

    assert await house.recent() == [("01 07:00", "started"), ("01 06:00", "started")]
    await house.ended(2)


async def test_a_stopped_run_makes_room_for_the_next(house: House) -> None:
    await house.profile(cron="0 * * * *", event={"topic": "long", "seconds": 40_000})
    await house.look()
    house.clock.put_forward(hours=1)
    await house.look()
    (run,) = await house.runs()

    await house.app.host.stop(RunId(run.run), actor=ADA)

    (run,) = await house.ended(1)
    assert run.status == "stopped"
    house.clock.put_forward(hours=1)
    await house.look()
    assert await house.recent() == [("01 07:00", "started"), ("01 06:00", "started")]


async def test_a_clock_that_goes_back_runs_nothing_again(house: House) -> None:
    await house.profile()
    await house.look()
    house.clock.put_forward(hours=2)
    await house.look()
    house.clock.put_forward(hours=-1)
    assert await house.look() == micros("2026-12-02T07:00:00+00:00")

    house.clock.put_forward(hours=1)
    await house.look()

    await house.ended(1)
    assert WORKED == ["news"]


async def test_a_clock_that_was_years_ahead_does_not_silence_the_schedule(house: House) -> None:
    await house.profile()
    await house.look()
    house.clock.put_forward(days=1_000, hours=2)
    await house.look()
    house.clock.put_forward(days=-1_000)

    assert await house.look() == micros("2026-12-02T07:00:00+00:00")


async def test_a_paused_schedule_runs_nothing_and_catches_nothing_up(house: House) -> None:
    await house.profile(catch_up_seconds=7 * 86_400)
    await house.look()
    await house.edit(enabled=False)
    assert await house.look() is None
    house.clock.put_forward(days=2)
    assert await house.look() is None

    await house.edit(enabled=True)

    assert await house.look() == micros("2026-12-03T07:00:00+00:00")
    assert await house.recent() == []


async def test_a_changed_expression_counts_from_its_change_on(house: House) -> None:
    await house.profile()
    await house.look()
    house.clock.put_forward(hours=1)

    await house.edit(cron="30 5,8 * * *")

    assert await house.look() == micros("2026-12-01T08:30:00+00:00")
    house.clock.put_forward(hours=2, minutes=30)
    await house.look()
    assert await house.recent() == [("01 08:30", "started")]


async def test_another_topic_takes_nothing_from_what_is_due(house: House) -> None:
    await house.profile()
    await house.look()
    house.clock.put_forward(hours=2)

    await house.edit(event={"topic": "sports"})
    await house.look()

    await house.ended(1)
    assert WORKED == ["sports"]


async def test_what_cannot_start_is_a_failed_run_that_says_why(house: House) -> None:
    await house.profile()
    await house.look()
    space = house.app.workspaces.of(DEFAULT_TENANT, await house.app.profiles.home(DEFAULT_TENANT), ADA)
    stored = await space.artifact(ProfileArtifact, (await house.now()).artifact_id)
    assert stored.data.schedule is not None
    broken = stored.data.schedule.model_copy(update={"event": {"topic": 7}})
    await stored.edit(lambda data: setattr(data, "schedule", broken))
    house.clock.put_forward(hours=2)

    await house.look()
    await house.look()

    (run,) = await house.ended(1)
    assert run.status == "failed"
    assert run.error is not None
    assert run.error["code"] == "schedule_start_invalid"


async def test_failures_wait_until_somebody_puts_them_away(house: House) -> None:
    await house.profile(event={"topic": "broken"})
    await house.look()
    house.clock.put_forward(hours=2)
    for days in (1, 2):
        await house.look()
        await house.ended(days)
        house.clock.put_forward(days=1)
    status = await house.app.schedules.status(await house.now())
    assert [at(each.at) for each in status.failures] == ["02 07:00", "01 07:00"]

    await house.app.schedules.dismiss(await house.now(), status.failures[0].run or "")
    assert (await house.app.schedules.status(await house.now())).failures == []

    await house.look()
    await house.ended(3)
    assert len((await house.app.schedules.status(await house.now())).failures) == 1


async def test_run_now_starts_it_once_per_id_also_while_it_is_paused(house: House) -> None:
    await house.profile(enabled=False)
    named = RunId(new_id())

    for _ in range(2):
        assert await house.app.schedules.run_now(DEFAULT_TENANT, await house.now(), by="Ada", run=named) == named

    (run,) = await house.ended(1)
    assert (run.run, run.status, WORKED) == (named, "completed", ["news"])
    (kept,) = (await house.app.schedules.status(await house.now())).state.recent
    assert (kept.by, kept.outcome) == ("Ada", "started")


async def test_run_now_is_refused_while_a_run_works(house: House) -> None:
    await house.profile(event={"topic": "long", "seconds": 60})
    first = await house.app.schedules.run_now(DEFAULT_TENANT, await house.now(), by="Ada")

    with pytest.raises(ScheduleStillRunning, match=first):
        await house.app.schedules.run_now(DEFAULT_TENANT, await house.now(), by="Ben")

    await house.ended(1)
    await house.app.schedules.run_now(DEFAULT_TENANT, await house.now(), by="Ben")
    await house.ended(2)


async def test_a_profile_without_a_schedule_has_none_to_start(house: House) -> None:
    await house.profile()
    await house.app.profiles.edit(DEFAULT_TENANT, "daily", {"schedule": None}, actor=ADA)

    assert await house.look() is None
    with pytest.raises(ProfileHasNoSchedule):
        await house.app.schedules.run_now(DEFAULT_TENANT, await house.now(), by="Ada")
    with pytest.raises(ProfileHasNoSchedule):
        await house.app.schedules.status(await house.now())


async def test_runs_that_a_scheduled_run_asks_for_are_of_the_schedule_too(house: House) -> None:
    await house.profile(blueprint=Editor)

    await house.app.schedules.run_now(DEFAULT_TENANT, await house.now(), by="Ada")

    runs = await house.ended(2)
    assert {run.blueprint for run in runs} == {"Editor", "Report"}
    assert len({run.scheduled_microseconds for run in runs}) == 1


async def test_the_run_speaks_the_language_of_the_schedule(house: House) -> None:
    await house.profile(locale="de")

    run = await house.app.schedules.run_now(DEFAULT_TENANT, await house.now(), by="Ada")

    (opened, *_) = await house.app.host.entries(run)
    assert isinstance(opened, journal.RunOpened)
    assert (opened.locale, opened.profile_name) == ("de", "Tagesbericht")


# Crashes --------------------------------------------------------------------------------------------------------------


class Crashed(BaseException):
    """The process is gone."""


class Doomed:
    """A port whose process dies just before, or just after, one of its calls."""

    def __init__(self, port: Any, count: Callable[[], bool], *, after: bool) -> None:
        self._port, self._count, self._after = port, count, after

    def __getattr__(self, name: str) -> Any:
        async def call(*given: Any, **named: Any) -> Any:
            falls = self._count()
            if falls and not self._after:
                raise Crashed
            result = await getattr(self._port, name)(*given, **named)
            if falls:
                raise Crashed
            return result

        return call


async def die_at(house: House, call: int, *, after: bool) -> bool:
    """Look in a process that dies at this call of its ports; False once it has no such call any more."""
    left = call

    def count() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    stores = house.app.stores
    doomed: list[Any] = [
        Doomed(port, count, after=after) for port in (stores.journal, stores.queue, stores.contexts, stores.records)
    ]
    store, queue, contexts, records = doomed
    schedules = Schedules(
        profiles=house.app.profiles, store=store, queue=queue, contexts=contexts, records=records, clock=house.clock
    )
    try:
        await schedules.look(DEFAULT_TENANT, await house.now())
    except Crashed:
        return True
    return False


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_whatever_call_a_process_dies_at_each_occurrence_is_run_exactly_once(house: House, after: bool) -> None:
    await house.profile()
    await house.look()
    days, dies = 0, True
    house.clock.put_forward(hours=2)
    while dies:
        dies = await die_at(house, days, after=after)
        await house.look()  # the next process

        days += 1
        await house.ended(days)
        assert len(WORKED) == days, f"dying at call {days - 1}"
        assert [outcome for _, outcome in await house.recent()] == ["started"] * min(days, 20)
        house.clock.put_forward(days=1)
    assert days > 8  # as many places to die at, at least


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_a_run_that_a_crash_left_unopened_for_too_long_is_missed(house: House, after: bool) -> None:
    await house.profile(catch_up_seconds=60)
    await house.look()
    house.clock.put_forward(hours=2)
    outcomes: list[str] = []
    dies = True
    while dies:
        dies = await die_at(house, len(outcomes), after=after)
        house.clock.put_forward(hours=1)
        await house.look()

        outcomes.append((await house.recent())[0][1])
        await house.ended(outcomes.count("started"))
        house.clock.put_forward(hours=23)
    assert len(WORKED) == len(await house.runs()) == outcomes.count("started")
    assert set(outcomes) == {"started", "missed"}


# By itself ------------------------------------------------------------------------------------------------------------


async def keep(house: House) -> asyncio.Task[None]:
    """Let the installation look by itself from now on."""
    task = asyncio.create_task(house.app.scheduler.run())
    await asyncio.sleep(0.1)
    return task


async def leave(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


async def test_it_runs_at_its_time_day_by_day(house: House) -> None:
    await house.profile()
    task = await keep(house)

    for hours in (1, 23, 23):  # to an hour before it is due
        house.clock.put_forward(hours=hours)
        await asyncio.sleep(3_700)
        house.clock.put_forward(seconds=-100)

    await leave(task)
    times = [run.started_microseconds - (run.scheduled_microseconds or 0) for run in await house.ended(3)]
    assert WORKED == ["news"] * 3
    assert all(0 <= late < 1_000_000 for late in times)


async def test_a_change_takes_effect_without_a_restart(house: House) -> None:
    task = await keep(house)
    await house.profile(cron="0 0 1 1 *")
    await asyncio.sleep(1)
    await house.edit(cron="30 5 * * *")
    await asyncio.sleep(1_800)
    assert await house.recent() == [("01 05:30", "started")]

    await house.edit(enabled=False)
    house.clock.put_forward(days=1)
    await asyncio.sleep(61)
    assert len(await house.recent()) == 1

    await house.edit(enabled=True)
    await asyncio.sleep(1)
    house.clock.put_forward(days=1)
    await asyncio.sleep(61)
    assert len(await house.recent()) == 2

    space = house.app.workspaces.of(DEFAULT_TENANT, await house.app.profiles.home(DEFAULT_TENANT), ADA)
    await space.send(ArchiveArtifact(artifact_id=ArtifactId((await house.now()).artifact_id), archived=True))
    house.clock.put_forward(days=1)
    await asyncio.sleep(61)
    await leave(task)
    assert len(await house.ended(2)) == 2


async def test_it_ends_when_it_is_cancelled_while_a_profile_changes(house: House) -> None:
    await house.profile()
    for number in range(3):
        task = await keep(house)
        await house.app.profiles.edit(DEFAULT_TENANT, "daily", {"icon": f"clock-{number}"}, actor=ADA)

        task.cancel()
        done, _ = await asyncio.wait([task], timeout=5)

        assert done == {task}
        assert task.cancelled()


async def test_a_clock_that_is_put_forward_is_noticed_within_a_minute(house: House) -> None:
    await house.profile()
    task = await keep(house)

    house.clock.put_forward(hours=2)
    await asyncio.sleep(61)

    await leave(task)
    assert await house.recent() == [("01 07:00", "started")]


async def test_a_schedule_that_cannot_be_read_holds_up_no_other(house: House, caplog: pytest.LogCaptureFixture) -> None:
    await house.profile()
    space = house.app.workspaces.of(DEFAULT_TENANT, await house.app.profiles.home(DEFAULT_TENANT), ADA)
    stored = (await space.artifacts(ProfileArtifact))[-1]
    data = stored.data.to_data()
    unreadable: dict[str, Any] = {
        **data,
        "slug": "another",
        "schedule": {"cron": "0 7 * * *", "zone": "Mars/Olympus", "event": {}},
    }
    await space.send(CreateArtifact(artifact_id=ArtifactId(new_id()), artifact_type="profile", data=unreadable))
    task = await keep(house)

    await asyncio.sleep(2 * 3_600)

    await leave(task)
    assert await house.recent() == [("01 07:00", "started")]
    assert "Mars/Olympus" in caplog.text


async def test_of_two_servers_on_one_file_one_keeps_the_schedules_and_the_other_takes_over(tmp_path: Path) -> None:
    WORKED.clear()
    with virtual_time():
        clock = Clock("2026-12-01T05:00:00+00:00")
        first, second = (
            Planwerk((Report,), storage=tmp_path / "data.db", model=ScriptedModel([]), clock=clock) for _ in range(2)
        )
        await first.start()
        await House(first, clock).profile(cron="0 * * * *")
        await second.start()
        await asyncio.sleep(1)
        for _ in range(3):
            clock.put_forward(hours=1)
            await asyncio.sleep(61)
        assert WORKED == ["news"] * 3

        await first.stop()
        for _ in range(2):
            clock.put_forward(hours=1)
            await asyncio.sleep(61)

        recent = await House(second, clock).recent()
        await second.stop()
    assert WORKED == ["news"] * 5
    assert recent == [(f"01 {hour:02}:00", "started") for hour in (10, 9, 8, 7, 6)]


async def test_a_server_that_comes_back_catches_up_what_its_death_left(tmp_path: Path) -> None:
    WORKED.clear()
    with virtual_time():
        clock = Clock("2026-12-01T05:00:00+00:00")
        async with Planwerk((Report,), storage=tmp_path / "data.db", model=ScriptedModel([]), clock=clock) as app:
            await House(app, clock).profile(cron="0 * * * *", catch_up_seconds=2 * 3_600)
            await asyncio.sleep(3_700)
        clock.put_forward(hours=5, minutes=10)

        async with Planwerk((Report,), storage=tmp_path / "data.db", model=ScriptedModel([]), clock=clock) as app:
            house = House(app, clock)
            await house.ended(2)

            recent = await house.recent()
    assert recent == [("01 11:00", "started"), ("01 06:00", "started")]


def test_an_occurrence_is_written_and_read_as_it_is() -> None:
    from planwerk.runtime.schedule_state import ScheduleState

    state = ScheduleState("0 7 * * * UTC", 12, (Occurrence(12, "started", 13, "run", "Ada", passed_over=True),), 3)

    assert ScheduleState.read(state.write()) == state
    assert ScheduleState.read(None) == ScheduleState()
