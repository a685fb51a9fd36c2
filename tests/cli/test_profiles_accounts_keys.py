"""`profiles`, `accounts` and `keys`, over a server and without one."""

from __future__ import annotations

import json
import stat
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest

from planwerk.cli.errors import UsageFault
from planwerk.cli.exit_codes import ExitCode
from planwerk.cli.keys import moment
from planwerk.cli.profiles import changes_by_flags
from tests.cli.world import Shell, one_line


def test_profiles_are_listed_and_shown(served: Shell) -> None:
    listed = served.run("profiles", "list").stdout.splitlines()
    shown = served.run("profiles", "show", "assistant").stdout

    assert listed[0].split() == ["PROFILE", "NAME", "MODEL", "DESCRIPTION"]
    assert listed[1].startswith("assistant   Assistant   demo:planwerk")
    assert "blueprint LLMWrappingAgent" in shown
    assert '  config.system_prompt = ""' in shown


def test_a_profile_is_changed_by_flags(shell: Shell) -> None:
    settings = ("name=Helper", "config.system_prompt=Be brief.", "config.condense_question=true")
    flags = [part for setting in settings for part in ("--set", setting)]

    changed = shell.json("profiles", "edit", "assistant", *flags)
    back = shell.json("profiles", "edit", "assistant", "--set", "config.system_prompt=null")

    assert (changed["name"], changed["version"]) == ("Helper", 2)
    assert changed["config"] == {"system_prompt": "Be brief.", "condense_question": True}
    assert back["config"] == {"condense_question": True}


def test_a_profile_is_changed_in_an_editor(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = Path("editor.sh")
    editor.write_text('#!/bin/sh\nsed -i \'s/"icon": [^,]*/"icon": "star"/\' "$1"\n', "utf-8")
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(editor.resolve()))

    assert shell.json("profiles", "edit", "assistant")["icon"] == "star"
    unchanged = shell.run("profiles", "edit", "assistant")
    assert "nothing was changed" in one_line(unchanged.stderr).lower()


@pytest.mark.parametrize(
    ("arguments", "told", "code"),
    [
        (["edit", "assistant", "--set", "config.nope=1"], "nope", ExitCode.USAGE),
        (["edit", "assistant", "--set", "slug=x"], "config.FIELD", ExitCode.USAGE),
        (["edit", "assistant", "--set", "name"], "KEY=VALUE", ExitCode.USAGE),
        (["edit", "nobody", "--set", "name=x"], "assistant", ExitCode.NOT_FOUND),
        (["show", "nobody"], "assistant", ExitCode.NOT_FOUND),
        (["edit", "assistant"], "Set EDITOR", ExitCode.USAGE),
    ],
)
def test_a_change_that_cannot_be_is_one_line(
    served: Shell, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str, code: ExitCode
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)

    result = served.run("profiles", *arguments)

    assert told in one_line(result.stderr)
    assert result.exit_code == code


def test_a_field_inside_a_field_is_set_and_the_rest_stays() -> None:
    current = {"config": {"gate": {"on": True, "words": 3}}}

    changes = changes_by_flags(current, ["config.gate.words=5"])

    assert changes == {"config": {"gate": {"on": True, "words": 5}}}
    assert current == {"config": {"gate": {"on": True, "words": 3}}}


SCHEDULE = ("schedule.cron=0 7 29 2 *", "schedule.zone=Europe/Zurich", "schedule.message=123", "schedule.locale=de")


def test_a_schedule_is_given_shown_paused_and_taken_away(shell: Shell) -> None:
    flags = [part for setting in SCHEDULE for part in ("--set", setting)]

    given = shell.run("profiles", "edit", "assistant", *flags).stdout.splitlines()
    listed = shell.run("profiles", "list").stdout.splitlines()
    shown = shell.run("profiles", "show", "assistant").stdout.splitlines()
    paused = shell.run("profiles", "edit", "assistant", "--set", "schedule.enabled=false").stdout.splitlines()
    gone = shell.json("profiles", "edit", "assistant", "--set", "schedule=null")

    assert given[1:] == shown[-len(given) + 1 :]
    assert '  schedule.message = "123"' in given
    assert given[-1].startswith("  Next: ")
    assert given[-1].count("-02-29 07:00 CET") == 3
    assert listed[0].endswith("NEXT RUN")
    assert listed[1].endswith("-02-29 07:00 CET")
    assert paused[-1] == "  It is paused: --set schedule.enabled=true lets it run again."
    assert gone["schedule"] is None


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("schedule.cron=0 25 * * *", "the hour cannot be read"),
        ("schedule.zone=Zurich", "Europe/Zurich"),
        ("schedule.cron=* * * * *", "schedule_min_seconds"),
        ("schedule.when=noon", "schedule.FIELD (cron, zone"),
    ],
)
def test_a_schedule_that_cannot_be_kept_is_one_line(served: Shell, setting: str, told: str) -> None:
    settings = {"cron": "0 7 29 2 *", "message": "Hello"} | dict([setting.removeprefix("schedule.").split("=")])
    flags = [part for name, value in settings.items() for part in ("--set", f"schedule.{name}={value}")]

    result = served.run("profiles", "edit", "assistant", *flags)

    assert told in one_line(result.stderr)
    assert served.json("profiles", "show", "assistant")["schedule"] is None


