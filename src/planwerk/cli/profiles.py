"""`planwerk profiles`: list, show and change what people chat with (S2.1)."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from copy import deepcopy
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast
from zoneinfo import ZoneInfo

import typer

from planwerk.cli.calling import call
from planwerk.cli.errors import CommandError, UsageFault
from planwerk.cli.options import Data, Json, Key, Server
from planwerk.cli.output import print_json, print_table

if TYPE_CHECKING:
    from planwerk.cli.client import Api

app = typer.Typer(help="List, show and change profiles.", no_args_is_help=True)

Profile = Annotated[str, typer.Argument(metavar="PROFILE", help="Id of the profile.")]
EDITABLE = ("name", "description", "icon", "starters", "config", "access", "models", "when_default", "schedule")
"""What of a profile can be changed; a text that is replaced is replaced in all languages."""
SCHEDULE = ("cron", "zone", "message", "event", "locale", "catch_up_seconds", "while_running", "enabled")
TEXTS = frozenset({"cron", "zone", "message", "locale"})
"""Fields of a schedule that are text whatever they look like."""


class NothingChanged(CommandError):
    """The editor was left without a change."""

    code = "nothing_changed"


@app.command("list")
def list_(data: Data = None, server: Server = None, key: Key = None, as_json: Json = False) -> None:
    """List the profiles, the default one first; those that cannot be used say why."""
    found = call(server, key, data, lambda api: api.get("/api/profiles?broken=true"))
    if as_json:
        print_json(found)
        return
    rows = [
        (each["id"], each["name"], each["model"]["name"], each.get("problem") or each["description"], _next_run(each))
        for each in found["items"]
    ]
    heads = ("PROFILE", "NAME", "MODEL", "DESCRIPTION", "NEXT RUN")
    shown = len(heads) if any(row[-1] for row in rows) else len(heads) - 1
    print_table(heads[:shown], [row[:shown] for row in rows], empty="There are no profiles.")


def _next_run(profile: Mapping[str, Any]) -> str:
    schedule = profile.get("schedule")
    if not schedule:
        return ""
    return local_time(schedule["next"][0], schedule["zone"]) if schedule["next"] else "paused"


@app.command("show")
def show(profile: Profile, data: Data = None, server: Server = None, key: Key = None, as_json: Json = False) -> None:
    """Show a profile with its settings."""
    found = call(server, key, data, lambda api: api.get(f"/api/profiles/{profile}"))
    if as_json:
        print_json(found)
        return
    print(f"{found['name']} ({found['id']}), version {found['version']}, blueprint {found['blueprint']}")
    print(f"  {found['description']}")
    print(f"  Model: {found['model']['name']} ({found['model']['location']})")
    print(f"  A message while a run works, if its sender does not say: {found['when_default']}")
    if found.get("problem"):
        print(f"  Cannot be used: {found['problem']}")
    given: dict[str, Any] = found.get("config") or {}
    schema: dict[str, Any] = found.get("config_schema") or {}
    fields: dict[str, dict[str, Any]] = schema.get("properties") or {}
    for name, about in fields.items():
        value = json.dumps(given.get(name, about.get("default")), ensure_ascii=False)
        print(f"  config.{name} = {value}{'  (set)' if name in given else ''}")
    _print_schedule(found.get("schedule"))


def _print_schedule(schedule: Mapping[str, Any] | None) -> None:
    """When the profile runs by itself, by the clocks of its zone."""
    if not schedule:
        return
    for name in SCHEDULE:
        if schedule[name] is not None:
            print(f"  schedule.{name} = {json.dumps(schedule[name], ensure_ascii=False)}")
    if schedule["problem"]:
        print(f"  It does not run by itself: {schedule['problem']}")
    elif not schedule["enabled"]:
        print("  It is paused: --set schedule.enabled=true lets it run again.")
    else:
        print(f"  Next: {', '.join(local_time(time, schedule['zone']) for time in schedule['next'])}")


def local_time(time: str, zone: str) -> str:
    """A time of the server as the clocks of a zone show it."""
    return datetime.fromisoformat(time).astimezone(ZoneInfo(zone)).strftime("%a %Y-%m-%d %H:%M %Z")


@app.command("edit")
def edit(
    profile: Profile,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Such as name=Helper, config.llm=openai:x or schedule.cron='0 7 * * MON-FRI'; may be repeated.",
        ),
    ] = None,
    data: Data = None,
    server: Server = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Change a profile: with --set, else in $EDITOR. The server refuses what its blueprint does not take."""
    before: dict[str, Any] = {}

    async def change(api: Api) -> Any:
        response = await api.send("GET", f"/api/profiles/{profile}")
        current = response.json()
        before.update(current)
        changes = changes_by_flags(current, set_) if set_ else changes_by_editor(current)
        headers = {"If-Match": response.headers["ETag"]}
        return await api.call("PATCH", f"/api/profiles/{profile}", json=changes, headers=headers)

    changed = call(server, key, data, change)
    if as_json:
        print_json(changed)
    else:
        print(f"{changed['name']} ({changed['id']}) is at version {changed['version']} now.")
        if changed.get("schedule") != before.get("schedule"):
            _print_schedule(changed.get("schedule"))


