"""Edits that quote what they replace (A3.1): `old` must occur exactly once, counted with overlaps.

Whoever quotes a document with CRLF line ends usually has plain line feeds in the quote. So where a quote does not occur
as it is, it is looked for with either line end, and what is written gets those of the passage it replaces, or where
that has none, of the document.
"""

from __future__ import annotations

from collections.abc import Sequence

from planwerk.workspace.rules.commands import TextEdit
from planwerk.workspace.rules.errors import PatchFailed
from planwerk.workspace.rules.json_values import JSONObject, escape
from planwerk.workspace.rules.patches import apply_patch
from planwerk.workspace.rules.pointers import NoSuchPlace, parse_pointer, resolve


def apply_text_edits(document: JSONObject, edits: Sequence[TextEdit]) -> JSONObject:
    """The document after all edits, in order: a later one may quote what an earlier one wrote.

    Raises:
        PatchFailed: A quote occurs not at all, or more than once; says which edit, how often, and where.
    """
    result = document
    for index, edit in enumerate(edits):
        pointer = edit.field if edit.field.startswith("/") else f"/{escape(edit.field)}"
        text = _text_at(result, pointer, index)
        written = _edited(text, edit, index)
        result = apply_patch(result, [{"op": "replace", "path": pointer, "value": written}])
    return result


def _text_at(document: JSONObject, pointer: str, index: int) -> str:
    try:
        text = resolve(document, parse_pointer(pointer))
    except NoSuchPlace as error:
        raise PatchFailed(f"there is no text at {pointer}: {error}", operation=index) from None
    if not isinstance(text, str):
        raise PatchFailed(f"what is at {pointer} is not a text", operation=index)
    return text


def _edited(text: str, edit: TextEdit, index: int) -> str:
    if not edit.old:
        if text:
            raise PatchFailed(
                "an empty quote writes into an empty field only, and this one has a text",
                operation=index,
                occurrences=0,
            )
        return edit.new
    quote = next((form for form in _forms(edit.old) if form in text), edit.old)
    places = occurrences(text, quote)
    if len(places) != 1:
        said = "does not occur" if not places else f"occurs {len(places)} times, at {', '.join(map(str, places[:10]))}"
        raise PatchFailed(f"the quoted text {said}", operation=index, occurrences=len(places), positions=places[:10])
    written = with_line_ends_of(quote if "\n" in quote else text, edit.new)
    return f"{text[: places[0]]}{written}{text[places[0] + len(quote) :]}"


def occurrences(text: str, quote: str) -> list[int]:
    """Where a quote occurs, in code points, with overlaps."""
    places: list[int] = []
    place = text.find(quote)
    while place >= 0:
        places.append(place)
        place = text.find(quote, place + 1)
    return places


def _forms(quote: str) -> tuple[str, str, str]:
    """The quote as it is, and with either line end."""
    plain = quote.replace("\r\n", "\n")
    return quote, plain, plain.replace("\n", "\r\n")


def with_line_ends_of(text: str, passage: str) -> str:
    """The passage with the line ends of the text: CRLF where most of its line ends are, else LF."""
    plain = passage.replace("\r\n", "\n")
    crlf = text.count("\r\n")
    return plain.replace("\n", "\r\n") if crlf * 2 > text.count("\n") else plain
