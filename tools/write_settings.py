"""Write docs/settings.md from the settings' definitions.

python tools/write_settings.py            write the file
python tools/write_settings.py --check    fail if it is out of date
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, get_args

from planwerk.settings.keys import KeyInfo, known_keys

TARGET: Final = Path(__file__).resolve().parents[1] / "docs/settings.md"

HEAD: Final = """\
# Settings

Planwerk works without any. Where a setting is given in several places, the first of these counts:

1. a flag of the command line, such as `--port 9000`
2. an environment variable, such as `PLANWERK_PORT=9000`
3. a file: `config.toml` in the data folder, then `[tool.planwerk]` of `pyproject.toml` in the working directory
4. what `planwerk config set` keeps of secrets: `stored.toml` in the data folder, which only its owner can read
5. the default

`planwerk config explain KEY` says what a setting is and which place it comes from; `planwerk config set KEY VALUE`
writes it to `config.toml` and keeps the comments there. An unknown name is an error wherever it stands, and the error
says which one was probably meant.

A secret may also come from a file: `PLANWERK_API_KEY_FILE=/run/secrets/key`, or `api_key_file = "key.txt"` in
`config.toml`. Secrets are never printed. In environment variables NAME is written in upper case.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *_tables()])


def _tables() -> Iterator[str]:
    sections: dict[str, list[KeyInfo]] = {}
    for info in known_keys().values():
        sections.setdefault(".".join(info.path[:-1]), []).append(info)
    for name, infos in sections.items():
        yield f"## `{name}`\n" if name else "## General\n"
        if infos[0].section:
            yield f"{infos[0].section}\n"
        for info in infos:
            yield from _entry(info)


def _entry(info: KeyInfo) -> Iterator[str]:
    facts = [_takes(info), f"default: {_default(info)}"]
    if info.variable:
        facts.append(f"`{info.variable}`")
    if info.is_secret:
        facts.append("secret")
    yield f"- **`{'.'.join(info.path)}`** ({'; '.join(facts)})<br>"
    yield f"  {info.field.description}\n"


def _takes(info: KeyInfo) -> str:
    annotation = info.field.annotation
    options = [each for each in get_args(annotation) if isinstance(each, str)]
    if options:
        return " or ".join(f"`{option}`" for option in options)
    if info.field.annotation == tuple[str, ...]:
        return "names, separated by commas"
    plain = [each for each in (get_args(annotation) or (annotation,)) if each is not type(None)]
    names = {"int": "whole number", "float": "number", "Decimal": "number", "Path": "path"}
    return names.get(getattr(plain[0], "__name__", ""), "text")


def _default(info: KeyInfo) -> str:
    if info.field.default_factory is not None:
        return "this account’s own"
    return "none" if info.field.default in {None, ()} else f"`{info.field.default}`"


def main(arguments: list[str]) -> int:
    """Write or compare; the exit code."""
    text = page()
    if "--check" in arguments:
        if not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text:
            print("docs/settings.md is out of date: run python tools/write_settings.py", file=sys.stderr)
            return 1
        return 0
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
