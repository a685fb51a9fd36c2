"""Every example is short, sound, and runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.blueprints.chatting import chat
from tests.capabilities.conversation.conversing import PlayedModel, message
from tests.docs.pages import ROOT, snippets

from planwerk.messages.events import LLMStopEvent
from planwerk.messages.prompts import system_text
from planwerk.testing.runs import run_workflow
from planwerk.workflow.blueprint import Agent

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
CHATS = [path.name for path in EXAMPLES if path.name != "purchase.py"]
MODULE = "page_under_test"
"""README shows one of the examples, and its classes must not count as others of the same name (E1.1)."""


@pytest.fixture
def loaded(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    spec = spec_from_file_location(MODULE, ROOT / "examples" / request.param)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[MODULE] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[MODULE]


def blueprint_of(module: ModuleType) -> type[Agent]:
    [found] = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Agent) and value.__module__ == MODULE
    ]
    return found


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_can_be_read_at_once(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < 60


@pytest.mark.parametrize("loaded", CHATS, indirect=True)
async def test_an_example_is_sound_and_answers(loaded: ModuleType) -> None:
    blueprint = blueprint_of(loaded)

    run = await chat(blueprint, message("Is working from home a good idea?"), PlayedModel(text="It depends."))

    assert blueprint.find_problems() == []
    assert isinstance(run.stop, LLMStopEvent)
    assert run.stop.answer.text == "Pro costs 49."


def test_the_blueprint_of_the_readme_is_an_example() -> None:
    [shown] = snippets(ROOT / "README.md", "python")

    assert shown.text == (ROOT / "examples" / "two_sides.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("loaded", ["two_sides.py"], indirect=True)
async def test_two_sides_weighs_reasons_for_and_against_in_the_order_of_its_config(loaded: ModuleType) -> None:
    model = PlayedModel(text="Two reasons.")

    await chat(blueprint_of(loaded), message("Is working from home a good idea?"), model)

    assert model.tasks.count("text") == 2
    [data, question] = model.asked("answer")[1]
    assert data.index('title="Reasons for"') < data.index('title="Reasons against"')
    assert question == "Is working from home a good idea?"


@pytest.mark.parametrize("loaded", ["two_sides.py"], indirect=True)
async def test_two_sides_weighs_nothing_in_small_talk(loaded: ModuleType) -> None:
    model = PlayedModel(gate="small_talk")

    await chat(blueprint_of(loaded), message("Hi"), model)

    assert "text" not in model.tasks
    assert model.asked("answer")[1] == ["Hi"]


@pytest.mark.parametrize("loaded", ["helpdesk.py"], indirect=True)
async def test_the_help_desk_answers_from_the_notes_that_fit(loaded: ModuleType) -> None:
    model = PlayedModel()

    await chat(blueprint_of(loaded), message("How do I get a new laptop?"), model)

    system, [data, _] = model.asked("answer")
    assert data == '<data title="Notes">\nA new laptop is ordered with form IT-7, which the team lead signs.\n</data>'
    assert system == "Answer from the notes; say so if they do not help."


@pytest.mark.parametrize("loaded", ["helpdesk.py"], indirect=True)
async def test_the_help_desk_says_nothing_of_notes_where_none_fit(loaded: ModuleType) -> None:
    model = PlayedModel()

    await chat(blueprint_of(loaded), message("Why is the sky blue?"), model)

    [messages] = [messages for task, messages in model.requests if task == "answer"]
    assert system_text(messages) == ""


@pytest.mark.parametrize("loaded", ["purchase.py"], indirect=True)
@pytest.mark.parametrize(
    ("budget", "order", "text"),
    [
        ("500", True, "It is here."),
        ("500", {"confirmed": False, "reason": "too dear"}, "Not ordered: too dear."),
        ("500", None, "Nobody answered in time."),
        (None, None, "Nobody answered in time."),
    ],
)
async def test_the_purchase_goes_on_with_what_people_say(
    loaded: ModuleType, budget: str | None, order: object, text: str
) -> None:
    module: Any = loaded
    blueprint = blueprint_of(loaded)

    answers = {module.AskBudget: budget, module.AskOrder: order}
    run = await run_workflow(blueprint, module.PurchaseStart(item="A desk"), respond=answers)

    assert blueprint.find_problems() == []
    assert run.stop == module.PurchaseEnded(text=text)
