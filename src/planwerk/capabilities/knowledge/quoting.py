"""Passages as a model reads them: each in an element of its own, which no text in it can end or imitate (C3.6)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import Final

from planwerk.capabilities.knowledge.events import Location, RetrievedDocument
from planwerk.runtime.locale_handler import LocaleHandler

_ELEMENT: Final = re.compile(r"<(?=\s*/?\s*passage\b)", re.IGNORECASE)
_LIKE_AN_ID: Final = re.compile(r"\[(?=s[0-9a-f]{6,}\])|(?<=id=\")(?=s[0-9a-f]{6,}\")", re.IGNORECASE)
WORD_JOINER: Final = "\u2060"
"""Is not seen, and keeps what looks like a citation in a document from being one."""


def quoted(documents: Iterable[RetrievedDocument], locale: LocaleHandler) -> str:
    """The passages, the best first, with what each is cited by and where it stands."""
    return "\n\n".join(_passage(document, locale) for document in documents)


def _passage(document: RetrievedDocument, locale: LocaleHandler) -> str:
    about = {
        "id": document.id,
        "title": document.title,
        "place": place_text(document.location, locale) if document.location is not None else "",
        "section": " › ".join(document.headings),
    }
    attributes = " ".join(f'{name}="{_attribute(value)}"' for name, value in about.items() if value)
    return f"<passage {attributes}>\n{harmless(document.text)}\n</passage>"


def place_text(location: Location, locale: LocaleHandler) -> str:
    """`page 3`, `slides 2–4`, `sheet Prices`."""
    if location.kind == "sheet" and location.first == location.last and location.name:
        return locale.text("knowledge.places.named_sheet", name=location.name)
    numbers = str(location.first) if location.first == location.last else f"{location.first}–{location.last}"
    return locale.text(f"knowledge.places.{location.kind}", numbers=numbers)


def harmless(text: str) -> str:
    """The text without what would end the element, begin another one, or look like a citation."""
    return _LIKE_AN_ID.sub(lambda found: found[0] + WORD_JOINER, _ELEMENT.sub("&lt;", text))


def _attribute(value: str) -> str:
    return escape(" ".join(value.split()), quote=True)
