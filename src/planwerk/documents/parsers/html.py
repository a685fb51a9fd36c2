"""HTML: what is read on a page, as Markdown; scripts, styles and navigation are left out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from planwerk.documents.parsed import ParsedDocument
from planwerk.documents.parsers.decoding import decode

LEFT_OUT: Final = (
    "script", "style", "noscript", "template", "svg", "canvas", "iframe", "object", "embed", "head", "nav", "form",
    "button", "img", "[hidden]", '[aria-hidden="true"]',
)  # fmt: skip
_BLANK_LINES: Final = re.compile(r"\n\s*\n\s*\n+")
_TRAILING: Final = re.compile(r"[ \t]+\n")


def parse(path: Path) -> ParsedDocument:
    """The body of the page."""
    return of_text(decode(path.read_bytes(), declared_in_html=True))


def of_text(html: str) -> ParsedDocument:
    """A page that is already text."""
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(html)
    node = tree.css_first("title")
    title = " ".join(node.text().split()) if node is not None else ""
    return ParsedDocument("html", to_markdown(html), title)


def to_markdown(html: str) -> str:
    """HTML as Markdown, without what nobody reads."""
    from markdownify import markdownify
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(html)
    for selector in LEFT_OUT:
        for node in tree.css(selector):
            node.decompose()
    body = tree.body
    markdown = markdownify(body.html or "" if body is not None else "", heading_style="ATX", bullets="-", wrap=False)
    return _BLANK_LINES.sub("\n\n", _TRAILING.sub("\n", markdown)).strip()
