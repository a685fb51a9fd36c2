"""One run, driven: what is journaled, what a stop does, how failures end (E2.3, E2.5, E4, E7.2)."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest

from planwerk.runtime.attempts import wait_seconds
from planwerk.runtime.driver import RunDriver
from planwerk.runtime.errors import RunFailed
from planwerk.runtime.execution import ExecutionInfo
from planwerk.runtime.local import LocalRuntime, make_context
from planwerk.storage.in_memory.journal import InMemoryJournal
from planwerk.testing.virtual_clock import virtual_time
from planwerk.workflow import entries as journal
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.entries import RunOpened
from planwerk.workflow.events import ControlEvent, DisplayEvent, Event, ExceptionEvent, StartEvent, StopEvent
from planwerk.workflow.ids import ExecutionId, RunId
from planwerk.workflow.steps import Retry, step


class DriverStart(StartEvent):
    number: int = 0


class DriverWork(ControlEvent):
    number: int


class DriverDone(ControlEvent):
    name: str


class DriverShown(DisplayEvent):
    text: str


class DriverStop(StopEvent):
    names: tuple[str, ...] = ()


DELAYS = [0.04, 0.01, 0.03, 0.02]


class Delayed(Agent):
    """Fans out four pieces of work of different length."""

    delays = DELAYS

    @step()
    async def split(self, start: DriverStart) -> list[DriverWork]:
        return [DriverWork(number=number) for number in range(4)]

    @step()
    async def work(self, work: DriverWork) -> DriverDone:
        await asyncio.sleep(self.delays[work.number])
        return DriverDone(name="ABCD"[work.number])

    @step()
    async def join(self, start: DriverStart, done: list[DriverDone]) -> DriverStop:
        return DriverStop(names=tuple(event.name for event in done))


@pytest.fixture
def store() -> InMemoryJournal:
    return InMemoryJournal()


@pytest.fixture
def runtime(store: InMemoryJournal) -> LocalRuntime:
    return LocalRuntime(store)


async def entries_of(store: InMemoryJournal, driver: RunDriver) -> list[journal.Entry]:
    assert driver.opened is not None
    return await store.read(driver.opened.run)


async def resumed(runtime: LocalRuntime, first: RunDriver) -> RunDriver:
    """A driver that has taken the run over."""
    again = runtime.driver(first.program, first.config)
    await again.resume(await runtime.journal.read(first.run))
    return again


class Raising(Agent):
    """Fails at once."""

    @step()
    async def fail(self, start: DriverStart) -> DriverStop:
        raise ValueError("boom")


async def test_awaiting_a_failed_run_raises_its_error(runtime: LocalRuntime) -> None:
    with pytest.raises(RunFailed, match="boom") as raised:
        await runtime.run(Raising, DriverStart())

    assert raised.value.event.error_type == "ValueError"


touched: list[str] = []


class DriverOther(ControlEvent):
    pass


class EarlyStop(Agent):
    """Stops while a sibling still works."""

    @step()
    async def fast(self, start: DriverStart) -> DriverStop:
        return DriverStop()

    @step()
    async def slow(self, start: DriverStart) -> DriverOther:
        await asyncio.sleep(0.2)
        touched.append("slow")
        return DriverOther()

    @step()
    async def after(self, other: DriverOther) -> DriverStop:
        return DriverStop()


class TitledStop(Agent):
    """Shows a title that comes after the stop, within the grace."""

    @step()
    async def answer(self, start: DriverStart) -> DriverStop:
        return DriverStop()

    @step(stop_on_error=False)
    async def title(self, start: DriverStart) -> DriverShown:
        await asyncio.sleep(3)
        return DriverShown(text="late")


async def test_what_only_displays_gets_a_grace_after_the_stop(runtime: LocalRuntime, store: InMemoryJournal) -> None:
    with virtual_time():
        run = await runtime.run_to_end(TitledStop, DriverStart())

    found = await entries_of(store, run.driver)
    kinds = [type(entry).__name__ for entry in found]
    assert kinds.index("StopReached") < kinds.index("RunEnded")
    shown = [entry.event for entry in found if isinstance(entry, journal.EventPublished)]
    assert any(isinstance(event, DriverShown) for event in shown)
    assert isinstance(found[-1], journal.RunEnded)
    assert found[-1].status == "completed"


attempts: list[float] = []


class Flaky(Agent):
    """Fails twice, then works."""

    @step(retry=Retry(times=2, backoff_seconds=1))
    async def work(self, start: DriverStart) -> DriverStop:
        attempts.append(asyncio.get_running_loop().time())
        if len(attempts) < 3:
            raise RuntimeError("not yet")
        return DriverStop()


async def test_a_failing_step_is_tried_again_with_doubling_waits(runtime: LocalRuntime) -> None:
    attempts.clear()
    with virtual_time():
        await runtime.run(Flaky, DriverStart())

    waits = [round(later - earlier) for earlier, later in itertools.pairwise(attempts)]
    assert waits == [1, 2]


class Slow(Agent):
    """Takes too long."""

    @step(timeout_seconds=5)
    async def work(self, start: DriverStart) -> DriverStop:
        await asyncio.sleep(60)
        return DriverStop()


async def test_a_step_that_takes_too_long_ends_the_run_with_its_name(runtime: LocalRuntime) -> None:
    with virtual_time(), pytest.raises(RunFailed) as raised:
        await runtime.run(Slow, DriverStart())

    assert raised.value.event.code == "step_timed_out"
    assert raised.value.event.step == "work"


class Optional(Agent):
    """One branch fails, and the run goes on."""

    @step()
    async def begin(self, start: DriverStart) -> tuple[DriverWork, DriverOther]:
        return DriverWork(number=1), DriverOther()

    @step(stop_on_error=False)
    async def risky(self, other: DriverOther) -> DriverDone:
        raise RuntimeError("broken")

    @step()
    async def finish(self, work: DriverWork, done: DriverDone | None) -> DriverStop:
        return DriverStop(names=("with",) if done else ("without",))


async def test_a_failure_that_may_be_counts_as_an_end_without_an_event_and_warns(
    runtime: LocalRuntime, store: InMemoryJournal
) -> None:
    run = await runtime.run_to_end(Optional, DriverStart())

    assert run.stop == DriverStop(names=("without",))
    found = await entries_of(store, run.driver)
    warnings = [
        e.event for e in found if isinstance(e, journal.EventPublished) and e.event.event_type == "StepWarningEvent"
    ]
    assert len(warnings) == 1


class Undeclared(Agent):
    """Returns what it does not declare."""

    @step()
    async def begin(self, start: DriverStart) -> DriverStop:
        return DriverWork(number=1)  # pyright: ignore[reportReturnType] - the mistake under test


async def test_returning_an_undeclared_class_is_an_error_that_names_step_and_class(runtime: LocalRuntime) -> None:
    with pytest.raises(RunFailed, match="begin returned DriverWork"):
        await runtime.run(Undeclared, DriverStart())


class Generating(Agent):
    """Shows things while it works, and returns control events together."""

    @step()
    async def begin(self, start: DriverStart) -> AsyncIterator[DriverShown | DriverWork]:
        yield DriverShown(text="one")
        yield DriverWork(number=1)
        await asyncio.sleep(5)
        yield DriverWork(number=2)

    @step()
    async def join(self, start: DriverStart, works: list[DriverWork]) -> DriverStop:
        return DriverStop(names=tuple(str(work.number) for work in works))


async def test_a_generator_shows_at_once_and_publishes_its_control_events_together(
    runtime: LocalRuntime, store: InMemoryJournal
) -> None:
    with virtual_time():
        driver = await runtime.start(Generating, DriverStart())
        await asyncio.sleep(1)
        halfway = await entries_of(store, driver)
        await driver.wait_ended()

    events = [entry.event for entry in halfway if isinstance(entry, journal.EventPublished)]
    assert [type(event).__name__ for event in events] == ["DriverStart", "DriverShown"]
    assert driver.schedule.stop == DriverStop(names=("1", "2"))


class Endless(Agent):
    """Waits for ever."""

    @step()
    async def wait(self, start: DriverStart) -> DriverStop:
        await asyncio.Event().wait()
        return DriverStop()


async def test_stopping_a_run_cancels_its_steps_and_ends_it_as_stopped(runtime: LocalRuntime) -> None:
    with virtual_time():
        driver = await runtime.start(Endless, DriverStart())
        await driver.stop("Anna")
        ended = await driver.wait_ended()

    assert ended.status == "stopped"
    assert ended.error is not None
    assert "Anna" in ended.error.message


async def test_a_run_that_works_past_its_deadline_fails(store: InMemoryJournal) -> None:
    runtime = LocalRuntime(store)
    with virtual_time():
        program = runtime.program(Endless, DriverStart, Endless.config)
        driver = RunDriver(
            program, store, config=Endless.config(), make_context=make_context, clock=lambda: 0, deadline_seconds=60
        )
        await driver.open(_opened(), DriverStart())
        ended = await driver.wait_ended()

    assert ended.error is not None
    assert ended.error.code == "run_deadline_exceeded"


def _opened() -> RunOpened:
    return RunOpened(RunId("r"), 0, "Endless", "", {}, {}, "default")


async def crashed(runtime: LocalRuntime, driver: RunDriver) -> tuple[LocalRuntime, RunDriver]:
    """The next owner after the process of this driver died: what it had written is all there is."""
    left = InMemoryJournal()
    await left.append(driver.run, await runtime.journal.read(driver.run), expected_version=0, fence=0)
    await driver.release()
    other = LocalRuntime(left)
    return other, await resumed(other, driver)


async def test_a_step_that_was_in_flight_at_each_crash_ends_the_run(runtime: LocalRuntime) -> None:
    with virtual_time():
        driver = await runtime.start(Endless, DriverStart())
        for _ in range(3):
            assert not driver.is_over
            runtime, driver = await crashed(runtime, driver)
        ended = await driver.wait_ended()

    assert ended.status == "failed"
    assert ended.error is not None
    assert ended.error.code == "poison_step"
    assert "wait" in ended.error.message


async def test_a_run_that_is_handed_over_often_is_not_taken_for_a_poison_step(
    runtime: LocalRuntime, store: InMemoryJournal
) -> None:
    with virtual_time():
        driver = await runtime.start(Endless, DriverStart())
        for _ in range(5):
            await driver.release()
            driver = await resumed(runtime, driver)
        await driver.stop("Anna")
        ended = await driver.wait_ended()

    assert ended.status == "stopped"
    found = await entries_of(store, driver)
    assert [entry.attempt for entry in found if isinstance(entry, journal.ExecutionStarted)] == [2, 3, 4, 5, 6]


async def test_an_owner_that_finds_a_stop_without_an_end_ends_the_run_and_runs_nothing(
    runtime: LocalRuntime, store: InMemoryJournal
) -> None:
    with virtual_time():
        run = await runtime.run_to_end(EarlyStop, DriverStart())
        whole = await entries_of(store, run.driver)
        cut = InMemoryJournal()
        opened = run.driver.opened
        assert opened is not None
        until = next(index for index, entry in enumerate(whole) if isinstance(entry, journal.StopReached)) + 1
        await cut.append(opened.run, whole[:until], expected_version=0, fence=0)
        touched.clear()
        other = LocalRuntime(cut)
        driver = await resumed(other, run.driver)
        ended = await driver.wait_ended()
        await asyncio.sleep(1)

    assert ended.status == "completed"
    assert touched == []


async def test_a_worker_that_lost_its_lease_writes_nothing_more(runtime: LocalRuntime, store: InMemoryJournal) -> None:
    from planwerk.runtime.errors import RunLost

    with virtual_time():
        driver = await runtime.start(Delayed, DriverStart())
        assert driver.opened is not None
        await store.append(driver.opened.run, [journal.OwnershipTaken(1, 0)], expected_version=driver.version, fence=1)
        with pytest.raises(RunLost):
            await driver.wait_ended()

    found = await entries_of(store, driver)
    assert isinstance(found[-1], journal.OwnershipTaken)


async def test_a_fresh_blueprint_serves_each_execution(runtime: LocalRuntime) -> None:
    owners: set[int] = set()
    kept: list[object] = []

    class Fresh(Agent):
        """Remembers which objects served it."""

        @step()
        async def split(self, start: DriverStart) -> list[DriverWork]:
            owners.add(id(self))
            kept.append(self)
            return [DriverWork(number=1), DriverWork(number=2)]

        @step()
        async def work(self, work: DriverWork) -> DriverDone:
            owners.add(id(self))
            kept.append(self)
            return DriverDone(name="x")

        @step()
        async def join(self, start: DriverStart, done: list[DriverDone]) -> DriverStop:
            return DriverStop()

    await runtime.run(Fresh, DriverStart())

    assert len(owners) == 3


def events_of(found: list[journal.Entry]) -> list[Event]:
    return [entry.event for entry in found if isinstance(entry, journal.EventPublished)]


class SlowOnce(Agent):
    """Takes too long the first time."""

    @step(timeout_seconds=5, retry=Retry(times=1))
    async def work(self, start: DriverStart, info: ExecutionInfo) -> DriverStop:
        await asyncio.sleep(60 if info.attempt == 1 else 1)
        return DriverStop()


async def test_a_step_that_took_too_long_is_tried_again_as_its_retry_says(
    store: InMemoryJournal,
) -> None:
    with virtual_time():
        run = await LocalRuntime(store).run_to_end(SlowOnce, DriverStart())

    failed = [entry for entry in await entries_of(store, run.driver) if isinstance(entry, journal.AttemptFailed)]
    assert run.stop == DriverStop()
    assert [entry.error.code for entry in failed] == ["step_timed_out"]


tried: list[tuple[int, float]] = []


class RetriedLater(Agent):
    """Fails twice, with a long wait after each."""

    @step(retry=Retry(times=2, backoff_seconds=100))
    async def work(self, start: DriverStart, info: ExecutionInfo) -> DriverStop:
        tried.append((info.attempt, asyncio.get_running_loop().time()))
        if len(tried) < 4:
            await asyncio.sleep(1)
            raise RuntimeError("not yet")
        return DriverStop()


async def test_a_run_taken_over_while_a_step_waits_for_its_retry_goes_on_waiting(store: InMemoryJournal) -> None:
    tried.clear()
    with virtual_time() as clock:
        runtime = LocalRuntime(store, clock=lambda: int(clock.time() * 1e6))
        first = await runtime.start(RetriedLater, DriverStart())
        await asyncio.sleep(50)
        await first.release()
        second = await resumed(runtime, first)
        await asyncio.sleep(0)
        assert [attempt for attempt, _ in tried] == [1]
        await asyncio.sleep(70)

    assert [attempt for attempt, _ in tried] == [1, 2]
    assert 100 <= tried[1][1] - tried[0][1] - 1 <= 110
    await second.release()


async def test_an_attempt_whose_worker_died_uses_up_no_retry(store: InMemoryJournal) -> None:
    tried.clear()
    with virtual_time() as clock:
        runtime = LocalRuntime(store, clock=lambda: int(clock.time() * 1e6))
        first = await runtime.start(RetriedLater, DriverStart())
        await asyncio.sleep(0.5)
        first.lose(RuntimeError("gone"))
        second = await resumed(runtime, first)
        await second.wait_ended()

    assert [attempt for attempt, _ in tried] == [1, 2, 3, 4]
    assert second.schedule.stop == DriverStop()


def test_what_failed_together_does_not_come_back_together() -> None:
    waits = {wait_seconds(Retry(times=3, backoff_seconds=2), 2, ExecutionId(f"x{number}")) for number in range(50)}

    assert len(waits) == 50
    assert min(waits) >= 4
    assert max(waits) <= 4.4


class DriverLeft(ControlEvent):
    pass


class DriverRight(ControlEvent):
    pass


class ReturnsPairs(Agent):
    """Names a pair with a list, one alone, and a choice; returns what the start says."""

    given: Any = None

    @step()
    async def begin(
        self, start: DriverStart
    ) -> tuple[DriverLeft, list[DriverWork | DriverDone]] | tuple[DriverLeft, DriverRight] | DriverRight:
        return self.given

    @step()
    async def end(
        self,
        left: DriverLeft | None,
        right: DriverRight | None,
        work: list[DriverWork] | None,
        done: list[DriverDone] | None,
    ) -> DriverStop:
        return DriverStop()


LEFT, RIGHT, WORK, DONE = DriverLeft(), DriverRight(), DriverWork(number=1), DriverDone(name="a")


GIVEN: list[tuple[Any, bool]] = [
    (RIGHT, True),
    ([RIGHT], True),
    ((LEFT, RIGHT), True),
    ((LEFT, [WORK, DONE, WORK]), True),
    ((LEFT, []), True),
    (LEFT, True),
    (None, False),
    ([], False),
    ((RIGHT, LEFT), False),
    ((RIGHT, RIGHT), False),
    ([WORK], False),
    ((LEFT, RIGHT, WORK), False),
]


@pytest.mark.parametrize(("given", "fits"), GIVEN, ids=str)
async def test_what_a_step_returns_together_is_one_alternative_of_its_annotation(
    runtime: LocalRuntime, given: Any, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ReturnsPairs, "given", given)

    run = await runtime.run_to_end(ReturnsPairs, DriverStart())

    code = run.stop.code if isinstance(run.stop, ExceptionEvent) else ""
    assert code == ("" if fits else "undeclared_output")


class CountedTooOften(Agent):
    """Four pieces of work, of which a step may do three."""

    @step()
    async def split(self, start: DriverStart) -> list[DriverWork]:
        return [DriverWork(number=number) for number in range(start.number)]

    @step(max_executions_per_run=3)
    async def work(self, work: DriverWork) -> DriverDone:
        await asyncio.sleep(1)
        return DriverDone(name="done")

    @step()
    async def join(self, start: DriverStart, done: list[DriverDone]) -> DriverStop:
        return DriverStop(names=tuple(each.name for each in done))


@pytest.mark.parametrize(("count", "code"), [(3, ""), (4, "too_many_executions")])
async def test_the_binding_beyond_the_limit_ends_the_run_and_names_the_step(
    runtime: LocalRuntime, store: InMemoryJournal, count: int, code: str
) -> None:
    with virtual_time():
        run = await runtime.run_to_end(CountedTooOften, DriverStart(number=count))

    failure = run.stop if isinstance(run.stop, ExceptionEvent) else None
    assert (failure.code if failure else "") == code
    assert (failure.step if failure else "work") == "work"
    assert [type(entry) for entry in await entries_of(store, run.driver)].count(journal.RunEnded) == 1


def _raising(work: DriverWork) -> bool:
    raise ValueError("no verdict")


class AskedInVain(Agent):
    """Its precondition raises."""

    @step()
    async def begin(self, start: DriverStart) -> DriverWork:
        return DriverWork(number=1)

    @step(precondition=_raising)
    async def work(self, work: DriverWork) -> DriverStop:
        return DriverStop()


async def test_a_precondition_that_raises_ends_the_run_with_its_error(runtime: LocalRuntime) -> None:
    run = await runtime.run_to_end(AskedInVain, DriverStart())

    assert isinstance(run.stop, ExceptionEvent)
    assert (run.stop.step, run.stop.error_type, run.stop.message) == ("work", "ValueError", "no verdict")


changed: list[int] = []


def _at_the_third_asking(work: DriverWork) -> bool:
    changed.append(work.number)
    return len(changed) > 2


class AskedWhenQuiet(Agent):
    """Held back until everything else is quiet, and asked anew only after something has changed."""

    @step()
    async def begin(self, start: DriverStart) -> tuple[DriverWork, DriverOther]:
        return DriverWork(number=1), DriverOther()

    @step()
    async def beside(self, other: DriverOther) -> DriverDone:
        await asyncio.sleep(1)
        return DriverDone(name="beside")

    @step()
    async def after(self, done: DriverDone) -> DriverShown:
        await asyncio.sleep(1)
        return DriverShown(text="after")

    @step(precondition=_at_the_third_asking)
    async def work(self, work: DriverWork) -> DriverStop:
        return DriverStop()


async def test_a_binding_that_was_held_back_is_asked_once_more_when_its_scope_would_be_quiet(
    runtime: LocalRuntime,
) -> None:
    changed.clear()
    with virtual_time():
        run = await runtime.run_to_end(AskedWhenQuiet, DriverStart())

    assert isinstance(run.stop, ExceptionEvent)
    assert run.stop.code == "run_stalled"
    assert "work is held back by its precondition" in run.stop.message
    assert changed == [1, 1]
