"""MODULE: what of it is served, and how its faults are told (S1.5)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from planwerk.module_loading import ModuleBroken, ModuleMissing, NothingToServe, load, ready_made

BLUEPRINT = """
class {name}(Agent):
    '''Says it.'''

    @step()
    async def answer(self, start: StartEvent) -> StopEvent:
        return StopEvent()
"""
HEAD = "from planwerk import Agent, StartEvent, StopEvent, step\n"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Work in an empty folder, and forget what was imported."""
    monkeypatch.chdir(tmp_path)
    known, path = set(sys.modules), list(sys.path)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - known:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def write(name: str, text: str) -> str:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text, "utf-8")
    return name


def blueprints(*names: str) -> str:
    return HEAD + "".join(BLUEPRINT.format(name=name) for name in names)


def test_the_blueprints_of_a_file_come_in_order_of_definition() -> None:
    loaded = load(write("one.py", blueprints("Zebra", "Ant", "Mule")))

    assert [blueprint.__name__ for blueprint in loaded.blueprints] == ["Zebra", "Ant", "Mule"]


def test_what_is_only_imported_or_has_an_underscore_is_not_served() -> None:
    write("base_module.py", blueprints("Imported"))
    loaded = load(write("two.py", "from base_module import Imported\n" + blueprints("_Base", "Own") + "Again = Own\n"))

    assert [blueprint.__name__ for blueprint in loaded.blueprints] == ["Own"]


def test_a_module_is_found_by_its_dotted_name_from_here() -> None:
    write("pack/__init__.py", "")
    write("pack/agents.py", blueprints("Dotted"))

    assert load("pack.agents").blueprints[0].__name__ == "Dotted"


def test_an_app_takes_the_place_of_the_blueprints() -> None:
    source = blueprints("First", "Second") + "from planwerk.app import Planwerk\napp = Planwerk(blueprints=[Second])\n"

    loaded = load(write("three.py", source))

    assert loaded.app is not None
    assert [blueprint.__name__ for blueprint in loaded.blueprints] == ["Second"]


def test_something_else_called_app_is_not_one() -> None:
    assert load(write("four.py", blueprints("Web") + "app = object()\n")).app is None


def test_the_types_an_app_provides_are_known_to_checks() -> None:
    source = (
        blueprints("Clocked")
        + "from planwerk.app import Planwerk\nclass Clock: ...\n"
        + "app = Planwerk(blueprints=[Clocked], providers=[(Clock, lambda context: Clock())])\n"
    )

    assert [provided.__name__ for provided in load(write("five.py", source)).provided] == ["Clock"]


@pytest.mark.parametrize(
    ("source", "line", "told"),
    [
        ("import os\n\nfrom planwerk import Nothing\n", 3, "ImportError"),
        ("x = 1\ndef f():\n    return missing\nf()\n", 3, "NameError: name 'missing' is not defined."),
        ("def f(:\n    pass\n", 1, "SyntaxError"),
        ("import no_such_module_anywhere\n", 1, "ModuleNotFoundError"),
        ("import sys\nsys.exit(3)\n", 2, "SystemExit: 3."),
        (HEAD + "class A(Agent):\n    @step()\n    def sync(self, start: StartEvent) -> StopEvent: ...\n", 3, "step"),
    ],
)
def test_a_module_that_fails_is_reported_with_file_and_line(source: str, line: int, told: str) -> None:
    with pytest.raises(ModuleBroken) as caught:
        load(write("broken.py", source))

    assert caught.value.message.startswith(f"broken.py, line {line}: ")
    assert told in caught.value.message
    assert "broken" not in sys.modules


def test_a_fault_in_a_module_it_imports_is_told_where_the_person_can_look() -> None:
    write("helper_module.py", "\n\nraise ValueError('no')\n")

    with pytest.raises(ModuleBroken, match=r"outer\.py, line 1: ValueError: no\."):
        load(write("outer.py", "import helper_module\n"))


def test_a_dotted_module_whose_own_import_fails_is_broken_not_missing() -> None:
    write("needs.py", "import no_such_module_anywhere\n")

    with pytest.raises(ModuleBroken, match=r"needs\.py, line 1"):
        load("needs")


def test_a_file_that_is_not_there_says_which_may_be_meant() -> None:
    write("my_agent.py", "")

    with pytest.raises(ModuleMissing, match=r"Did you mean my_agent\.py\?"):
        load("my_agnet.py")


def test_a_dotted_name_that_is_not_there_says_how_to_name_one() -> None:
    with pytest.raises(ModuleMissing, match=r"no module 'gone\.deep'.*dotted name"):
        load("gone.deep")


def test_a_module_without_a_blueprint_has_nothing_to_serve() -> None:
    with pytest.raises(NothingToServe, match="planwerk new"):
        load(write("empty.py", "x = 1\n"))


def test_a_blueprint_that_is_not_there_is_told_with_those_that_are() -> None:
    loaded = load(write("six.py", blueprints("Alpha", "Beta")))

    with pytest.raises(ModuleMissing, match="It has Alpha, Beta"):
        loaded.blueprint("Gamma")


def test_the_ready_made_blueprints_begin_with_the_assistant() -> None:
    assert ready_made()[0].__name__ == "LLMWrappingAgent"
