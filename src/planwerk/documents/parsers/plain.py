"""Text and Markdown: as they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from planwerk.documents.parsed import ParsedDocument
from planwerk.documents.parsers.decoding import decode

_HEADING: Final = re.compile(r"^#\s+(\S.*?)\s*#*\s*$", re.M)
_FRONT_MATTER: Final = re.compile(r"\A---\n(.*?\n)---\n", re.S)
_TITLE: Final = re.compile(r"^title:\s*[\"']?(.+?)[\"']?\s*$", re.M)


def parse_text(path: Path) -> ParsedDocument:
    """A text file."""
    return ParsedDocument("text", decode(path.read_bytes()))


def parse_markdown(path: Path) -> ParsedDocument:
    """A Markdown file; its title is that of its front matter, else its first heading of level 1."""
    text = decode(path.read_bytes())
    front = _FRONT_MATTER.match(text)
    named = _TITLE.search(front[1]) if front else None
    heading = _HEADING.search(text)
    return ParsedDocument("markdown", text, named[1] if named else heading[1] if heading else "")
