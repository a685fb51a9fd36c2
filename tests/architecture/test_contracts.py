"""The contracts and bans in pyproject.toml refuse what they are there to refuse."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(sys.executable).parent

ROOMS = (
    *("access", "app", "blueprints", "cli", "integrations", "locales", "messages", "models", "providing", "runtime"),
    *("documents", "server", "storage", "testing", "workflow", "workspace", "workspace/rules"),
    *("capabilities", "capabilities/memory", "capabilities/knowledge", "capabilities/tool_loop"),
)


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A house with every room, empty, under the contracts of this project."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for room in ("", *ROOMS):
        folder = tmp_path / "planwerk" / room
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
    for module in ("workflow/ids.py", "workflow/errors.py", "capabilities/tool_loop/tools.py"):
        (tmp_path / "planwerk" / module).touch()
    return tmp_path


def lint(house: Path) -> tuple[int, str]:
    done = subprocess.run(
        [TOOLS / "lint-imports", "--no-logo", "--no-cache"], cwd=house, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def add_import(house: Path, importer: str, imported: str) -> None:
    module = house / "planwerk" / importer / "added.py"
    module.write_text(f"import planwerk.{imported}\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("importer", "imported", "contract"),
    [
        ("workflow", "runtime", "Imports point one way"),
        ("messages", "workspace", "Imports point one way"),
        ("server", "app", "Imports point one way"),
        ("workflow", "access", "Imports point one way"),
        ("cli", "testing", "Imports point one way"),
        ("workspace/rules", "messages", "The rules of a workspace lie between messages and workflow"),
        ("capabilities/memory", "capabilities.knowledge", "Capabilities do not import each other"),
        ("cli", "storage", "Only app and testing import storage"),
    ],
)
def test_an_import_against_the_direction_is_refused(house: Path, importer: str, imported: str, contract: str) -> None:
    add_import(house, importer, imported)

    code, printed = lint(house)

    assert code == 1
    assert f"{contract} BROKEN" in printed


def test_a_room_nobody_placed_is_refused(house: Path) -> None:
    (house / "planwerk/attic").mkdir()
    (house / "planwerk/attic/__init__.py").touch()

    code, printed = lint(house)

    assert code == 1
    assert "attic" in printed


def test_the_imports_that_are_allowed_pass(house: Path) -> None:
    add_import(house, "access", "workflow.ids")
    add_import(house, "messages", "workspace.rules")
    add_import(house, "capabilities/memory", "capabilities.tool_loop.tools")
    add_import(house, "app", "storage")
    add_import(house, "testing", "storage")

    code, printed = lint(house)

    assert code == 0, printed


BANNED = (
    "import time\n",
    "import random\n",
    "import asyncio\n",
    "import logging\n",
    "import os\n",
    "from uuid import uuid4\n",
    "from secrets import token_hex\n",
    "import datetime\n\nnow = datetime.datetime.now()\n",
    "from datetime import datetime\n\nnow = datetime.now()\n",
    "from planwerk.workflow.ids import new_id\n",
)


def refused(source: str, at: str) -> bool:
    done = subprocess.run(
        [TOOLS / "ruff", "check", "--quiet", "--no-cache", "--select", "TID251", "--stdin-filename", at, "-"],
        input=source,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stderr
    return "TID251" in done.stdout


@pytest.mark.parametrize("source", BANNED)
def test_a_clock_or_a_draw_in_the_rules_is_refused(source: str) -> None:
    assert refused(source, "src/planwerk/workflow/settling.py")
    assert refused(source, "src/planwerk/workspace/rules/apply.py")


@pytest.mark.parametrize("at", ["src/planwerk/runtime/driver.py", "src/planwerk/workspace/handle.py", "bench/chain.py"])
def test_drivers_may_read_the_clock(at: str) -> None:
    assert not refused("import time\n", at)
