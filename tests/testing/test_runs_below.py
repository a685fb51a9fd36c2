"""Runs that a run in a test asks for: in memory, on its virtual time, or played by the test (E10.1, E8.2, E8.4)."""

from __future__ import annotations

import asyncio
from typing import Literal

import pytest

from planwerk.runtime.errors import RunFailed
from planwerk.testing.runs import Unanswered, run_workflow
from planwerk.workflow.agents import AgentInTheLoop, Detached
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import ExceptionEvent, StartEvent, StopEvent
from planwerk.workflow.people import HumanInTheLoop
from planwerk.workflow.steps import step


class BelowStart(StartEvent):
    way: Literal["answer", "fail", "sleep", "ask"] = "answer"
    timeout_seconds: float | None = None


class BelowStop(StopEvent):
    text: str


class AskBelow(HumanInTheLoop.Input):
    """Asks from below."""


class Below(Agent):
    """Answers, fails, sleeps, or asks a person."""

    @step()
    async def work(self, start: BelowStart) -> BelowStop | AskBelow:
        match start.way:
            case "fail":
                raise ValueError("no")
            case "sleep":
                await asyncio.sleep(3_000)
            case "ask":
                return AskBelow(question="What?")
            case "answer":
                pass
        return BelowStop(text="done")

    @step()
    async def told(self, answer: AskBelow.Answered) -> BelowStop:
        return BelowStop(text=answer.text)


class AskAgentBelow(AgentInTheLoop):
    """Asks the agent below."""


class Above(Agent):
    """Asks, and says what came of it."""

    @step()
    async def ask(self, start: BelowStart) -> AskAgentBelow:
        return AskAgentBelow(profile="below", start=start, timeout_seconds=start.timeout_seconds)

    @step()
    async def end(self, found: AskAgentBelow.Ended) -> BelowStop:
        return BelowStop(text=found.text)

    @step()
    async def cope(self, failed: AskAgentBelow.Failed) -> BelowStop:
        return BelowStop(text=failed.code)

    @step()
    async def late(self, late: AskAgentBelow.TimedOut) -> BelowStop:
        return BelowStop(text="late")


class Leaving(Agent):
    """Leaves the same run behind twice, and one that fails."""

    @step()
    async def leave(self, start: BelowStart) -> tuple[list[Detached], BelowStop]:
        again = Detached(blueprint=Below, start=BelowStart(), key="once")
        failing = Detached(blueprint=Below, start=BelowStart(way="fail"), retries=1)
        return [again, again, failing], BelowStop(text="gone")


AGENTS = {"below": Below}


@pytest.mark.parametrize(("way", "text"), [("answer", "done"), ("fail", "step_failed"), ("sleep", "done")])
async def test_the_run_that_is_asked_for_is_run_too(way: Literal["answer", "fail", "sleep"], text: str) -> None:
    run = await run_workflow(Above, BelowStart(way=way), agents=AGENTS)

    assert run.stop == BelowStop(text=text)
    [child] = run.children
    assert (child.error is not None) == (way == "fail")


async def test_a_run_that_takes_too_long_is_stopped() -> None:
    run = await run_workflow(Above, BelowStart(way="sleep", timeout_seconds=10), agents=AGENTS)

    assert run.stop == BelowStop(text="late")
    [child] = run.children
    with pytest.raises(RunFailed, match="stopped by Above"):
        _ = child.stop


async def test_what_the_run_below_asks_a_person_is_answered_as_well() -> None:
    run = await run_workflow(Above, BelowStart(way="ask"), agents=AGENTS, respond={AskBelow: "this"})

    assert run.stop == BelowStop(text="this")


async def test_a_run_below_that_nobody_answers_says_so() -> None:
    with pytest.raises(Unanswered, match="AskBelow"):
        await run_workflow(Above, BelowStart(way="ask"), agents=AGENTS)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (BelowStop(text="played"), "played"),
        (AskAgentBelow.Ended(stop=BelowStop(text="played")), "played"),
        (ExceptionEvent(code="broken", message="It broke."), "broken"),
        (AskAgentBelow.TimedOut(), "late"),
    ],
)
async def test_a_test_may_answer_in_its_place(given: object, text: str) -> None:
    run = await run_workflow(Above, BelowStart(), respond={AskAgentBelow: given})

    assert run.stop == BelowStop(text=text)
    assert run.children == []


async def test_a_profile_that_no_blueprint_stands_for_is_not_found() -> None:
    run = await run_workflow(Above, BelowStart())

    assert run.stop == BelowStop(text="profile_not_found")


async def test_what_nobody_waits_for_is_run_once_per_key_and_tried_again() -> None:
    run = await run_workflow(Leaving, BelowStart())

    assert run.stop == BelowStop(text="gone")
    assert sorted(left.error.code if left.error is not None else "done" for left in run.detached) == [
        *("done", "step_failed", "step_failed"),
    ]


def test_answers_and_detached_runs_are_known_to_validation() -> None:
    class Careless(Agent):
        """Takes only one of the answers."""

        @step()
        async def ask(self, start: BelowStart) -> AskAgentBelow:
            return AskAgentBelow(blueprint=Below, start=start)

        @step()
        async def end(self, found: AskAgentBelow.Ended) -> BelowStop:
            return BelowStop(text=found.text)

    problems = [problem for problem in Careless.find_problems() if problem.severity == "error"]

    assert [problem.obligation for problem in problems] == ["E6.4"]
    assert "AskAgentBelowAgentFailedEvent" in problems[0].message
    assert [problem for problem in Above.find_problems() if problem.severity == "error"] == []
    assert [problem for problem in Leaving.find_problems() if problem.severity == "error"] == []
