"""JSON pointers (RFC 6901), strictly: a place in a document, or a reason why there is none."""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias, cast

from planwerk.workspace.rules.json_values import JSON

Path: TypeAlias = tuple[str, ...]

INDEX: Final = re.compile(r"0|[1-9][0-9]*")
APPEND: Final = "-"


class NoSuchPlace(Exception):
    """The pointer does not lead to a place in this document; says why."""


def parse_pointer(pointer: object) -> Path:
    """The reference tokens of a pointer.

    Raises:
        NoSuchPlace: It is not a JSON pointer.
    """
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise NoSuchPlace(f"{pointer!r} is not a JSON pointer")
    if re.search(r"~(?![01])", pointer):
        raise NoSuchPlace(f"{pointer!r} has a ~ that is neither ~0 nor ~1")
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:])


def child(parent: JSON, token: str) -> JSON:
    """The member or item of this name.

    Raises:
        NoSuchPlace: There is none.
    """
    if isinstance(parent, dict):
        members = cast("dict[str, Any]", parent)
        if token not in members:
            raise NoSuchPlace(f"there is no member {token!r}")
        return members[token]
    if isinstance(parent, list):
        items = cast("list[Any]", parent)
        return items[item_index(items, token)]
    raise NoSuchPlace(f"{token!r} is below a value that has no members")


def item_index(items: list[Any], token: str, *, inserting: bool = False) -> int:
    """The index that a token names in a list; one past the end, or `-`, only where something is inserted.

    Raises:
        NoSuchPlace: It names none.
    """
    if inserting and token == APPEND:
        return len(items)
    if INDEX.fullmatch(token) is None:
        raise NoSuchPlace(f"{token!r} is not an index of a list")
    index = int(token)
    if index >= len(items) + inserting:
        raise NoSuchPlace(f"index {index} is outside a list of {len(items)}")
    return index


def resolve(document: JSON, path: Path) -> JSON:
    """The value at this place.

    Raises:
        NoSuchPlace: There is none.
    """
    value = document
    for token in path:
        value = child(value, token)
    return value
