"""Every mistake in a definition is found before anything runs, and says where, which obligation, what to do (E6.3)."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from pydantic import BaseModel

from planwerk.workflow.blueprint import Agent, AgentConfig, StepConfig
from planwerk.workflow.capability import Capability
from planwerk.workflow.errors import Problem, WorkflowError
from planwerk.workflow.events import ControlAndDisplayEvent, ControlEvent, StartEvent, StopEvent
from planwerk.workflow.steps import step


class ValidStart(StartEvent):
    pass


class ValidBase(ControlEvent):
    pass


class ValidChild(ValidBase):
    pass


class ValidOther(ControlEvent):
    pass


class ValidStop(StopEvent):
    pass


class ValidFields(BaseModel):
    depth: int = 1


class ValidAskEvent(ControlAndDisplayEvent):
    pass


class ValidToldEvent(ControlAndDisplayEvent):
    pass


class ValidUntoldEvent(ControlAndDisplayEvent):
    pass


class ValidOracle(Capability):
    """Answers."""

    config = ValidFields
    AskRequest = ValidAskEvent
    Told = ValidToldEvent
    Untold = ValidUntoldEvent

    @step()
    async def look(self, request: ValidAskEvent, fields: ValidFields) -> ValidToldEvent | ValidUntoldEvent:
        return ValidToldEvent()


class ValidConfig(ValidFields, AgentConfig):
    """With the capability's settings."""


def errors(blueprint: type[Agent], **more: Any) -> list[Problem]:
    return [problem for problem in blueprint.find_problems(**more) if problem.severity == "error"]


def only(blueprint: type[Agent], **more: Any) -> Problem:
    found = errors(blueprint, **more)
    assert len(found) == 1, found
    assert found[0].remedy
    return found[0]


class Asking(Agent):
    """Calls the capability and takes both its results."""

    config = ValidConfig

    @step()
    async def begin(self, start: ValidStart) -> ValidOracle.AskRequest:
        return ValidAskEvent()

    @step()
    async def told(self, told: ValidOracle.Told) -> ValidStop:
        return ValidStop()

    @step()
    async def untold(self, untold: ValidOracle.Untold) -> ValidStop:
        return ValidStop()


def test_a_sound_workflow_has_no_problems() -> None:
    assert Asking.find_problems() == []
    assert Asking.validate_workflow() is Asking


def test_several_problems_are_named_in_one_error() -> None:
    class Many(Agent):
        @step()
        async def begin(self, start: ValidStart) -> ValidOther:
            return ValidOther()

        @step()
        async def waits(self, child: ValidChild) -> ValidStop:
            return ValidStop()

    with pytest.raises(WorkflowError) as refused:
        Many.validate_workflow()

    assert len(refused.value.problems) == 2
    assert "Many.begin" in str(refused.value)
    assert "Many.waits" in str(refused.value)


def test_a_result_nobody_takes_names_the_request_and_the_result() -> None:
    class Deaf(Asking):
        untold = None  # pyright: ignore[reportAssignmentType] - taken out

    problem = only(Deaf)

    assert "ValidAskEvent" in problem.message
    assert "ValidUntoldEvent" in problem.message


def test_a_config_without_the_capabilitys_settings_names_them() -> None:
    class Bare(Asking):
        config = AgentConfig

    assert "ValidFields" in only(Bare).message
    assert errors(Bare, config=ValidConfig) == []


def test_a_step_that_waits_for_nothing_is_named() -> None:
    class Waiting(Asking):
        @step()
        async def extra(self, other: ValidOther) -> ValidStop:
            return ValidStop()

    problem = only(Waiting)

    assert problem.where == "Waiting.extra, parameter other"
    assert "nothing produces" in problem.message