def test_a_schedule_is_changed_in_an_editor(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.run("profiles", "edit", "assistant", *(part for one in SCHEDULE for part in ("--set", one)))
    editor = Path("editor.sh")
    editor.write_text('#!/bin/sh\nsed -i "s/0 7 29 2/30 8 29 2/" "$1"\n', "utf-8")
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(editor.resolve()))

    changed = shell.json("profiles", "edit", "assistant")["schedule"]

    assert (changed["cron"], changed["message"], changed["zone"]) == ("30 8 29 2 *", "123", "Europe/Zurich")


def test_accounts_are_made_changed_and_shut(served: Shell) -> None:
    about = ("--role", "builder", "--name", "Ada L.", "--password")
    served.run("accounts", "create", "ada", *about, stdin="correct horse\n")
    served.run("accounts", "set-role", "Ada", "admin")
    assert sign_in(served, "ada", "correct horse") == 200
    served.run("accounts", "set-password", "ada", stdin="battery staple\n")
    assert (sign_in(served, "ada", "correct horse"), sign_in(served, "ada", "battery staple")) == (401, 200)
    served.run("accounts", "disable", "ada")
    assert sign_in(served, "ada", "battery staple") == 401

    rows = served.run("accounts", "list").stdout.splitlines()

    assert rows[2].split() == ["ada", "Ada", "L.", "admin", "disabled"]
    assert served.json("accounts", "disable", "ada", "--undo")["disabled"] is False


def sign_in(shell: Shell, login: str, password: str) -> int:
    body = {"login": login, "password": password}
    return httpx2.post(f"{shell.server['url']}/api/session", json=body, trust_env=False).status_code


@pytest.mark.parametrize(
    ("arguments", "stdin", "told", "code"),
    [
        (["create", "eve", "--role", "king"], "", "'builder'", ExitCode.USAGE),
        (["create", "owner"], "", "taken", ExitCode.PROBLEM),
        (["create", "not a login"], "", "cannot be a login", ExitCode.USAGE),
        (["create", "eve", "--password"], "short\n", "characters", ExitCode.USAGE),
        (["set-role", "nobody", "admin"], "", "There are owner", ExitCode.NOT_FOUND),
        (["set-role", "owner", "member"], "", "last owner", ExitCode.PROBLEM),
        (["set-password", "owner"], "", "nothing came from standard input", ExitCode.USAGE),
        (["disable", "owner"], "", "last owner", ExitCode.PROBLEM),
    ],
)
def test_an_account_that_cannot_be_so_is_one_line(
    served: Shell, arguments: list[str], stdin: str, told: str, code: ExitCode
) -> None:
    result = served.run("accounts", *arguments, stdin=stdin)

    assert told.lower() in one_line(result.stderr).lower()
    assert result.exit_code == code


def test_a_password_that_is_refused_is_not_repeated(served: Shell) -> None:
    assert "sh0rt" not in served.run("accounts", "set-password", "owner", stdin="sh0rt\n").output


def test_a_key_is_shown_once_narrowed_and_revoked(served: Shell) -> None:
    text = served.run("keys", "create", "ci", "--scope", "profile.read", "--expires", "30d").stdout.strip()
    url, key = f"{served.server['url']}/api/profiles", text.split("_")[1]

    assert httpx2.get(url, headers={"Authorization": f"Bearer {text}"}, trust_env=False).status_code == 200
    narrow = served.run("accounts", "list", "--server", served.server["url"], "--key", text)
    assert (narrow.exit_code, "scope" in one_line(narrow.stderr)) == (ExitCode.REFUSED, True)
    listed = served.run("keys", "list").stdout
    assert text not in listed
    assert f"{key}   ci" in listed
    served.run("keys", "revoke", key)
    assert httpx2.get(url, headers={"Authorization": f"Bearer {text}"}, trust_env=False).status_code == 401
    assert served.json("keys", "list")["items"][-1]["revoked"] is not None


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["create", "x", "--scope", "nonsense"], ExitCode.USAGE),
        (["create", "x", "--expires", "soon"], ExitCode.USAGE),
        (["create", "x", "--expires", "2020-01-01"], ExitCode.USAGE),
        (["create", ""], ExitCode.USAGE),
        (["revoke", "none"], ExitCode.NOT_FOUND),
    ],
)
def test_a_key_that_cannot_be_is_one_line(served: Shell, arguments: list[str], code: ExitCode) -> None:
    result = served.run("keys", *arguments)

    assert one_line(result.stderr)
    assert result.exit_code == code


def test_an_expiry_is_a_span_or_a_time() -> None:
    now = datetime(2027, 1, 1, tzinfo=UTC)

    assert moment("12h", now) == datetime(2027, 1, 1, 12, tzinfo=UTC)
    assert moment("2w", now) == datetime(2027, 1, 15, tzinfo=UTC)
    assert moment("2027-02-01", now) == datetime(2027, 2, 1, tzinfo=UTC)
    with pytest.raises(UsageFault):
        moment("12", now)


def test_everything_works_where_no_server_runs(shell: Shell) -> None:
    made = shell.json("accounts", "create", "ada", stdin="")
    key = json.loads(shell.spawn("keys", "create", "ci", "--json").stdout)

    assert [account["login"] for account in shell.json("accounts", "list")["items"]] == ["owner", "ada"]
    assert made["has_password"] is False
    assert [each["id"] for each in shell.json("keys", "list")["items"]] == [key["id"]]
