"""Write docs/cli.md from the commands themselves.

python tools/write_cli.py            write the file
python tools/write_cli.py --check    fail if it is out of date
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import typer

from planwerk.cli.exit_codes import MEANINGS
from planwerk.cli.root import app

TARGET: Final = Path(__file__).resolve().parents[1] / "docs/cli.md"

HEAD: Final = """\
# Command line

`planwerk COMMAND --help` says the same as this page.

`run`, `chat`, `profiles`, `accounts` and `keys` talk to `--server URL` if it is given, else to the server that uses the
data folder (its address and key are in the folder's `server.lock`, which only its owner can read), else they open the
data folder themselves. `--json` prints one line of JSON on standard output, and errors as one line of JSON on standard
error. `NO_COLOR=1` prints without colour. An error is one line that says what to do next; `--debug`, anywhere on the
line, shows its trace as well. A tab completes commands and options after `planwerk --install-completion`.

Ctrl-C stops the run that is answering and keeps what it has said; a second Ctrl-C leaves at once. What is piped into
`run` is attached to TEXT: `planwerk run assistant "Summarise this" < notes.txt`. On a terminal an answer is drawn as
Markdown while it comes (`--plain` streams the bare text); into a pipe it is written once it is complete. `chat` takes
one message a line from a pipe.

## Exit codes

| Code | Meaning |
|---|---|
"""


def page() -> str:
    """The whole page."""
    codes = "".join(f"| {int(code)} | {meaning} |\n" for code, meaning in MEANINGS.items())
    commands = "\n".join(_commands(typer.main.get_command(app), "planwerk"))
    return f"{HEAD}{codes}\n## Commands\n\n{commands}"


def _commands(command: Any, name: str) -> Iterator[str]:
    inner: dict[str, Any] = getattr(command, "commands", {})
    if not inner:
        yield from _command(command, name)
    for part, each in sorted(inner.items()):
        yield from _commands(each, f"{name} {part}")


def _command(command: Any, name: str) -> Iterator[str]:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option"]
    usage = " ".join([name, *(_metavar(each) for each in arguments)])
    yield f"### `{usage}`\n"
    yield f"{_line(command.help)}\n"
    for each in arguments:
        yield f"- `{_metavar(each)}`: {_line(each.help)}"
    for each in options:
        value = f" {each.metavar}" if not each.is_flag else ""
        default = _default(each)
        yield f"- `{each.opts[0]}{value}`: {_line(each.help)}{f' Default: {default}.' if default else ''}"
    yield ""


def _metavar(argument: Any) -> str:
    named = argument.metavar or argument.name.upper()
    return named if argument.required else f"[{named}]"


def _default(option: Any) -> str:
    if isinstance(option.show_default, str):
        return option.show_default
    plain = option.default is None or option.is_flag or callable(option.default)
    return "" if plain else f"`{option.default}`"


def _line(text: str | None) -> str:
    return re.sub(r"\s+", " ", text or "").strip()


def main(arguments: list[str]) -> int:
    """Write or compare; the exit code."""
    text = page()
    if "--check" in arguments:
        if not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text:
            print("docs/cli.md is out of date: run python tools/write_cli.py", file=sys.stderr)
            return 1
        return 0
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