def changes_by_flags(current: Mapping[str, Any], given: Sequence[str]) -> dict[str, Any]:
    """What `--set` asks for; a value is JSON where it can be read as such, else text.

    Raises:
        UsageFault: It is not KEY=VALUE, or there is no such field.
    """
    changes: dict[str, Any] = {}
    for each in given:
        name, separator, text = each.partition("=")
        field, _, inner = name.partition(".")
        within = {"config": None, "schedule": SCHEDULE}.get(field, ())
        fits = inner in within if inner and within is not None else not inner or field == "config"
        if not separator or field not in EDITABLE or not fits or name == "config":
            plain = (field for field in EDITABLE if field not in {"config", "schedule"})
            known = ", ".join((*plain, "config.FIELD", f"schedule.FIELD ({', '.join(SCHEDULE)})", "schedule=null"))
            raise UsageFault(f"--set {each[:60]!r} cannot be followed.", what_to_do=f"Use KEY=VALUE with {known}.")
        value = _value(text)
        if field == "schedule" and inner:
            changes.setdefault("schedule", {})[inner] = value if inner not in TEXTS or value is None else text
        elif inner:
            stored: dict[str, Any] = current.get("config") or {}
            config = changes.setdefault("config", deepcopy(stored))
            _put(config, inner.split("."), value)
        else:
            changes[field] = value
    return changes


def _put(config: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Set a field; null goes back to the blueprint's default."""
    for word in path[:-1]:
        config = config.setdefault(word, {})
    if value is None:
        config.pop(path[-1], None)
    else:
        config[path[-1]] = value


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def changes_by_editor(current: Mapping[str, Any]) -> dict[str, Any]:
    """What a person changes in her editor.

    Raises:
        NothingChanged: Nothing.
        UsageFault: There is no editor, or what was saved is no JSON.
    """
    before = {name: current.get(name) for name in EDITABLE}
    if before["schedule"] is not None:
        before["schedule"] = {name: before["schedule"][name] for name in SCHEDULE}
    after = _edited(json.dumps(before, ensure_ascii=False, indent=2) + "\n")
    unknown = set(after) - set(EDITABLE)
    if unknown:
        raise UsageFault(f"a profile has no field {min(unknown)!r}.", what_to_do=f"It has {', '.join(EDITABLE)}.")
    changes = {name: value for name, value in after.items() if value != before[name]}
    if not changes:
        raise NothingChanged("nothing was changed.", what_to_do="Save the file in the editor to change the profile.")
    return changes


def _edited(text: str) -> dict[str, Any]:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise UsageFault("no editor is set.", what_to_do="Set EDITOR, or use --set KEY=VALUE.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "profile.json"
        path.write_text(text, encoding="utf-8")
        done = subprocess.run([*shlex.split(editor), str(path)], check=False)
        if done.returncode:
            raise CommandError(f"{editor} ended with {done.returncode}.", what_to_do="Nothing was changed.")
        try:
            data: Any = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise UsageFault(f"what was saved is no JSON: {error}.", what_to_do="Edit it once more.") from None
    if not isinstance(data, dict):
        raise UsageFault("what was saved is no JSON object.", what_to_do="Edit it once more.")
    return cast("dict[str, Any]", data)