def test_eng_27_a_base_class_names_the_subclasses_that_are_produced() -> None:
    """ENG-27."""

    class OnBase(Agent):
        @step()
        async def begin(self, start: ValidStart) -> ValidChild:
            return ValidChild()

        @step()
        async def on_base(self, base: ValidBase) -> ValidStop:
            return ValidStop()

    class OnBoth(OnBase):
        @step()
        async def on_child(self, child: ValidChild) -> ValidStop:
            return ValidStop()

    class OnChild(OnBoth):
        on_base = None  # pyright: ignore[reportAssignmentType] - taken out

    for blueprint in (OnBase, OnBoth):
        found = [problem for problem in errors(blueprint) if "on_base" in problem.where]
        assert found, blueprint
        assert "ValidBase" in found[0].message
        assert "ValidChild" in found[0].message
    assert errors(OnChild) == []

    class Join(OnChild):
        @step()
        async def join(self, child: ValidChild, never: ValidOther) -> ValidStop:
            return ValidStop()

    found = [problem for problem in errors(Join) if "join" in problem.where]
    assert found
    assert "ValidOther" in found[0].message


def test_a_returned_event_that_no_step_takes_is_named() -> None:
    class Leaving(Agent):
        @step()
        async def begin(self, start: ValidStart) -> ValidOther | ValidStop:
            return ValidStop()

    assert "ValidOther, which no step takes" in only(Leaving).message


def test_no_step_may_take_a_stop() -> None:
    class After(Asking):
        @step()
        async def after(self, stop: ValidStop) -> ValidStop:
            return stop

    assert any(problem.obligation == "E4.3" for problem in errors(After))


def test_two_parameters_may_not_name_one_class() -> None:
    class Twice(Agent):
        @step()
        async def begin(self, start: ValidStart, again: list[ValidStart]) -> ValidStop:
            return ValidStop()

    assert any("two parameters" in problem.message for problem in errors(Twice))


def test_two_steps_of_one_name_are_refused() -> None:
    class Doubled(Agent):
        @step()
        async def begin(  # pyright: ignore[reportRedeclaration] - the mistake under test
            self, start: ValidStart
        ) -> ValidOther:
            return ValidOther()

        @step()
        async def begin(self, start: ValidStart) -> ValidStop:  # noqa: F811 - the mistake under test
            return ValidStop()

    assert "two steps of this name" in only(Doubled).message


def test_a_callers_step_may_not_take_a_capabilitys_request() -> None:
    class Peeking(Asking):
        @step()
        async def peek(self, request: ValidOracle.AskRequest) -> ValidStop:
            return ValidStop()

    assert any(problem.obligation == "E5.1" for problem in errors(Peeking))


def test_a_workflow_that_nothing_starts_is_refused() -> None:
    class Unstarted(Agent):
        @step()
        async def begin(self, other: ValidOther) -> ValidStop:
            return ValidStop()

    assert "start event" in only(Unstarted).message


def test_a_config_field_needs_a_default() -> None:
    class NeedyConfig(ValidConfig):
        needed: str  # pyright: ignore[reportGeneralTypeIssues] - the mistake under test

    assert "needed" in only(Asking, config=NeedyConfig).where


class ValidClock:
    """Something an application provides."""


class ValidStepSettings(StepConfig):
    seconds: float = 1.0


class Injected(Agent):
    @step()
    async def begin(self, start: ValidStart, clock: ValidClock) -> ValidStop:
        return ValidStop()


def test_what_nobody_provides_is_named() -> None:
    problem = only(Injected)

    assert "ValidClock" in problem.message
    assert problem.where == "Injected.begin, parameter clock"
    assert errors(Injected, provided={ValidClock}) == []


def test_the_settings_of_one_step_are_injected_by_their_class() -> None:
    class Settled(Agent):
        @step()
        async def begin(self, start: ValidStart, settings: ValidStepSettings) -> ValidStop:
            return ValidStop()

    class SettledConfig(AgentConfig):
        begin: ValidStepSettings = ValidStepSettings()

    assert "ValidStepSettings" in only(Settled).message
    assert errors(Settled, config=SettledConfig) == []


async def is_wanted(other: ValidOther) -> bool:
    return True


def test_a_precondition_may_not_read_what_its_scope_never_has() -> None:
    class Guarded(Agent):
        @step(precondition=is_wanted)
        async def begin(self, start: ValidStart) -> ValidStop:
            return ValidStop()

    assert any("precondition" in problem.where for problem in errors(Guarded))


