"""Asking people and waiting for a time: what a run does meanwhile, and what it counts (E8.1, E8.3, ENG-05, ENG-25)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from planwerk.runtime.driver import RunDriver
from planwerk.runtime.local import LocalRuntime, make_context
from planwerk.storage.in_memory.journal import InMemoryJournal
from planwerk.testing.runs import Unanswered, run_workflow
from planwerk.testing.virtual_clock import virtual_clock, virtual_time
from planwerk.workflow import entries as journal
from planwerk.workflow.blueprint import Agent, AgentConfig
from planwerk.workflow.errors import ScheduleError
from planwerk.workflow.events import ControlEvent, StartEvent, StopEvent
from planwerk.workflow.ids import RunId
from planwerk.workflow.people import AnswerInvalid, HumanInTheLoop
from planwerk.workflow.steps import step
from planwerk.workflow.timers import Timer


class PeopleStart(StartEvent):
    seconds: float = 0.0
    timeout_seconds: float | None = None


class PeopleStop(StopEvent):
    said: tuple[str, ...] = ()


class AskBudget(HumanInTheLoop.Input):
    """Asks what may be spent."""


class AskOk(HumanInTheLoop.Confirmation):
    """Asks whether it is fine."""


class Budgeted(Agent):
    """Works, asks, works again."""

    works_seconds = 10.0
    after_seconds = 0.0

    @step()
    async def ask(self, start: PeopleStart) -> AskBudget:
        await asyncio.sleep(self.works_seconds)
        return AskBudget(question="How much?", timeout_seconds=start.timeout_seconds)

    @step()
    async def spend(self, answer: AskBudget.Answered) -> PeopleStop:
        await asyncio.sleep(self.after_seconds)
        return PeopleStop(said=(answer.text,))

    @step()
    async def give_up(self, late: AskBudget.TimedOut) -> PeopleStop:
        return PeopleStop(said=("too late",))


async def test_an_answer_is_delivered_as_the_class_of_the_request_it_is_given_to() -> None:
    result = await run_workflow(Budgeted, PeopleStart(), respond={AskBudget: "100"})

    assert result.stop == PeopleStop(said=("100",))
    assert result.of(AskBudget.Answered)[0].event_type == "AskBudgetInputAnsweredEvent"


async def test_a_request_nobody_answers_in_time_is_answered_by_its_timed_out() -> None:
    result = await run_workflow(Budgeted, PeopleStart(timeout_seconds=3_600))

    assert result.stop == PeopleStop(said=("too late",))
    asked, late = (
        entry
        for entry in result.journal
        if isinstance(entry, journal.EventPublished) and isinstance(entry.event, AskBudget | AskBudget.TimedOut)
    )
    assert late.at - asked.at == pytest.approx(3_600e6, abs=1e4)
    assert late.answers == result.journal.index(asked) + 1
    assert late.actor is None


async def test_a_run_that_waits_for_ever_in_a_test_says_what_is_missing() -> None:
    with pytest.raises(Unanswered, match="AskBudget"):
        await run_workflow(Budgeted, PeopleStart())


async def test_an_answer_that_does_not_fit_is_refused_before_it_reaches_the_run() -> None:
    with pytest.raises(AnswerInvalid, match="valid string"):
        await run_workflow(Budgeted, PeopleStart(), respond=lambda request: {"text": 7})


class PeopleQuestion(ControlEvent):
    number: int


class AskSame(HumanInTheLoop.Input):
    """The same question from every branch."""


class Answers(ControlEvent):
    said: str


class ThreeBranches(Agent):
    """Three branches ask the same at once."""

    @step()
    async def fan(self, start: PeopleStart) -> list[AskSame]:
        return [AskSame(question="ok?")] * 3

    @step()
    async def told(self, answer: AskSame.Answered) -> Answers:
        return Answers(said=answer.text)

    @step()
    async def join(self, start: PeopleStart, answers: list[Answers] | None) -> PeopleStop:
        return PeopleStop(said=tuple(answer.said for answer in answers or ()))


@pytest.fixture
async def driven() -> AsyncIterator[LocalRuntime]:
    with virtual_time():
        yield LocalRuntime(InMemoryJournal(), clock=virtual_clock())


async def test_three_identical_questions_are_told_apart_by_their_requests(driven: LocalRuntime) -> None:
    driver = await driven.start(ThreeBranches, PeopleStart())
    await waits(driver)
    first, second, third = driver.schedule.requests
    ids = {opened.entry.id for opened in driver.schedule.requests.values()}

    await driver.answer(second, AskSame.Answered(text="n1"))
    still_open = list(driver.schedule.requests)
    await driver.answer(third, AskSame.Answered(text="n2"))
    await driver.answer(first, AskSame.Answered(text="n3"))
    await driver.wait_ended()

    assert len(ids) == 3
    assert still_open == [first, third]
    assert driver.schedule.stop == PeopleStop(said=("n3", "n1", "n2"))  # ENG-05


async def test_a_second_answer_to_a_request_is_refused(driven: LocalRuntime) -> None:
    driver = await driven.start(ThreeBranches, PeopleStart())
    await waits(driver)
    first = next(iter(driver.schedule.requests))
    await driver.answer(first, AskSame.Answered(text="once"))

    with pytest.raises(ScheduleError, match="answered before"):
        await driver.answer(first, AskSame.Answered(text="twice"))

    answers = [e for e in await driven.journal.read(driver.run) if isinstance(e, journal.EventPublished) and e.answers]
    assert len(answers) == 1


@pytest.mark.parametrize(("work_seconds", "ends"), [(45.0, "completed"), (55.0, "failed")])
@pytest.mark.parametrize("restarted", [False, True])
async def test_time_in_which_a_person_is_awaited_is_not_activity(
    driven: LocalRuntime, work_seconds: float, ends: str, restarted: bool
) -> None:
    class Patient(Budgeted):
        """Works for 10 seconds, asks, and works again."""

        after_seconds = work_seconds

    driver = patient(driven, Patient)
    await driver.open(opened(driven, Patient), PeopleStart())
    await waits(driver)
    if restarted:
        assert driver.park()
        await asyncio.sleep(3_600)
        driver = patient(driven, Patient)
        await driver.resume(await driven.journal.read(RunId("patient")))
    await asyncio.sleep(3 * 3_600)

    assert driver.tally.active_microseconds == pytest.approx(10e6, abs=1e4)
    await driver.answer(next(iter(driver.schedule.requests)), AskBudget.Answered(text="go on"))
    ended = await driver.wait_ended()

    assert ended.status == ends  # ENG-25: a limit of 60 s of activity, of which 10 s were used before the question
    assert (ended.error.code if ended.error else None) == (None if ends == "completed" else "run_deadline_exceeded")


async def test_the_journal_of_a_run_that_waited_tells_the_same_activity_as_the_run(driven: LocalRuntime) -> None:
    driver = await driven.start(Budgeted, PeopleStart())
    await waits(driver)
    await asyncio.sleep(500)
    await driver.answer(next(iter(driver.schedule.requests)), AskBudget.Answered(text="1"))
    ended = await driver.wait_ended()

    again = patient(driven, Budgeted)
    await again.resume(await driven.journal.read(driver.run))

    assert ended.summary["active_seconds"] == pytest.approx(10, abs=0.01)
    assert again.tally.active_microseconds == pytest.approx(10e6, abs=1e4)


class Reminded(Agent):
    """Waits for a while, then stops."""

    @step()
    async def wait(self, start: PeopleStart) -> Timer:
        return Timer.after(start.seconds)

    @step()
    async def remind(self, fired: Timer.Fired) -> PeopleStop:
        return PeopleStop(said=("now",))


async def test_a_timer_fires_after_its_time(driven: LocalRuntime) -> None:
    began = driven_time()
    driver = await driven.start(Reminded, PeopleStart(seconds=86_400))
    await driver.wait_ended()

    assert driven_time() - began == pytest.approx(86_400, abs=0.01)
    assert driver.schedule.stop == PeopleStop(said=("now",))


@pytest.mark.parametrize("missing_seconds", [500.0, 5_000.0])
async def test_a_timer_fires_at_its_time_whoever_owns_the_run_then(
    driven: LocalRuntime, missing_seconds: float
) -> None:
    began = driven_time()
    driver = patient(driven, Reminded)
    await driver.open(opened(driven, Reminded), PeopleStart(seconds=1_000))
    await waits(driver)
    assert driver.park()
    await asyncio.sleep(missing_seconds)

    successor = patient(driven, Reminded)
    await successor.resume(await driven.journal.read(RunId("patient")))
    await successor.wait_ended()

    assert driven_time() - began == pytest.approx(max(1_000, missing_seconds), abs=1)
    fired = [e for e in await driven.journal.read(RunId("patient")) if isinstance(e, journal.EventPublished)]
    assert sum(isinstance(entry.event, Timer.Fired) for entry in fired) == 1


async def test_a_timer_may_name_a_point_in_time() -> None:
    class AtATime(Agent):
        """Waits until a time that has passed."""

        @step()
        async def wait(self, start: PeopleStart) -> Timer:
            return Timer.at(datetime(2020, 1, 1, tzinfo=UTC))

        @step()
        async def remind(self, fired: Timer.Fired) -> PeopleStop:
            return PeopleStop(said=("long ago",))

    result = await run_workflow(AtATime, PeopleStart())

    assert result.stop == PeopleStop(said=("long ago",))


async def test_a_stop_closes_what_is_open(driven: LocalRuntime) -> None:
    driver = await driven.start(Budgeted, PeopleStart(timeout_seconds=100))
    await waits(driver)
    request = next(iter(driver.schedule.requests))
    await driver.stop("Ada")
    await asyncio.sleep(200)

    with pytest.raises(ScheduleError, match="the run has stopped"):
        await driver.answer(request, AskBudget.Answered(text="1"))

    published = [e.event for e in await driven.journal.read(driver.run) if isinstance(e, journal.EventPublished)]
    assert not any(isinstance(event, AskBudget.TimedOut) for event in published)


async def test_a_run_that_works_is_not_let_go(driven: LocalRuntime) -> None:
    driver = await driven.start(Budgeted, PeopleStart())
    await asyncio.sleep(1)

    assert not driver.park()
    assert not driver.is_waiting


class AskTimeless(HumanInTheLoop.Input):
    """Nobody takes that it timed out."""


class Timeless(Agent):
    """Asks with a timeout that no step takes."""

    @step()
    async def ask(self, start: PeopleStart) -> AskTimeless:
        return AskTimeless(question="?", timeout_seconds=start.timeout_seconds)

    @step()
    async def go_on(self, answer: AskTimeless.Answered) -> PeopleStop:
        return PeopleStop(said=(answer.text,))


async def test_a_timeout_that_no_step_takes_fails_where_it_is_asked_for() -> None:
    untimed = await run_workflow(Timeless, PeopleStart(), respond={AskTimeless: "fine"})
    timed = await run_workflow(Timeless, PeopleStart(timeout_seconds=5), respond={AskTimeless: "fine"})

    assert untimed.stop == PeopleStop(said=("fine",))
    assert timed.error is not None
    assert (timed.error.code, timed.error.step) == ("timeout_untaken", "ask")


async def test_an_answer_accepted_before_the_time_was_over_counts_though_it_comes_late(driven: LocalRuntime) -> None:
    driver = await driven.start(Budgeted, PeopleStart(timeout_seconds=100))
    looked: list[int] = []

    async def fetch(driver: RunDriver) -> None:
        looked.append(1)
        if len(looked) == 1:
            raise ConnectionError("the store is away")
        await driver.answer(next(iter(driver.schedule.requests)), AskBudget.Answered(text="in time"), {"kind": "user"})

    driver.fetch_answers = fetch
    await driver.wait_ended()

    assert driver.schedule.stop == PeopleStop(said=("in time",))
    assert len(looked) == 2
    answers = [e for e in await driven.journal.read(driver.run) if isinstance(e, journal.EventPublished) and e.answers]
    assert [entry.actor for entry in answers] == [{"kind": "user"}]


async def waits(driver: RunDriver) -> None:
    """Until the run waits for people or timers."""
    begun = asyncio.Event()
    driver.when_waiting = lambda _: begun.set()
    if not driver.is_waiting:
        await begun.wait()


def driven_time() -> float:
    return asyncio.get_running_loop().time()


def patient(runtime: LocalRuntime, blueprint: type[Agent]) -> RunDriver:
    """A driver whose run may be active for a minute."""
    program = runtime.program(blueprint, PeopleStart, AgentConfig)
    return RunDriver(
        program,
        runtime.journal,
        config=AgentConfig(),
        make_context=make_context,
        clock=runtime.clock,
        deadline_seconds=60,
    )


def opened(runtime: LocalRuntime, blueprint: type[Agent]) -> journal.RunOpened:
    program = runtime.program(blueprint, PeopleStart, AgentConfig)
    return journal.RunOpened(
        run=RunId("patient"),
        at=runtime.clock(),
        blueprint=blueprint.__name__,
        fingerprint=program.composition.fingerprint,
        config={},
        actor={"kind": "system", "name": "test"},
        tenant="default",
    )
