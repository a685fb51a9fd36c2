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

from planwerk.access.identity import UserIdentity
from planwerk.capabilities import Knowledge
from planwerk.messages.events import LLMStopEvent, UserMessageEvent
from planwerk.storage.in_memory.memories import InMemoryMemories
from planwerk.testing import ScriptedModel, Stream, knowledge_of
from planwerk.testing.runs import run_workflow
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.composition import compose
from planwerk.workflow.events import ExceptionEvent
from planwerk.workflow.exploration import explore
from planwerk.workflow.exploring.search import Limits

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
CHATS = [path.name for path in EXAMPLES if path.name not in {"purchase.py", "two_agents.py"}]
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

    assert [problem for problem in blueprint.find_problems() if problem.severity == "error"] == []
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
async def test_the_help_desk_remembers_who_asks_in_her_next_conversation(loaded: ModuleType) -> None:
    blueprint, store = blueprint_of(loaded), InMemoryMemories()
    ada, ben = UserIdentity(id="ada", name="Ada"), UserIdentity(id="ben", name="Ben")

    first = await run_workflow(blueprint, "My laptop is a ThinkPad.", user=ada, memories=store)
    again = await run_workflow(blueprint, "Which laptop is broken?", user=ada, memories=store)
    other = await run_workflow(blueprint, "Which laptop is broken?", user=ben, memories=store)

    assert [type(run.stop).__name__ for run in first.detached] == ["MemoryWrittenStopEvent"]
    assert isinstance(again.stop, LLMStopEvent)
    assert "My laptop is a ThinkPad." in again.stop.answer.text
    assert isinstance(other.stop, LLMStopEvent)
    assert "ThinkPad" not in other.stop.answer.text


@pytest.mark.parametrize("loaded", ["helpdesk.py"], indirect=True)
async def test_the_help_desk_recalls_and_remembers_nothing_in_small_talk(loaded: ModuleType) -> None:
    store = InMemoryMemories()

    run = await run_workflow(blueprint_of(loaded), "Hi", user=UserIdentity(id="ada", name="Ada"), memories=store)

    assert isinstance(run.stop, LLMStopEvent)
    assert run.detached == []


@pytest.mark.parametrize("loaded", ["rag_over_a_folder.py"], indirect=True)
async def test_the_folder_reader_quotes_the_passage_with_its_id_and_tells_nobody_else(loaded: ModuleType) -> None:
    blueprint = blueprint_of(loaded)
    documents = {
        "leave.md": "# Urlaub\n\nDer Antrag auf Urlaub geht an die Vorgesetzte.",
        "other.md": "# Kantine\n\nMittags.",
    }
    open_to_all = await knowledge_of({"Documents": documents})
    hers = await knowledge_of({"Documents": documents}, access=["account:ada"])
    ben = UserIdentity(id="ben", name="Ben")

    run = await run_workflow(blueprint, "Wohin geht der Urlaubsantrag?", user=ben, library=open_to_all)
    refused = await run_workflow(blueprint, "Wohin geht der Urlaubsantrag?", user=ben, library=hers)

    [found] = run.of(Knowledge.Searched)
    assert isinstance(run.stop, LLMStopEvent)
    assert isinstance(refused.stop, LLMStopEvent)
    assert f"Der Antrag auf Urlaub geht an die Vorgesetzte. [{found.documents[0].id}]" in run.stop.answer.text
    assert "Vorgesetzte" not in refused.stop.answer.text
    assert all("leave.md" not in event.model_dump_json() for event in refused.of(Knowledge.Searched))


@pytest.mark.parametrize("loaded", ["rag_over_a_folder.py"], indirect=True)
async def test_the_folder_reader_looks_nothing_up_in_small_talk(loaded: ModuleType) -> None:
    library = await knowledge_of({"Documents": {"a.md": "Hi thanks ok."}})

    run = await run_workflow(blueprint_of(loaded), "thanks!", library=library)  # CAP-05

    assert run.of(Knowledge.Searched)[0].documents == ()
    assert "[s" not in run.stop.model_dump_json()


@pytest.mark.parametrize("loaded", ["helpdesk.py", "rag_over_a_folder.py"], indirect=True)
def test_an_example_with_capabilities_cannot_stall(loaded: ModuleType) -> None:
    exploration = explore(compose(blueprint_of(loaded), UserMessageEvent), Limits(clock=lambda: 0.0))

    assert [str(problem) for problem in exploration.problems if problem.severity != "warning"] == []
    assert all(scope.is_proven for scope in exploration.scopes)


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


@pytest.mark.parametrize("loaded", ["two_agents.py"], indirect=True)
async def test_the_writer_writes_again_after_what_the_critic_says(loaded: ModuleType) -> None:
    module: Any = loaded
    model = ScriptedModel(["A draft.", "Shorter!", "Draft."])

    run = await run_workflow(module.Writer, "Write.", model=model)

    assert [problem for problem in module.Writer.find_problems() if problem.severity == "error"] == []
    assert run.of(module.AskCritic.Ended)[0].text == "Shorter!"
    assert isinstance(run.stop, LLMStopEvent)
    assert run.stop.answer.text == "Draft."


@pytest.mark.parametrize("loaded", ["two_agents.py"], indirect=True)
async def test_the_writer_does_without_a_critic_that_does_not_answer(loaded: ModuleType) -> None:
    module: Any = loaded
    slow = Stream(600.0, "Too late.")

    late = await run_workflow(module.Writer, "Write.", model=ScriptedModel(["A draft.", slow]))
    failed = await run_workflow(
        module.Writer,
        "Write.",
        model=ScriptedModel(["A draft."]),
        respond={module.AskCritic: ExceptionEvent(code="no", message="No.")},
    )

    for run in (late, failed):
        assert isinstance(run.stop, LLMStopEvent)
        assert run.stop.answer.text == "A draft."
    assert [child.error.code for child in late.children if child.error is not None] == ["run_stopped"]
    assert failed.children == []
