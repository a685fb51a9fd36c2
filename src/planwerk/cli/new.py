"""`planwerk new`: a blueprint with its profile and a test that passes offline."""

from __future__ import annotations

import keyword
import re
from importlib import resources
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from planwerk.cli.errors import CommandError, UsageFault
from planwerk.cli.options import Json
from planwerk.cli.output import print_json

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


class FileExists(CommandError):
    """A file of this name is there and is not written over."""

    code = "file_exists"


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Such as my_agent.")],
    folder: Annotated[Path, typer.Option("--dir", metavar="DIR", help="Where to write it.")] = Path(),
    as_json: Json = False,
) -> None:
    """Write a blueprint with its profile, and a test that passes offline."""
    module = _module_name(name)
    words = module.replace("_", " ").split()
    values = {
        "module": module,
        "name": "".join(word.capitalize() for word in words),
        "title": " ".join(words).capitalize(),
    }
    files = {
        folder / f"{module}.py": _filled("blueprint.py.txt", values),
        folder / f"test_{module}.py": _filled("test.py.txt", values),
    }
    for path in files:
        if path.exists():
            raise FileExists(f"{path} is there already.", what_to_do="Choose another name, or move the file away.")
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
    _tell(list(files), as_json=as_json)


def _module_name(name: str) -> str:
    module = name.removesuffix(".py").replace("-", "_").lower()
    if _NAME.fullmatch(name.removesuffix(".py")) is None or keyword.iskeyword(module) or module == "planwerk":
        raise UsageFault(
            f"{name!r} cannot be the name of a module.",
            what_to_do="Take letters, digits and underscores, such as my_agent.",
        )
    return module


def _filled(template: str, values: dict[str, str]) -> str:
    text = resources.files("planwerk.cli.templates").joinpath(template).read_text(encoding="utf-8")
    return Template(text).substitute(values)


def _tell(paths: list[Path], *, as_json: bool) -> None:
    if as_json:
        print_json({"files": [str(path) for path in paths]})
        return
    blueprint, test = paths
    print(f"Wrote {blueprint} and {test}. What to do next:")
    print(f"  planwerk check {blueprint}")
    print(f"  planwerk serve {blueprint}")
    print(f"  pytest {test}")
