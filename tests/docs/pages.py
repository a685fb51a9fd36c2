"""The pages people read, and what is fenced, linked and named in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
TOP: Final = frozenset(("bench", "changelog.d", "docs", "examples", "requirements", "src", "tests", "tools", "ui"))

_FENCE: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE: Final = re.compile(r"`([^`\n]+)`")
_LINK: Final = re.compile(r"\]\(([^)#\s]+)[^)]*\)")


@dataclass(frozen=True, slots=True)
class Snippet:
    """A fenced block; `line` is where its first line stands in the page."""

    page: Path
    line: int
    language: str
    text: str

    @property
    def compiled_in_place(self) -> str:
        """Padded so that a traceback names the line of the page."""
        return "\n" * (self.line - 1) + self.text


def pages(root: Path = ROOT) -> list[Path]:
    found = [root / "README.md", *sorted((root / "docs").rglob("*.md")), *sorted(root.glob("*.d/README.md"))]
    return [page for page in found if page.exists()]


def snippets(page: Path, language: str) -> list[Snippet]:
    text = page.read_text("utf-8")
    return [
        Snippet(page, text.count("\n", 0, fence.start(2)) + 1, fence[1], fence[2])
        for fence in _FENCE.finditer(text)
        if fence[1] == language
    ]


def paths_named_in(page: Path, root: Path = ROOT) -> list[str]:
    """Paths of this project in inline code, and targets of links, as they are written."""
    prose = _FENCE.sub("", page.read_text("utf-8"))
    named = [code for code in _CODE.findall(prose) if _is_path(code)]
    linked = [target for target in _LINK.findall(prose) if "://" not in target and not target.startswith("mailto:")]
    return named + [str((page.parent / target).resolve().relative_to(root)) for target in linked]


def _is_path(code: str) -> bool:
    return re.fullmatch(r"[\w./-]+", code) is not None and code.partition("/")[0] in TOP and "/" in code


def missing_paths(page: Path, root: Path = ROOT) -> list[str]:
    return [path for path in paths_named_in(page, root) if not (root / path).exists()]
