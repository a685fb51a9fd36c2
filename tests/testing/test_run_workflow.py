"""A blueprint is tested by running it: in memory, on virtual time, with a scripted model (E10.1)."""

from __future__ import annotations

import asyncio

import pytest

from planwerk.access.identity import UserIdentity
from planwerk.blueprints.llm_wrapping_agent import LLMWrappingAgent
from planwerk.messages.events import FollowUpsSuggestedEvent, LLMStopEvent, SteeringMessageEvent, TitleSuggestedEvent
from planwerk.runtime.errors import RunFailed
from planwerk.testing import ScriptedModel, Stream, run_workflow
from planwerk.testing.runs import CannotBeSteered
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.errors import WorkflowError
from planwerk.workflow.events import ControlAndDisplayEvent, ControlEvent, Event, StartEvent, StopEvent
from planwerk.workflow.steps import step


async def test_a_chat_blueprint_plays_a_scripted_answer() -> None:
    result = await run_workflow(
        LLMWrappingAgent,
        "Plan a trip to Oslo in May",
        model=ScriptedModel(["Go by train."], tasks={"title": "Trip to Oslo", "follow_ups": "When does it leave?"}),
        user=UserIdentity(id="u1", name="Anna"),
    )

    assert isinstance(result.stop, LLMStopEvent)
    assert result.stop.answer.text == "Go by train."
    assert [event.title for event in result.of(TitleSuggestedEvent)] == ["Trip to Oslo"]
    assert result.of(FollowUpsSuggestedEvent)


async def test_a_run_that_fails_does_not_raise_until_its_stop_is_asked_for() -> None:
    result = await run_workflow(
        LLMWrappingAgent, "Hello there, explain gravity", model=ScriptedModel([Stream("A", ConnectionError("cut"))])
    )

    assert result.error is not None
    assert result.error.code == "model_broke_off"
    with pytest.raises(RunFailed):
        _ = result.stop


class WorkflowPlayStart(StartEvent):
    pass


class WorkflowPlayTick(ControlEvent):
    count: int


class WorkflowPlayStop(StopEvent):
    slept: float


class Sleeper(Agent):
    """Sleeps for most of an hour."""

    @step()
    async def sleep(self, start: WorkflowPlayStart) -> WorkflowPlayTick:
        await asyncio.sleep(3_000)
        return WorkflowPlayTick(count=1)

    @step()
    async def wake(self, tick: WorkflowPlayTick) -> WorkflowPlayStop:
        return WorkflowPlayStop(slept=3_000)


async def test_an_hour_of_sleep_takes_no_time() -> None:
    result = await run_workflow(Sleeper, WorkflowPlayStart())

    assert result.stop == WorkflowPlayStop(slept=3_000)
    assert result.of(WorkflowPlayTick) == [WorkflowPlayTick(count=1)]


class WorkflowPlayAnswered(ControlAndDisplayEvent):
    text: str


class WorkflowPlayQuestion(ControlAndDisplayEvent):
    text: str


WorkflowPlayQuestion.answered_by = (WorkflowPlayAnswered,)


class Asker(Agent):
    """Asks a person."""

    @step()
    async def ask(self, start: WorkflowPlayStart) -> WorkflowPlayQuestion:
        return WorkflowPlayQuestion(text="How long?")

    @step()
    async def finish(self, answer: WorkflowPlayAnswered) -> WorkflowPlayStop:
        return WorkflowPlayStop(slept=float(answer.text))


async def test_requests_to_people_are_answered_by_respond() -> None:
    result = await run_workflow(Asker, WorkflowPlayStart(), respond=lambda question: WorkflowPlayAnswered(text="7"))

    assert result.stop == WorkflowPlayStop(slept=7)


class Broken(Agent):
    """Nothing takes its event."""

    @step()
    async def begin(self, start: WorkflowPlayStart) -> WorkflowPlayTick:
        return WorkflowPlayTick(count=1)


async def test_a_workflow_that_breaks_an_obligation_is_not_started() -> None:
    with pytest.raises(WorkflowError, match="no step takes"):
        await run_workflow(Broken, WorkflowPlayStart())


class Wished(StopEvent):
    words: tuple[str, ...] = ()


class WishStart(StartEvent):
    pass


class Begun(ControlEvent):
    pass


class Worked(ControlEvent):
    pass


class Wishing(Agent):
    """Ends with all that was said while it worked."""

    @step()
    async def begin(self, start: WishStart) -> Begun:
        return Begun()

    @step()
    async def work(self, begun: Begun) -> Worked:
        await asyncio.sleep(3)
        return Worked()

    @step()
    async def end(self, worked: Worked, said: list[SteeringMessageEvent]) -> Wished:
        return Wished(words=tuple(each.text for each in said))


async def test_what_people_say_into_the_run_is_said_once_an_event_is_published() -> None:
    def twice(event: Event) -> str | None:
        return type(event).__name__ if isinstance(event, WishStart | Begun) else None

    said = await run_workflow(Wishing, WishStart(), steer={Begun: "louder"})
    heard = await run_workflow(Wishing, WishStart(), steer=twice)
    quiet = await run_workflow(Wishing, WishStart())

    assert said.stop == Wished(words=("louder",))
    assert heard.stop == Wished(words=("WishStart", "Begun"))
    assert quiet.stop == Wished()


class Deaf(Agent):
    """Takes nothing that is said."""

    @step()
    async def begin(self, start: WishStart) -> Wished:
        return Wished()


async def test_what_is_said_to_a_blueprint_that_takes_nothing_is_refused() -> None:
    with pytest.raises(CannotBeSteered, match="Deaf"):
        await run_workflow(Deaf, WishStart(), steer={WishStart: "hello"})
