"""`planwerk keys`: API keys; a key's text is shown once, when it is made (S5.1)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from planwerk.cli.calling import call
from planwerk.cli.errors import UsageFault
from planwerk.cli.options import Data, Json, Key, Server
from planwerk.cli.output import print_json, print_table

app = typer.Typer(help="List, make and revoke API keys.", no_args_is_help=True)

_SPAN = re.compile(r"(\d{1,5})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 168}


@app.command("list")
def list_(data: Data = None, server: Server = None, key: Key = None, as_json: Json = False) -> None:
    """List the keys, oldest first, without their texts."""
    found = call(server, key, data, lambda api: api.get("/api/keys"))
    if as_json:
        print_json(found)
        return
    rows = [
        (each["id"], each["name"], " ".join(each["scopes"]) if each["scopes"] else "everything", _state(each))
        for each in found["items"]
    ]
    print_table(("KEY", "NAME", "MAY DO", "STATE"), rows, empty="There are no keys.")


@app.command("create")
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the key is for.")],
    scope: Annotated[
        list[str] | None, typer.Option("--scope", metavar="ACTION", help="What it is narrowed to; may be repeated.")
    ] = None,
    expires: Annotated[
        str | None, typer.Option("--expires", metavar="WHEN", help="12h, 30d, 8w, or a date; never if missing.")
    ] = None,
    data: Data = None,
    server: Server = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Make a key of one's own account and print its text, this once."""
    ending = moment(expires, datetime.now(UTC)).isoformat() if expires is not None else None
    body: dict[str, Any] = {"name": name, "scopes": scope or None, "expires": ending}
    made = call(server, key, data, lambda api: api.post("/api/keys", body))
    if as_json:
        print_json(made)
    else:
        print(made["text"])


@app.command("revoke")
def revoke(
    id_: Annotated[str, typer.Argument(metavar="KEY", help="Its id, the part after pw_; 'keys list' shows it.")],
    data: Data = None,
    server: Server = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Refuse a key from now on."""
    call(server, key, data, lambda api: api.call("DELETE", f"/api/keys/{id_}"))
    if as_json:
        print_json({"id": id_, "revoked": True})
    else:
        print(f"{id_} is refused from now on.")


def moment(text: str, now: datetime) -> datetime:
    """The time that `--expires` names; a date is its beginning in UTC.

    Raises:
        UsageFault: It names none.
    """
    span = _SPAN.fullmatch(text)
    if span is not None:
        return now + timedelta(hours=int(span[1]) * _HOURS[span[2]])
    try:
        named = datetime.fromisoformat(text)
    except ValueError:
        raise UsageFault(f"{text!r} is no time.", what_to_do="Give one like 12h, 30d, 8w or 2027-01-31.") from None
    return named if named.tzinfo is not None else named.replace(tzinfo=UTC)


def _state(key: dict[str, Any]) -> str:
    if key["revoked"]:
        return "revoked"
    if key["expires"] and datetime.fromisoformat(key["expires"]) <= datetime.now(UTC):
        return "expired"
    return f"until {key['expires'][:16]}" if key["expires"] else "valid"
