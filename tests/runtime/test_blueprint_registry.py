"""What is to be served are classes; of two of one name the first one."""

from __future__ import annotations

from typing import Any

import pytest

from planwerk.app import Planwerk
from planwerk.runtime.profiles import BlueprintRegistry, NotABlueprint
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import StartEvent, StopEvent
from planwerk.workflow.steps import step


class Registered(Agent):
    """Ends at once."""

    @step()
    async def end(self, start: StartEvent) -> StopEvent:
        return StopEvent()


def test_a_class_that_is_given_alone_is_asked_for_in_a_list() -> None:
    given: Any = Registered
    with pytest.raises(NotABlueprint, match=r"Give a list: \[Registered\]"):
        Planwerk(given)


@pytest.mark.parametrize(("given", "named"), [(Registered(), "an object of Registered"), (int, "int"), ("x", "str")])
def test_what_is_no_class_of_an_agent_is_named(given: Any, named: str) -> None:
    with pytest.raises(NotABlueprint, match=named):
        BlueprintRegistry([given])


def test_of_two_of_one_name_the_first_is_served() -> None:
    other = type("Registered", (Registered,), {})

    assert list(BlueprintRegistry([Registered, other, Registered])) == [Registered]
