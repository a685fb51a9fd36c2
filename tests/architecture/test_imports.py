"""The parts of design.md §2 that import-linter's contracts cannot say; the contracts stand in pyproject.toml."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.architecture.imports import SOURCE, Import, calls_of, imports_of, is_within

RULES = ("planwerk.workflow", "planwerk.workspace.rules")
RULES_MAY_IMPORT = {"pydantic", "pydantic_core"}
ROOMS_WORKSPACE_RULES_MAY_IMPORT = ("planwerk.workflow", "planwerk.access", "planwerk.workspace.rules")

CARRIED_BY_PORTS = {
    "planwerk.access.actions": "fields of accounts and keys",
    "planwerk.access.actors": "how actors are written",
    "planwerk.access.errors": "errors the ports of access raise",
    "planwerk.capabilities.knowledge.errors": "errors the index of knowledge raises",
    "planwerk.runtime.errors": "errors the journal raises",
    "planwerk.workflow.errors": "the base of the adapters' own errors",
    "planwerk.workflow.journal_text": "how entries are written",
    "planwerk.workspace.rules.errors": "errors the workspace's storage raises",
    "planwerk.workspace.rules.events": "how log events are read",
}
"""What adapters need beside the ports and the modules whose types they name: what those types consist of, how they are
written, and what the ports raise."""


def foreign_imports(package: str, source: Path = SOURCE) -> list[Import]:
    return [
        found
        for found in imports_of(package, source)
        if not (found.is_ours or found.is_standard_library or found.root in RULES_MAY_IMPORT)
    ]


def imports_outside(package: str, rooms: tuple[str, ...], source: Path = SOURCE) -> list[Import]:
    return [
        found
        for found in imports_of(package, source)
        if found.is_ours and not any(is_within(found.module, room) for room in rooms)
    ]


def imports_of_root_names(source: Path = SOURCE) -> list[Import]:
    """`from planwerk import X` inside the package, where X is no room of it."""
    return [
        found
        for found in imports_of("planwerk", source)
        if found.module == "planwerk" and found.importer != "planwerk" and found.name != "__version__"
    ]


def modules_ports_name(source: Path = SOURCE) -> set[str]:
    """The ports modules, and every module whose types they name."""
    ports = {found.importer for found in imports_of("planwerk", source) if found.importer.endswith(".ports")}
    named = {found.module for port in ports for found in imports_of(port, source) if found.is_ours}
    return ports | named


def imports_beside_the_ports(source: Path = SOURCE) -> list[Import]:
    allowed = modules_ports_name(source) | CARRIED_BY_PORTS.keys()
    return [found for found in imports_leaving("planwerk.storage", source) if found.module not in allowed]


def imports_leaving(room: str, source: Path = SOURCE) -> list[Import]:
    return [found for found in imports_of(room, source) if found.is_ours and not is_within(found.module, room)]


@pytest.mark.parametrize("package", RULES)
def test_the_rules_import_of_others_work_only_pydantic(package: str) -> None:
    assert [str(found) for found in foreign_imports(package)] == []


@pytest.mark.parametrize("package", RULES)
def test_the_rules_open_nothing_and_ask_nobody(package: str) -> None:
    assert calls_of(package, {"open", "input"}) == []


def test_the_rules_of_a_workspace_import_only_what_lies_below_them() -> None:
    found = imports_outside("planwerk.workspace.rules", ROOMS_WORKSPACE_RULES_MAY_IMPORT)

    assert [str(each) for each in found] == []


def test_storage_imports_only_ports_and_what_they_carry() -> None:
    assert [str(found) for found in imports_beside_the_ports()] == []


def test_storage_uses_every_exception_it_is_granted() -> None:
    assert CARRIED_BY_PORTS.keys() <= {found.module for found in imports_leaving("planwerk.storage")}


def test_inside_a_name_is_imported_where_it_is_defined() -> None:
    assert [str(found) for found in imports_of_root_names()] == []


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A small house in which every rule of this file is broken once."""
    write = {
        "__init__.py": "",
        "workflow/__init__.py": "",
        "workflow/schedule.py": "def later() -> None:\n    import structlog\n",
        "workflow/entries.py": "import pydantic\ntext = open('file')\n",
        "workspace/__init__.py": "",
        "workspace/handle.py": "from planwerk import workflow\nfrom planwerk import Agent\n",
        "workspace/rules/__init__.py": "",
        "workspace/rules/apply.py": "from planwerk.workspace import handle\nfrom planwerk.workflow import entries\n",
        "runtime/ports.py": "from planwerk.workflow.entries import Entry\n",
        "runtime/worker.py": "",
        "storage/journal.py": (
            "from planwerk.runtime.ports import Journal\n"
            "from planwerk.workflow.entries import Entry\n"
            "from planwerk.runtime.worker import Worker\n"
        ),
    }
    for name, text in write.items():
        path = tmp_path / "planwerk" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def test_a_foreign_import_in_the_rules_is_found_inside_a_function_too(house: Path) -> None:
    found = foreign_imports("planwerk.workflow", house)

    assert [str(each) for each in found] == ["planwerk.workflow.schedule:2 imports structlog"]


def test_a_rule_that_opens_a_file_is_found(house: Path) -> None:
    assert calls_of("planwerk.workflow", {"open"}, house) == ["planwerk/workflow/entries.py:2 calls open()"]


def test_rules_that_reach_up_to_their_own_handle_are_found(house: Path) -> None:
    found = imports_outside("planwerk.workspace.rules", ROOMS_WORKSPACE_RULES_MAY_IMPORT, house)

    assert [str(each) for each in found] == ["planwerk.workspace.rules.apply:1 imports planwerk.workspace.handle"]


def test_an_adapter_that_reaches_beside_the_ports_is_found(house: Path) -> None:
    found = imports_beside_the_ports(house)

    assert [str(each) for each in found] == ["planwerk.storage.journal:3 imports planwerk.runtime.worker.Worker"]


def test_a_name_taken_from_the_root_package_is_found_and_a_room_is_not(house: Path) -> None:
    assert [str(each) for each in imports_of_root_names(house)] == [
        "planwerk.workspace.handle:2 imports planwerk.Agent"
    ]
