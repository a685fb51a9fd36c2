"""`planwerk config`: where each setting comes from, and changing one (S1.2)."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from planwerk.cli.errors import UsageFault
from planwerk.cli.options import Data, Json
from planwerk.cli.output import print_json, print_table

if TYPE_CHECKING:
    from planwerk.settings.loading import Explanation, Loaded

app = typer.Typer(help="Show where settings come from, and change them.", no_args_is_help=True)


@app.command("explain")
def explain(
    key: Annotated[str | None, typer.Argument(metavar="KEY", help="Such as port, or provider.openai.key.")] = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Show a setting's value and where it comes from; without KEY those of all settings. Secrets are never shown."""
    from planwerk.settings.loading import load

    loaded = load({"data": data})
    if key is not None:
        _show_one(loaded.explain(key), as_json=as_json)
    else:
        _show_all(loaded, as_json=as_json)


def _show_one(found: Explanation, *, as_json: bool) -> None:
    if as_json:
        print_json(asdict(found))
        return
    print(f"{found.key} = {found.value}")
    print(f"  from {found.origin.place}")
    for other in found.overridden:
        if other.source != "default":
            print(f"  without effect: {other.value} from {other.place}")
    print(f"  {found.description}")
    if found.variable:
        print(f"  In the environment: {found.variable}")


def _show_all(loaded: Loaded, *, as_json: bool) -> None:
    found = [loaded.explain(name) for name in loaded.names()]
    if as_json:
        print_json({"settings": [asdict(each) for each in found]})
        return
    print_table(("SETTING", "VALUE", "FROM"), [(each.key, each.value, each.origin.place) for each in found], empty="")


@app.command("set")
def set_(
    key: Annotated[str, typer.Argument(help="Such as port, or provider.openai.key.")],
    value: Annotated[
        str | None,
        typer.Argument(metavar="VALUE", help="Left out for secrets, which are read from stdin."),
    ] = None,
    unset: Annotated[bool, typer.Option("--unset", help="Forget the value that was set.")] = False,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Keep a setting in the data folder; a secret is read from standard input."""
    from planwerk.settings.loading import load
    from planwerk.settings.writing import file_of, set_value, unset_value

    folder = load({"data": data}).settings.data
    path = file_of(folder, key)
    if unset:
        if not unset_value(folder, key):
            raise UsageFault(f"{key} is not set in {path}.", what_to_do=f"'planwerk config explain {key}' says where.")
    else:
        set_value(folder, key, _value(key, value))
    effect = load({"data": data}).explain(key)
    if as_json:
        print_json({**asdict(effect), "file": str(path)})
        return
    print(f"{effect.key} = {effect.value}, from {effect.origin.place}")
    if not unset and not effect.origin.place.startswith(str(path)):
        print(f"What was set in {path} has no effect while {effect.origin.place} gives a value.")
    print("A running server takes it when it starts anew.")


def _value(key: str, given: str | None) -> str:
    from planwerk.settings.keys import info_of, read_key

    if not info_of(read_key(key)).is_secret:
        if given is None:
            raise UsageFault(f"no value is given for {key}.", what_to_do=f"planwerk config set {key} VALUE")
        return given
    if given is not None:
        raise UsageFault(
            f"{key} is a secret, and arguments can be read by others of this machine.",
            what_to_do=f"Leave the value out: 'planwerk config set {key}' reads it from standard input.",
        )
    return read_secret(f"{key}: ")


def read_secret(prompt: str) -> str:
    """A secret from standard input: asked for without echo on a terminal, else the first line.

    Raises:
        UsageFault: Nothing came.
    """
    if sys.stdin.isatty():
        from getpass import getpass

        text = getpass(prompt)
    else:
        text = sys.stdin.readline()
    text = text.strip("\r\n")
    if not text:
        raise UsageFault("nothing came from standard input.", what_to_do="Pipe the secret in, or type it when asked.")
    return text