def test_a_capability_step_that_only_the_start_event_could_start_is_refused() -> None:
    class ValidEagerAskEvent(ControlAndDisplayEvent):
        pass

    class ValidEagerToldEvent(ControlAndDisplayEvent):
        pass

    class ValidEager(Capability):  # pyright: ignore[reportUnusedClass] - called by its request
        AskRequest = ValidEagerAskEvent
        Told = ValidEagerToldEvent

        @step()
        async def look(self, request: ValidEagerAskEvent) -> ValidEagerToldEvent:
            return ValidEagerToldEvent()

        @step()
        async def eager(self, start: ValidStart) -> None:
            """Could only be started by the run."""

    class CallsEager(Agent):
        @step()
        async def begin(self, start: ValidStart) -> ValidEagerAskEvent:
            return ValidEagerAskEvent()

        @step()
        async def told(self, told: ValidEagerToldEvent) -> ValidStop:
            return ValidStop()

    assert any("only the run's start event" in problem.message for problem in errors(CallsEager))


def test_capabilities_that_are_not_called_are_not_composed() -> None:
    class Alone(Agent):
        @step()
        async def begin(self, start: ValidStart) -> ValidStop:
            return ValidStop()

    assert [group.id for group in Alone.graph().groups] == []
    assert [group.id for group in Asking.graph().groups] == ["ValidOracle"]
    assert {"begin", "told", "untold", "ValidOracle.look"} <= {node.id for node in Asking.graph().nodes}


def test_declared_outcomes_must_be_emitted_and_stops_declared() -> None:
    class ValidLateAskEvent(ControlAndDisplayEvent):
        pass

    class ValidLateToldEvent(ControlAndDisplayEvent):
        pass

    class ValidNeverEvent(ControlAndDisplayEvent):
        pass

    class ValidLate(Capability):  # pyright: ignore[reportUnusedClass] - called by its request
        AskRequest = ValidLateAskEvent
        Told = ValidLateToldEvent
        Never = ValidNeverEvent
        outcomes_by_request: ClassVar[dict[str, tuple[str, ...]] | None] = {"AskRequest": ("Told", "Never")}

        @step()
        async def look(self, request: ValidLateAskEvent) -> ValidLateToldEvent | ValidStop:
            return ValidLateToldEvent()

    class CallsLate(Agent):
        @step()
        async def begin(self, start: ValidStart) -> ValidLateAskEvent:
            return ValidLateAskEvent()

        @step()
        async def told(self, told: ValidLateToldEvent) -> ValidStop:
            return ValidStop()

        @step()
        async def never(self, never: ValidNeverEvent) -> ValidStop:
            return ValidStop()

    messages = " ".join(problem.message for problem in errors(CallsLate))

    assert "ValidNeverEvent" in messages
    assert "ValidStop" in messages


def test_a_second_use_of_a_capability_has_event_classes_of_its_own() -> None:
    class ValidSecond(ValidOracle):
        """Asked beside the first."""

    class AsksBoth(Agent):
        config = ValidConfig

        @step()
        async def begin(self, start: ValidStart) -> tuple[ValidOracle.AskRequest, ValidSecond.AskRequest]:
            return ValidAskEvent(), ValidSecond.AskRequest()

        @step()
        async def both(
            self, first: ValidOracle.Told | ValidOracle.Untold, second: ValidSecond.Told | ValidSecond.Untold
        ) -> ValidStop:
            return ValidStop()

    assert ValidSecond.Told.event_type == "ValidSecondValidToldEvent"
    assert issubclass(ValidSecond.Told, ValidToldEvent)
    assert errors(AsksBoth) == []


def test_an_event_that_only_a_precondition_reads_goes_somewhere() -> None:
    def has_leave(child: ValidChild, other: ValidOther | None) -> bool:
        return other is not None

    class Guarded(Agent):
        @step()
        async def begin(self, start: ValidStart) -> tuple[ValidChild, ValidOther]:
            return ValidChild(), ValidOther()

        @step(precondition=has_leave)
        async def end(self, child: ValidChild) -> ValidStop:
            return ValidStop()

    assert errors(Guarded) == []
