"""`config` and `doctor`: what is set up, told without secrets."""

from __future__ import annotations

import os
import socket
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from planwerk.cli.exit_codes import ExitCode
from tests.cli.world import Shell, one_line


def test_a_setting_is_set_and_explained(shell: Shell) -> None:
    shell.run("config", "set", "port", "9001")

    explained = shell.json("config", "explain", "port")

    assert explained["value"] == "9001"
    assert explained["origin"]["place"] == str(shell.data / "config.toml")
    assert explained["variable"] == "PLANWERK_PORT"


def test_what_is_set_without_effect_says_so(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANWERK_PORT", "7")

    result = shell.run("config", "set", "port", "9001")

    assert "has no effect while environment variable PLANWERK_PORT gives a value" in result.stdout
    assert "port = 7" in result.stdout
    assert f"without effect: 9001 from {shell.data / 'config.toml'}" in shell.run("config", "explain", "port").stdout


def test_a_key_is_read_from_standard_input_and_never_printed(shell: Shell) -> None:
    result = shell.run("config", "set", "provider.openai.key", stdin="sk-very-secret\n")

    assert result.exit_code == 0
    told = result.output + shell.run("config", "explain").output + shell.run("config", "explain", "--json").output
    told += shell.run("doctor").output + shell.run("doctor", "--json").output
    assert "very-secret" not in told
    assert 'key = "sk-very-secret"' in (shell.data / "stored.toml").read_text("utf-8")


def test_a_secret_is_not_taken_from_the_command_line(shell: Shell) -> None:
    result = shell.run("config", "set", "provider.openai.key", "sk-very-secret")

    assert "reads it from standard input" in one_line(result.stderr)
    assert result.exit_code == ExitCode.USAGE
    assert not (shell.data / "stored.toml").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["set", "prot", "1"], "Did you mean port?"),
        (["set", "port", "high"], "port from the command line is not valid"),
        (["set", "port"], "no value is given"),
        (["set", "port", "--unset"], "port is not set in"),
        (["set", "api_key"], "nothing came from standard input"),
    ],
)
def test_a_setting_that_cannot_be_set_is_one_line(shell: Shell, arguments: list[str], told: str) -> None:
    result = shell.run("config", *arguments)

    assert told.lower() in one_line(result.stderr).lower()
    assert result.exit_code == ExitCode.USAGE


def test_a_setting_may_be_forgotten(shell: Shell) -> None:
    shell.run("config", "set", "port", "9001")

    assert shell.json("config", "set", "port", "--unset")["value"] == "8321"


def findings(shell: Shell, name: str) -> list[dict[str, Any]]:
    import json

    result = shell.run("doctor", "--json")
    return [finding for finding in json.loads(result.stdout)["findings"] if finding["name"] == name]


def test_a_new_installation_is_well(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANWERK_PORT", "0")

    result = shell.run("doctor")

    assert result.exit_code == 0, result.stdout
    assert "All is well." in result.stdout
    assert "only the built-in demo model answers" in result.stdout


def test_a_port_that_is_taken_is_trouble(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setenv("PLANWERK_PORT", str(port))

        result = shell.run("doctor")

    assert result.exit_code == ExitCode.PROBLEM
    assert f"port {port} on 127.0.0.1 cannot be used" in result.stdout


def test_a_damaged_database_is_trouble(shell: Shell) -> None:
    shell.data.mkdir()
    (shell.data / "planwerk.db").write_bytes(b"no database" * 500)

    assert findings(shell, "database")[0]["state"] == "trouble"


def test_a_sound_database_is_told_with_its_size(shell: Shell) -> None:
    shell.data.mkdir()
    connection = sqlite3.connect(shell.data / "planwerk.db")
    connection.execute("CREATE TABLE t (x)")
    connection.close()

    found = findings(shell, "database")[0]
    assert (found["state"], found["text"].endswith("undamaged")) == ("ok", True)


def test_secrets_that_others_may_read_are_trouble(shell: Shell) -> None:
    shell.run("config", "set", "api_key", stdin="a-key\n")
    (shell.data / "stored.toml").chmod(0o644)

    found = findings(shell, "data")
    assert found[-1]["state"] == "trouble"
    assert found[-1]["what_to_do"] == f"chmod 600 {shell.data / 'stored.toml'}"


def test_a_clock_behind_its_own_files_is_trouble(shell: Shell) -> None:
    shell.data.mkdir()
    (shell.data / "planwerk.log").touch()
    os.utime(shell.data / "planwerk.log", (4e9, 4e9))

    assert findings(shell, "clock")[0]["state"] == "trouble"


def test_a_named_model_server_that_does_not_answer_is_trouble(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLANWERK_MODEL")
    monkeypatch.setenv("PLANWERK_PROVIDER__MINE__BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("PLANWERK_MODEL", "mine:small")

    found = findings(shell, "model")

    assert found[0]["text"].startswith("mine:small (local, http://127.0.0.1:1/v1")
    assert [each["text"] for each in found if each["state"] == "trouble"] == [
        "http://127.0.0.1:1/v1 of provider mine lists no models"
    ]


def test_a_web_client_that_is_not_built_is_trouble(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planwerk.cli.checkup.STATIC", Path("nowhere"))

    assert findings(shell, "web client")[0]["state"] == "trouble"
