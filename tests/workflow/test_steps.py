"""What a step's signature says: shapes, outputs, what is injected (E2)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

import pytest

from planwerk.workflow.blueprint import Agent, AgentConfig
from planwerk.workflow.errors import DefinitionError
from planwerk.workflow.events import ControlEvent, DisplayEvent, StartEvent, StopEvent
from planwerk.workflow.steps import Output, Shape, StepSpec, spec_of, step, steps_of


class StepsStart(StartEvent):
    pass


class StepsOne(ControlEvent):
    pass


class StepsTwo(ControlEvent):
    pass


class StepsShown(DisplayEvent):
    pass


class StepsStop(StopEvent):
    pass


class Shapes(Agent):
    @step()
    async def single(self, event: StepsStart) -> StepsOne:
        return StepsOne()

    @step()
    async def union(self, event: StepsOne | StepsTwo, config: AgentConfig) -> StepsOne | StepsTwo | None:
        return None

    @step()
    async def optional(self, one: StepsOne, two: StepsTwo | None) -> list[StepsOne | StepsTwo]:
        return []

    @step()
    async def lists(self, ones: list[StepsOne], twos: list[StepsTwo] | None) -> tuple[StepsOne, StepsTwo]:
        return StepsOne(), StepsTwo()

    @step()
    async def generator(self, one: Annotated[StepsOne, "noted"]) -> AsyncIterator[StepsShown | StepsStop]:
        yield StepsStop()


def named(name: str, cls: type[Agent] = Shapes) -> StepSpec:
    return next(spec for spec in cls.steps() if spec.name == name)


def test_parameters_have_the_shapes_of_their_annotations() -> None:
    def shapes(name: str) -> list[tuple[Shape, tuple[type, ...]]]:
        return [(parameter.shape, parameter.classes) for parameter in named(name).signature().events]

    assert shapes("single") == [(Shape.SINGLE, (StepsStart,))]
    assert shapes("union") == [(Shape.SINGLE, (StepsOne, StepsTwo))]
    assert shapes("optional") == [(Shape.SINGLE, (StepsOne,)), (Shape.OPTIONAL, (StepsTwo,))]
    assert shapes("lists") == [(Shape.LIST, (StepsOne,)), (Shape.OPTIONAL_LIST, (StepsTwo,))]
    assert shapes("generator") == [(Shape.SINGLE, (StepsOne,))]


def test_returns_are_alternatives_of_which_one_ends_the_step() -> None:
    def alternatives(name: str) -> tuple[tuple[Output, ...], ...]:
        return named(name).signature().returns.alternatives

    one, two = Output(StepsOne), Output(StepsTwo)
    assert alternatives("single") == ((one,),)
    assert alternatives("union") == ((one,), (two,), ())
    assert alternatives("optional") == ((Output(StepsOne, many=True), Output(StepsTwo, many=True)),)
    assert alternatives("lists") == ((one, two),)
    assert alternatives("generator") == ((Output(StepsShown, many=True), Output(StepsStop, many=True)),)


def test_what_is_no_event_is_injected() -> None:
    [injected] = named("union").signature().injected

    assert (injected.name, injected.annotation, injected.optional) == ("config", AgentConfig, False)


async def test_a_step_stays_callable_as_it_is() -> None:
    assert await Shapes().single(StepsStart()) == StepsOne()


def test_an_override_keeps_its_parents_place() -> None:
    class Later(Shapes):
        @step()
        async def extra(self, event: StepsTwo) -> StepsStop:
            return StepsStop()

        @step(name="Renamed")
        async def single(self, event: StepsStart) -> StepsOne:
            return StepsOne()

    names = [spec.name for spec in Later.steps()]

    assert names[0] == "single"
    assert names[-1] == "extra"
    assert named("single", Later).label.text() == "Renamed"


def test_an_override_that_is_no_step_takes_the_step_out() -> None:
    class Without(Shapes):
        single = None  # pyright: ignore[reportAssignmentType] - takes the step out

    assert "single" not in [spec.name for spec in Without.steps()]


def test_a_synchronous_step_is_refused_where_it_is_defined() -> None:
    with pytest.raises(DefinitionError, match="to_thread"):

        @step()
        def wrong(event: StepsStart) -> StepsOne:  # pyright: ignore[reportUnusedFunction] - defining it is the test
            return StepsOne()


class Mistaken(Agent):
    @step()
    async def bare(self, event) -> StepsOne:  # type: ignore[no-untyped-def]  # pyright: ignore[reportMissingParameterType, reportUnknownParameterType] - the mistake under test
        return StepsOne()

    @step()
    async def mixed(self, event: StepsOne | int) -> StepsOne:
        return StepsOne()

    @step()
    async def returns_text(self, event: StepsOne) -> str:
        return ""

    @step()
    async def unknown(self, event: NotThere) -> StepsOne:  # noqa: F821  # pyright: ignore[reportUndefinedVariable, reportUnknownParameterType] - as above
        return StepsOne()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("bare", "no annotation"),
        ("mixed", "mixes events"),
        ("returns_text", "is no event"),
        ("unknown", "cannot be resolved"),
    ],
)
def test_a_signature_that_cannot_be_matched_says_why(name: str, said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        named(name, Mistaken).signature()


def test_classes_defined_in_a_function_are_found() -> None:
    class StepsLocalEvent(ControlEvent):
        pass

    class Local(Agent):
        @step()
        async def begin(self, event: StepsStart) -> StepsLocalEvent:
            return StepsLocalEvent()

    assert Local.steps()[0].signature().returns.classes == (StepsLocalEvent,)


def test_a_method_without_the_decorator_is_no_step() -> None:
    class Plain:
        async def helper(self) -> None:
            """Not a step."""

    assert steps_of(Plain) == []
    assert spec_of(Plain.helper) is None
