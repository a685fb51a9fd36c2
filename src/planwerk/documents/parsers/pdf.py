"""PDF: the text of each page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from planwerk.documents.errors import BrokenDocument, EncryptedDocument
from planwerk.documents.parsed import ParsedDocument, PlaceKind, joined

_HYPHENATED: Final = re.compile(r"(?<=\w)(?:[\x02\ufffe\u00ad]\n?|-\n)(?=[a-zà-öø-ÿ])")
"""A word that a line break parts; PDFium marks a hyphen that it takes to be soft as U+0002 or U+FFFE."""
_SOFT: Final = re.compile("[\x02\ufffe]")


def parse(path: Path) -> ParsedDocument:
    """The pages in order; raises `EncryptedDocument` and `BrokenDocument`."""
    import pypdfium2 as pdfium  # pyright: ignore[reportMissingTypeStubs] - it has none

    try:
        document = pdfium.PdfDocument(path)
    except pdfium.PdfiumError as error:
        if "password" in str(error).lower() or "security" in str(error).lower():
            raise EncryptedDocument("The PDF is protected by a password.") from error
        raise BrokenDocument("The PDF is damaged: its pages cannot be found.") from error
    with document:
        title = str(document.get_metadata_dict().get("Title", "")).strip()
        return joined("pdf", _pages(document), title)


def _pages(document: Any) -> Iterator[tuple[str, PlaceKind, int, str]]:
    from pypdfium2 import PdfiumError  # pyright: ignore[reportMissingTypeStubs] - it has none

    for number in range(len(document)):
        try:
            page = document[number]
            text = page.get_textpage()
            words = text.get_text_bounded()
            text.close()
            page.close()
        except PdfiumError as error:
            raise BrokenDocument(f"Page {number + 1} of the PDF is damaged.") from error
        yield _clean(words), "page", number + 1, ""


def _clean(text: str) -> str:
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return _SOFT.sub("-", _HYPHENATED.sub("", lines))
