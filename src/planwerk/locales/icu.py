"""ICU messages, as far as our texts use them: arguments, plurals, choices and quoting.

    {name}                                            the value; numbers are grouped as the locale groups them
    {count, plural, =0 {none} one {# file} other {# files}}
    {kind, select, local {here} other {elsewhere}}
    '{'  ''                                           a brace and an apostrophe as they are

The web client reads the same files' form with a library; this reads ours without one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Value: TypeAlias = str | int | float
_ARGUMENT: Final = re.compile(r"\s*(\w+)\s*(?:,\s*(plural|select)\s*,)?\s*")
_CASE: Final = re.compile(r"\s*(=\d+|\w+)\s*\{")
_GROUPS: Final = {"en": ",", "de": ".", "fr": "\u202f", "it": "."}


class MalformedMessage(ValueError):
    """A text of a catalogue is no ICU message, or uses a form that is not supported here."""


@dataclass(frozen=True, slots=True)
class Argument:
    """A value to put in."""

    name: str


@dataclass(frozen=True, slots=True)
class Count:
    """`#`: the number of the plural around it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several messages, by a number or a word."""

    name: str
    kind: Literal["plural", "select"]
    cases: Mapping[str, Message]


Piece: TypeAlias = "str | Argument | Count | Choice"


@dataclass(frozen=True, slots=True)
class Message:
    """A text that was read once and is filled in often."""

    pieces: tuple[Piece, ...]

    @property
    def placeholders(self) -> frozenset[str]:
        """Names of the values it wants."""
        found: set[str] = set()
        for piece in self.pieces:
            match piece:
                case Argument(name):
                    found.add(name)
                case Choice(name, _, cases):
                    found.add(name)
                    found.update(*(case.placeholders for case in cases.values()))
                case _:
                    pass
        return frozenset(found)

    def format(self, locale: str, values: Mapping[str, Value], count: Value | None = None) -> str:
        """The text with these values in it.

        Raises:
            KeyError: A value is missing; the error names it.
        """
        return "".join(_text(piece, locale, values, count) for piece in self.pieces)


def read_message(text: str) -> Message:
    """Read a message.

    Raises:
        MalformedMessage: A brace is not closed, or a plural lacks its `other`.
    """
    message, end = _read(text, 0, in_plural=False, nested=False)
    if end != len(text):
        raise MalformedMessage(f"a brace closes at {end} that was never opened: {text!r}")
    return message


def _read(text: str, at: int, *, in_plural: bool, nested: bool) -> tuple[Message, int]:
    pieces: list[Piece] = []
    words: list[str] = []

    def flush() -> None:
        if words:
            pieces.append("".join(words))
            words.clear()

    while at < len(text):
        letter = text[at]
        if letter == "'":
            quoted, at = _quoted(text, at, in_plural=in_plural)
            words.append(quoted)
        elif letter == "{":
            flush()
            piece, at = _read_argument(text, at + 1)
            pieces.append(piece)
        elif letter == "}":
            break
        elif letter == "#" and in_plural:
            flush()
            pieces.append(Count())
            at += 1
        else:
            words.append(letter)
            at += 1
    else:
        if nested:
            raise MalformedMessage(f"a brace is not closed: {text!r}")
    flush()
    return Message(tuple(pieces)), at


def _quoted(text: str, at: int, *, in_plural: bool) -> tuple[str, int]:
    following = text[at + 1 : at + 2]
    if following == "'":
        return "'", at + 2
    if following and following in ("{}#" if in_plural else "{}"):
        end = text.find("'", at + 1)
        return (text[at + 1 :], len(text)) if end < 0 else (text[at + 1 : end], end + 1)
    return "'", at + 1


def _read_argument(text: str, at: int) -> tuple[Argument | Choice, int]:
    found = _ARGUMENT.match(text, at)
    if found is None:
        raise MalformedMessage(f"a name must follow the brace at {at}: {text!r}")
    name, kind, at = found.group(1), found.group(2), found.end()
    if kind is None:
        if text[at : at + 1] != "}":
            raise MalformedMessage(f"{{{name}}} is not closed, or its form is not supported: {text!r}")
        return Argument(name), at + 1
    cases: dict[str, Message] = {}
    while (case := _CASE.match(text, at)) is not None:
        cases[case.group(1)], at = _read(text, case.end(), in_plural=kind == "plural", nested=True)
        at += 1
    closing = re.compile(r"\s*\}").match(text, at)
    if closing is None or "other" not in cases:
        raise MalformedMessage(f"the {kind} of {name!r} needs a case `other` and a closing brace: {text!r}")
    return Choice(name, "plural" if kind == "plural" else "select", cases), closing.end()


def _text(piece: Piece, locale: str, values: Mapping[str, Value], count: Value | None) -> str:
    match piece:
        case str():
            return piece
        case Argument(name):
            return _shown(values[name], locale)
        case Count():
            return _shown(0 if count is None else count, locale)
        case Choice(name, "plural", cases):
            number = values[name]
            chosen = cases.get(f"={number}") or cases.get(plural_form(locale, number)) or cases["other"]
            return chosen.format(locale, values, number)
        case Choice(name, _, cases):
            return cases.get(str(values[name]), cases["other"]).format(locale, values, count)


def plural_form(locale: str, number: Value) -> str:
    """CLDR's plural category of a number in our languages: `one` or `other`."""
    if isinstance(number, str):
        return "other"
    singular = abs(number) < 2 if locale == "fr" else number == 1 and isinstance(number, int)
    return "one" if singular else "other"


def _shown(value: Value, locale: str) -> str:
    if isinstance(value, str):
        return value
    text = f"{value:,}" if isinstance(value, int) else f"{value:,.10g}"
    group = _GROUPS.get(locale, ",")
    decimal = "." if locale == "en" else ","
    return "".join({",": group, ".": decimal}.get(letter, letter) for letter in text)
