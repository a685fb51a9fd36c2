"""What is to be served are classes; of two of one name the first one."""

from __future__ import annotations

from typing import Any

import pytest

from planwerk.app import Planwerk
from planwerk.runtime.agents import FoundAgent, NamedAgents
from planwerk.runtime.capability_agents import CapabilityAgent
from planwerk.runtime.profiles import BlueprintRegistry, NotABlueprint
from planwerk.workflow.agents import Detached
from planwerk.workflow.blueprint import Agent, AgentConfig
from planwerk.workflow.entries import RunOpened
from planwerk.workflow.events import StartEvent, StopEvent
from planwerk.workflow.ids import RunId
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


class ConfigOfCapability(AgentConfig):
    task_llm: str | None = None


class OfCapability(CapabilityAgent):
    """Works for a capability."""

    config = ConfigOfCapability

    @step()
    async def end(self, start: StartEvent) -> StopEvent:
        return StopEvent()


def test_a_blueprint_of_a_capability_is_found_by_name_and_never_offered() -> None:
    registry = BlueprintRegistry([Registered], of_capabilities=[OfCapability])

    assert registry.get("OfCapability") is OfCapability
    assert list(registry) == [Registered]
    assert "OfCapability" not in registry
    assert "Registered" in registry


async def test_a_blueprint_of_a_capability_takes_over_the_settings_it_has_too() -> None:
    opened = RunOpened(
        run=RunId("run"),
        at=0,
        blueprint="Registered",
        fingerprint="",
        config={"task_llm": "demo:planwerk", "system_prompt": "Be brief."},
        actor={"kind": "system", "name": "test"},
        tenant="default",
    )
    agents = NamedAgents([Registered, OfCapability])

    async def found(blueprint: type[Agent]) -> FoundAgent:
        return await agents.find(opened, Detached(blueprint=blueprint, start=StartEvent()))

    assert await found(OfCapability) == FoundAgent(OfCapability, {"task_llm": "demo:planwerk"})
    assert await found(Registered) == FoundAgent(Registered)
