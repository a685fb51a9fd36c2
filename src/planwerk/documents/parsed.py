"""A document as text: Markdown, and where each stretch of it stands in the original."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

DocumentKind: TypeAlias = Literal["pdf", "docx", "pptx", "xlsx", "html", "markdown", "text", "email"]
PlaceKind: TypeAlias = Literal["page", "slide", "sheet"]
PLACE_KINDS: frozenset[str] = frozenset(get_args(PlaceKind))


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of the text and the page, slide or sheet that it stands on.

    Attributes:
        start: Where it begins in the text, in characters.
        end: Where it ends; what follows is not part of it.
        number: Counted from 1.
        name: Of a sheet its name, else empty.
    """

    start: int
    end: int
    kind: PlaceKind
    number: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """What a file says.

    Attributes:
        title: What it calls itself; empty where it does not.
        places: In order of the text, apart from each other; empty for kinds without pages.
    """

    kind: DocumentKind
    text: str
    title: str = ""
    places: tuple[Place, ...] = ()

    def places_of(self, start: int, end: int) -> tuple[Place, ...]:
        """The places that a stretch of the text touches."""
        return tuple(place for place in self.places if place.start < end and start < place.end)

    def to_json(self) -> dict[str, Any]:
        """As data that JSON can carry."""
        places = [[place.start, place.end, place.kind, place.number, place.name] for place in self.places]
        return {"kind": self.kind, "text": self.text, "title": self.title, "places": places}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ParsedDocument:
        """Read what `to_json` wrote."""
        return cls(data["kind"], data["text"], data["title"], tuple(Place(*place) for place in data["places"]))


def joined(kind: DocumentKind, parts: Iterable[tuple[str, PlaceKind, int, str]], title: str = "") -> ParsedDocument:
    """A document of parts, each with its place; blank parts are left out, a blank line parts the others."""
    texts: list[str] = []
    places: list[Place] = []
    length = 0
    for text, place, number, name in parts:
        bare = text.strip("\n ")
        if not bare.strip():
            continue
        start = length + (2 if texts else 0)
        texts.append(bare)
        length = start + len(bare)
        places.append(Place(start, length, place, number, name))
    return ParsedDocument(kind, "\n\n".join(texts), title, tuple(places))


def place_label(places: Sequence[Place]) -> tuple[PlaceKind, int, int, str] | None:
    """From which page, slide or sheet to which, and the name of the first; None where there is none."""
    if not places:
        return None
    return places[0].kind, places[0].number, places[-1].number, places[0].name
