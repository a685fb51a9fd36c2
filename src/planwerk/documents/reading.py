"""One file to text, in this process: what the bounded process does, and nothing else should (see `parsing`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from planwerk.documents.detecting import detect
from planwerk.documents.errors import BrokenDocument, DocumentError, DocumentTooHard, DocumentTooLarge, EmptyDocument
from planwerk.documents.limits import ParseLimits
from planwerk.documents.parsed import DocumentKind, ParsedDocument
from planwerk.documents.parsers import email, html, office, pdf, plain
from planwerk.documents.parsers.decoding import HALF, clean

PARSERS: Final[Mapping[DocumentKind, Callable[[Path], ParsedDocument]]] = {
    "pdf": pdf.parse,
    "docx": office.parse_docx,
    "pptx": office.parse_pptx,
    "xlsx": office.parse_xlsx,
    "html": html.parse,
    "markdown": plain.parse_markdown,
    "text": plain.parse_text,
    "email": email.parse,
}
WORDS: Final[Mapping[DocumentKind, str]] = {
    "pdf": "PDF",
    "docx": "Word document",
    "pptx": "presentation",
    "xlsx": "workbook",
    "html": "page",
    "markdown": "Markdown file",
    "text": "text file",
    "email": "e-mail",
}


def read_document(path: Path, name: str, limits: ParseLimits) -> ParsedDocument:
    """Detect the kind, and parse.

    Raises:
        DocumentError: There is no text to be had; every failure of a parser becomes one.
    """
    kind = detect(path, name, limits)
    try:
        parsed = PARSERS[kind](path)
    except DocumentError:
        raise
    except (MemoryError, RecursionError) as error:
        raise DocumentTooHard(f"Reading the {WORDS[kind]} takes more memory than is allowed.") from error
    except Exception as error:
        raise BrokenDocument(f"The {WORDS[kind]} is damaged: {_reason(error)}.") from error
    if len(parsed.text) > limits.characters:
        raise DocumentTooLarge(
            f"The {WORDS[kind]} has {len(parsed.text):,} characters of text, and {limits.characters:,} is the limit."
        )
    if not any(letter.isalnum() for letter in parsed.text):
        raise EmptyDocument(f"There is no text in the {WORDS[kind]}.")
    return _cleaned(parsed)


def _cleaned(parsed: ParsedDocument) -> ParsedDocument:
    """Without half characters, one for one, so that every place stays where it is (SRV-25)."""
    text = HALF.sub("\ufffd", parsed.text).replace("\x00", " ")
    return ParsedDocument(parsed.kind, text, clean(parsed.title)[:300], parsed.places)


def _reason(error: Exception) -> str:
    said = " ".join(str(error).split()) or type(error).__name__
    return said[:200].rstrip(".")
