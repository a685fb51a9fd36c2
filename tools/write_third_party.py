"""Write THIRD_PARTY.md: what Planwerk installs and what its web client bundles, under which licences.

Python packages come from requirements/core.txt and are installed beside us with their own licence texts. Scripts and
fonts come from ui/package-lock.json and are copied into our wheel, so their texts stand in the file.

    python tools/write_third_party.py            write the file
    python tools/write_third_party.py --check    fail if it is out of date or a licence is not allowed
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Final, cast

from packaging.requirements import Requirement

ROOT: Final = Path(__file__).resolve().parents[1]
LOCK: Final = ROOT / "requirements/core.txt"
UI: Final = ROOT / "ui"
TARGET: Final = ROOT / "THIRD_PARTY.md"

PERMISSIVE: Final = frozenset(
    ("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BlueOak-1.0.0", "CC0-1.0", "CNRI-Python", "ISC", "MIT")
) | {"MIT-CMU", "Zlib"}
ALLOWED: Final = PERMISSIVE | {
    "MIT-0",
    "MPL-2.0",  # asks only that changed files of the package stay open; we change none
    "OFL-1.1",  # fonts
    "PSF-2.0",
    "Python-2.0",
}

SPDX: Final = {
    "Apache Software License": "Apache-2.0",
    # pypdfium2: its own code under the first two; PDFium and what it builds in under BSD, MIT, zlib and the like, whose
    # texts come with the package.
    "BSD-3-Clause, Apache-2.0, dependency licenses": "BSD-3-Clause AND Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License": "ISC",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}

PLATFORMS: Final = (("linux", "Linux"), ("darwin", "Darwin"))
PYTHONS: Final = ("3.11", "3.12", "3.13")


@dataclass(frozen=True, slots=True)
class Package:
    """One package; `text` is its licence, kept for what we bundle."""

    name: str
    version: str
    licence: str
    text: str = ""


def is_allowed(licence: str) -> bool:
    """Whether an SPDX expression lets us ship the package; one with parentheses needs all its licences allowed."""
    if "(" in licence:
        return all(name in ALLOWED for name in re.findall(r"[\w.-]+", licence) if name not in {"AND", "OR"})
    return any(all(name.strip() in ALLOWED for name in way.split(" AND ")) for way in licence.split(" OR "))


def python_packages(lock: str) -> list[Package]:
    """The packages of a lock that are installed on a platform we support."""
    lines = (line.removesuffix("\\").strip() for line in lock.splitlines())
    needed = [Requirement(line) for line in lines if re.match(r"[a-z0-9]", line)]
    # A lock may name a package once per version of Python; here one is installed.
    return list(dict.fromkeys(_installed(one.name) for one in needed if _is_for_us(one)))


def _is_for_us(requirement: Requirement) -> bool:
    if requirement.marker is None:
        return True
    environments = (
        {"sys_platform": platform, "platform_system": system, "python_version": python, "python_full_version": python}
        for platform, system in PLATFORMS
        for python in PYTHONS
    )
    return any(requirement.marker.evaluate({**one, "implementation_name": "cpython"}) for one in environments)


def _installed(name: str) -> Package:
    about = metadata.metadata(name).json
    return Package(name, str(about["version"]), licence_of(about))


def licence_of(about: Mapping[str, str | list[str]]) -> str:
    """The SPDX expression of a distribution, read from what its metadata say in one of three places."""
    if expression := about.get("license_expression"):
        return str(expression)
    names = [line.rsplit(" :: ", 1)[-1] for line in about.get("classifier") or [] if line.startswith("License ::")]
    if names:
        return " OR ".join(sorted(SPDX.get(name, name) for name in names))
    first_line = str(about.get("license") or "unknown").strip().splitlines()[0].strip()
    return SPDX.get(first_line, first_line)


def bundled_packages(ui: Path) -> list[Package]:
    """The packages whose code or fonts Vite may put into the built client: no tools, no types."""
    lock = cast("dict[str, dict[str, dict[str, Any]]]", json.loads((ui / "package-lock.json").read_text("utf-8")))
    found = {
        (name, about["version"]): Package(name, about["version"], about["license"], _text_in(ui / path))
        for path, about in lock["packages"].items()
        if path and not about.get("dev")
        if not (name := path.rpartition("node_modules/")[2]).startswith("@types/") and name != "typescript"
    }
    return [found[key] for key in sorted(found)]


def _text_in(folder: Path) -> str:
    names = sorted(path for path in folder.iterdir() if re.match(r"(?i)licen[cs]e", path.name) and path.is_file())
    return "\n\n".join(_tidy(path.read_text("utf-8")) for path in names)


def _tidy(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def document(python: Iterable[Package], bundled: Iterable[Package]) -> str:
    """The whole file."""
    return "\n".join([*_lines(list(python), list(bundled)), ""])


def _lines(python: list[Package], bundled: list[Package]) -> Iterator[str]:
    yield "# Work of others"
    yield ""
    yield "Written by `make third-party` from the locks; `make test` fails when it is out of date."
    yield ""
    yield "## Python packages that are installed with Planwerk"
    yield ""
    yield from _table(python)
    yield ""
    yield "## Scripts and fonts in the web client"
    yield ""
    yield from _table(bundled)
    yield ""
    yield "## Licence texts of scripts and fonts"
    by_text: dict[str, list[str]] = {}
    for package in bundled:
        if package.text:
            by_text.setdefault(package.text, []).append(package.name)
    for text, names in by_text.items():
        yield ""
        yield f"### {', '.join(names)}"
        yield ""
        yield "```text"
        yield text
        yield "```"


def _table(packages: list[Package]) -> Iterator[str]:
    yield "| Package | Version | Licence |"
    yield "|---|---|---|"
    for package in packages:
        yield f"| {package.name} | {package.version} | {package.licence} |"


def main(arguments: list[str]) -> int:
    """Write or check the file; return the exit code."""
    python, bundled = python_packages(LOCK.read_text("utf-8")), bundled_packages(UI)
    refused = [package for package in [*python, *bundled] if not is_allowed(package.licence)]
    for package in refused:
        print(
            f"{package.name} {package.version} is under {package.licence!r}, which is not in the list of allowed "
            "licences. Take another package, or add the licence to tools/write_third_party.py with a reason.",
            file=sys.stderr,
        )
    if refused:
        return 1
    text = document(python, bundled)
    if "--check" not in arguments:
        TARGET.write_text(text, "utf-8")
    elif TARGET.read_text("utf-8") != text:
        print("THIRD_PARTY.md does not fit the locks: run `make third-party` and commit it.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
