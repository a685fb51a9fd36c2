"""`check` and `graph` on files as people write them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from planwerk.cli.exit_codes import ExitCode
from tests.cli.world import Shell, one_line

ROOT = Path(__file__).resolve().parents[2]

PLANTED = '''
from pydantic_ai.messages import ModelRequest

from planwerk import Agent, AgentConfig, ControlEvent, LLMEvent, UserMessageEvent, step
from planwerk.capabilities import Conversation, ConversationFields
from planwerk.models import Answering


class PlantedUnusedEvent(ControlEvent):
    pass


class PlantedNeverEvent(ControlEvent):
    pass


class PlantedConfig(AgentConfig):
    """Lacks the mixin of the conversation."""


class Planted(Agent):
    """Has three faults."""

    config = PlantedConfig

    @step()
    async def begin(self, message: UserMessageEvent) -> Conversation.ContextualizeRequest:
        return Conversation.contextualize(history=message.messages, message=message)

    @step()
    async def note(self, turn: Conversation.Contextualized) -> PlantedUnusedEvent:
        return PlantedUnusedEvent()

    @step()
    async def assemble(self, turn: Conversation.Contextualized) -> Conversation.ComposeRequest:
        return Conversation.compose(turn.history)

    @step()
    async def answer(self, prompt: Conversation.Composed, answering: Answering) -> LLMEvent:
        return await answering.answer(prompt.history)

    @step()
    async def finish(self, answer: LLMEvent) -> Conversation.CompleteRequest:
        return Conversation.complete(answer)

    @step()
    async def wait(self, never: PlantedNeverEvent) -> LLMEvent:
        raise NotImplementedError
'''


def readme_blueprint() -> str:
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    assert found is not None
    return found[1]


@pytest.fixture
def planted(shell: Shell) -> Shell:
    Path("planted.py").write_text(PLANTED, "utf-8")
    Path("two_sides.py").write_text(readme_blueprint(), "utf-8")
    return shell


def test_three_planted_problems_are_told_with_place_obligation_and_remedy(planted: Shell) -> None:
    done = planted.spawn("check", "planted.py")

    assert done.returncode == ExitCode.PROBLEM
    assert "Planted: 3 problems" in done.stdout
    assert len(re.findall(r"^  \d+\. ", done.stdout, re.M)) == 3
    assert len(re.findall(r"^     Obligation: E6\.3$", done.stdout, re.M)) == 3
    assert len(re.findall(r"^     Remedy: \S", done.stdout, re.M)) == 3
    for place in ("Planted.note", "PlantedConfig", "Planted.wait, parameter never"):
        assert re.search(rf"^  \d\. {re.escape(place)}$", done.stdout, re.M), done.stdout


def test_the_same_problems_come_as_json(planted: Shell) -> None:
    done = planted.spawn("check", "planted.py", "--json")

    found = json.loads(done.stdout)
    assert (done.returncode, found["ok"], found["errors"]) == (ExitCode.PROBLEM, False, 3)
    problems = found["blueprints"][0]["problems"]
    assert {problem["where"] for problem in problems} == {
        "Planted.note",
        "PlantedConfig",
        "Planted.wait, parameter never",
    }
    assert all(problem[field] for problem in problems for field in ("obligation", "message", "remedy"))


def test_the_blueprint_of_the_readme_is_sound(planted: Shell) -> None:
    done = planted.spawn("check", "two_sides.py")

    assert (done.returncode, done.stdout) == (0, "TwoSides: no problems\n")


def test_a_broken_blueprint_is_not_served(planted: Shell) -> None:
    done = planted.spawn("serve", "planted.py", "--port", "0")

    assert done.returncode == ExitCode.PROBLEM
    assert "and 2 more (E6.3). 'planwerk check planted.py' lists" in one_line(done.stderr)


def test_the_module_may_come_from_the_project(planted: Shell) -> None:
    Path("pyproject.toml").write_text('[tool.planwerk]\napp = "two_sides.py"\n', "utf-8")

    assert planted.spawn("check").stdout == "TwoSides: no problems\n"


def test_a_module_that_fails_to_import_is_told_with_file_and_line(shell: Shell) -> None:
    Path("broken.py").write_text("import os\n\nos.nothing\n", "utf-8")

    for command in ("check", "graph", "serve"):
        result = shell.run(command, "broken.py")

        assert "broken.py, line 3: AttributeError" in one_line(result.stderr)
        assert result.exit_code == 1


def test_the_graph_has_capabilities_as_subgraphs_and_no_pruned_parts(planted: Shell) -> None:
    drawn = planted.spawn("graph", "two_sides.py").stdout

    assert drawn.startswith("flowchart TD\n")
    assert '    subgraph g0["Conversation"]\n' in drawn
    assert '["divide"]' in drawn
    ids = set(re.findall(r"^\s+(n\d+)[(\[]", drawn, re.M))
    used = {end for edge in re.findall(r"(n\d+) -->\|\"\w+\"\| (n\d+)", drawn) for end in edge}
    assert used == ids
    assert "PlantedNeverEvent" not in planted.spawn("graph", "planted.py").stdout
    assert '["wait"]' not in planted.spawn("graph", "planted.py").stdout


def test_the_graph_of_a_named_blueprint_is_drawn(shell: Shell) -> None:
    drawn = shell.json("graph", "planwerk.blueprints.llm_wrapping_agent:LLMWrappingAgent")

    assert drawn["blueprint"] == "LLMWrappingAgent"
    assert [group["id"] for group in drawn["groups"]] == ["Conversation"]
    assert {node["kind"] for node in drawn["nodes"]} == {"start", "step", "stop"}


def test_a_blueprint_that_is_not_in_the_module_is_told_with_those_that_are(shell: Shell) -> None:
    result = shell.run("graph", "planwerk.blueprints.llm_wrapping_agent:Nothing")

    assert "It has LLMWrappingAgent." in one_line(result.stderr)
