"""`planwerk new`: what it writes works as it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from planwerk.cli.exit_codes import ExitCode
from tests.cli.world import Shell, one_line


def test_what_is_written_is_sound_and_its_test_passes_offline(shell: Shell) -> None:
    written = shell.json("new", "my-agent")

    assert written["files"] == ["my_agent.py", "test_my_agent.py"]
    assert shell.spawn("check", "my_agent.py").stdout == "MyAgent: no problems\n"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:langsmith_plugin"]
    done = subprocess.run([*command, "test_my_agent.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout


def test_what_is_written_is_formatted_and_linted_as_our_own(shell: Shell) -> None:
    shell.run("new", "my_agent")

    tools = Path(sys.executable).parent
    config = str(Path(__file__).resolve().parents[2] / "pyproject.toml")
    for arguments in (["format", "--check"], ["check", "--ignore", "D,I001"]):
        command = [str(tools / "ruff"), *arguments, "--config", config, "."]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_it_is_served_as_a_profile_with_the_name_of_its_template(shell: Shell) -> None:
    shell.run("new", "my_agent")

    done = shell.spawn("profiles", "list", PLANWERK_APP="my_agent.py")

    assert [line.split()[0] for line in done.stdout.splitlines()] == ["PROFILE", "my-agent", "assistant"]


def test_nothing_is_written_over(shell: Shell) -> None:
    Path("test_mine.py").write_text("precious", "utf-8")

    result = shell.run("new", "mine")

    assert "test_mine.py is there already" in one_line(result.stderr)
    assert result.exit_code == ExitCode.PROBLEM
    assert Path("test_mine.py").read_text("utf-8") == "precious"
    assert not Path("mine.py").exists()


@pytest.mark.parametrize("name", ["1st", "a b", "class", "../up", "planwerk", ""])
def test_a_name_that_no_module_can_have_is_refused(shell: Shell, name: str) -> None:
    result = shell.run("new", name)

    assert "cannot be the name of a module" in one_line(result.stderr)
    assert list(Path().iterdir()) == []


def test_it_may_be_written_elsewhere(shell: Shell) -> None:
    shell.run("new", "helper", "--dir", "agents/first")

    assert sorted(path.name for path in Path("agents/first").iterdir()) == ["helper.py", "test_helper.py"]
