"""The command line as a whole: quick, documented, every error one line with a next step (S7)."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version

import pytest
from tools.write_cli import TARGET, page

from planwerk.cli.exit_codes import MEANINGS, ExitCode
from tests.cli.world import Shell, one_line

COMMANDS = ("serve", "run", "chat", "check", "graph", "new", "doctor", "config", "profiles", "accounts", "keys")


def test_the_page_of_commands_is_up_to_date() -> None:
    assert TARGET.read_text(encoding="utf-8") == page(), "run python tools/write_cli.py"


def test_every_exit_code_is_documented() -> None:
    assert set(MEANINGS) == set(ExitCode)


def test_the_version_is_the_package_s(shell: Shell) -> None:
    assert shell.run("--version").stdout == f"planwerk {version('planwerk')}\n"


def test_the_help_lists_every_command(shell: Shell) -> None:
    result = shell.run("--help")

    assert result.exit_code == 0
    assert [name for name in COMMANDS if name not in result.stdout] == []


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["serve", "--help"], ["profiles", "--help"]])
def test_help_waits_for_no_heavy_import(arguments: list[str]) -> None:
    code = (
        "import sys\nfrom planwerk.cli.root import app\n"
        f"try:\n    app({arguments!r})\nexcept SystemExit:\n    pass\n"
        "heavy = {'pydantic_ai', 'fastapi', 'sqlalchemy', 'uvicorn', 'structlog', 'httpx2'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or None)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["chek"], "Did you mean 'check'?"),
        (["check", "--jsn"], "'planwerk check --help'"),
        (["serve", "--port", "http"], "'planwerk serve --help'"),
        (["run"], "'planwerk run --help'"),
        (["config", "explain", "prot"], "Did you mean port?"),
        (["serve", "--port", "70000"], "less than or equal to 65535"),
        (["check"], "Give a file such as my_agent.py"),
    ],
)
def test_a_wrong_use_is_one_line_with_a_next_step(shell: Shell, arguments: list[str], told: str) -> None:
    result = shell.run(*arguments)

    assert told in one_line(result.stderr)
    assert result.stdout == ""
    assert result.exit_code == ExitCode.USAGE


def test_an_error_is_json_where_json_is_wanted(shell: Shell) -> None:
    result = shell.run("config", "explain", "prot", "--json")

    problem = json.loads(result.stderr)["error"]
    assert problem["code"] == "unknown_setting"
    assert problem["what_to_do"] == "Did you mean port?"


@pytest.mark.parametrize("arguments", [["--debug", "check", "x.py"], ["check", "x.py", "--debug"]])
def test_debug_shows_the_trace_wherever_it_stands(shell: Shell, arguments: list[str]) -> None:
    plain, debugged = shell.run("check", "x.py"), shell.run(*arguments)

    assert "Traceback" not in plain.stderr
    assert "Traceback" in debugged.stderr
    assert debugged.stderr.endswith(plain.stderr)


def test_an_option_after_two_dashes_is_text(shell: Shell) -> None:
    result = shell.run("check", "--", "--debug")

    assert "'--debug'" in one_line(result.stderr)


def test_a_fault_of_ours_is_one_line_too(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("planwerk.settings.loading.load", fail)

    result = shell.run("config", "explain")

    assert "ZeroDivisionError: by zero. This is a fault of Planwerk; --debug" in one_line(result.stderr)
    assert result.exit_code == ExitCode.INTERNAL


def test_an_unknown_variable_stops_every_command_that_reads_settings(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANWERK_MODLE", "demo")

    for arguments in (["doctor"], ["serve"], ["run", "assistant", "hi"], ["accounts", "list"]):
        result = shell.run(*arguments)

        assert "Did you mean PLANWERK_MODEL?" in one_line(result.stderr)
        assert result.exit_code == ExitCode.USAGE


def test_a_folder_that_may_not_be_used_is_one_line(shell: Shell) -> None:
    shell.data.write_text("a file, not a folder", "utf-8")

    for arguments in (["serve", "--port", "0"], ["run", "assistant", "hi"], ["config", "set", "port", "1"]):
        result = shell.run(*arguments)

        assert str(shell.data) in one_line(result.stderr)
        assert result.exit_code in {ExitCode.PROBLEM, ExitCode.USAGE}
