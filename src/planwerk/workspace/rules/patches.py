"""Applies patches (A3.1): JSON Patch (RFC 6902), and edits inside a text by position. All of a patch, or none of it.

Beside the six operations of the RFC there is one of ours, in which stored patches say what changed inside a long text:

    {"op": "text", "path": "/text", "edits": [{"at": 12, "old": "three", "new": "four"}]}

Positions count Unicode code points of the text before the operation, in growing order and without overlap; `old` must
be what stands there. A patch never changes the document it is given: what is written to is copied first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from planwerk.workspace.rules.errors import PatchFailed
from planwerk.workspace.rules.json_values import JSON, JSONObject, copied, impossible_number, same_json
from planwerk.workspace.rules.pointers import NoSuchPlace, Path, child, item_index, parse_pointer, resolve

MEMBERS: Final[Mapping[str, frozenset[str]]] = {
    "add": frozenset({"path", "value"}),
    "remove": frozenset({"path"}),
    "replace": frozenset({"path", "value"}),
    "move": frozenset({"path", "from"}),
    "copy": frozenset({"path", "from"}),
    "test": frozenset({"path", "value"}),
    "text": frozenset({"path", "edits"}),
}


def apply_patch(document: JSON, patch: Sequence[JSONObject]) -> JSON:
    """The document after all operations, in order; `document` itself is not touched.

    Raises:
        PatchFailed: An operation is malformed or does not fit; names it by its index.
    """
    result = copied(document)
    for index, operation in enumerate(patch):
        try:
            result = _apply(result, operation)
        except NoSuchPlace as error:
            raise PatchFailed(str(error), operation=index) from None
    return result


def _apply(document: JSON, operation: JSONObject) -> JSON:
    name = operation.get("op")
    if not isinstance(name, str) or name not in MEMBERS:
        raise NoSuchPlace(f"{name!r} is not an operation; those are {', '.join(MEMBERS)}")
    lacking = sorted(MEMBERS[name] - operation.keys())
    unknown = sorted(operation.keys() - MEMBERS[name] - {"op"})
    if lacking or unknown:
        said = [f"lacks {', '.join(lacking)}"] if lacking else []
        raise NoSuchPlace(f"{name} {' and '.join([*said, *([f'has {unknown[0]!r} beside it'] if unknown else [])])}")
    if impossible_number(operation.get("value")) is not None:
        raise NoSuchPlace("its value holds a number that JSON cannot write")
    return OPERATIONS[name](document, operation, parse_pointer(operation["path"]))


def _add(document: JSON, operation: JSONObject, path: Path) -> JSON:
    return _put(document, path, copied(operation["value"]))


def _put(document: JSON, path: Path, value: JSON) -> JSON:
    if not path:
        return value
    parent = resolve(document, path[:-1])
    if isinstance(parent, list):
        items = cast("list[Any]", parent)
        items.insert(item_index(items, path[-1], inserting=True), value)
    elif isinstance(parent, dict):
        cast("JSONObject", parent)[path[-1]] = value
    else:
        raise NoSuchPlace(f"{path[-1]!r} is below a value that has no members")
    return document


def _remove(document: JSON, operation: JSONObject, path: Path) -> JSON:
    if not path:
        raise NoSuchPlace("the whole document cannot be removed")
    parent = resolve(document, path[:-1])
    child(parent, path[-1])  # says why, where there is nothing to remove
    if isinstance(parent, list):
        del cast("list[Any]", parent)[int(path[-1])]
    else:
        del cast("JSONObject", parent)[path[-1]]
    return document


def _replace(document: JSON, operation: JSONObject, path: Path) -> JSON:
    return _set(document, path, copied(operation["value"]))


def _set(document: JSON, path: Path, value: JSON) -> JSON:
    """Put a value where one is."""
    resolve(document, path)
    if not path:
        return value
    parent = resolve(document, path[:-1])
    if isinstance(parent, list):
        cast("list[Any]", parent)[int(path[-1])] = value
    else:
        cast("JSONObject", parent)[path[-1]] = value
    return document


def _move(document: JSON, operation: JSONObject, path: Path) -> JSON:
    source = parse_pointer(operation["from"])
    value = resolve(document, source)
    if path == source:
        return document
    if path[: len(source)] == source:
        raise NoSuchPlace("a value cannot be moved into itself")
    return _put(_remove(document, operation, source), path, value)


def _copy(document: JSON, operation: JSONObject, path: Path) -> JSON:
    return _put(document, path, copied(resolve(document, parse_pointer(operation["from"]))))


def _test(document: JSON, operation: JSONObject, path: Path) -> JSON:
    found = resolve(document, path)
    if not same_json(found, operation["value"]):
        raise NoSuchPlace(f"a test expects {_shown(operation['value'])}, but there is {_shown(found)}")
    return document


def _text(document: JSON, operation: JSONObject, path: Path) -> JSON:
    text = resolve(document, path)
    if not isinstance(text, str):
        raise NoSuchPlace("a text operation needs a text")
    return _set(document, path, edited(text, operation["edits"]))


def edited(text: str, edits: JSON) -> str:
    """The text after edits by position.

    Raises:
        NoSuchPlace: An edit is malformed, out of order, or its `old` is not what stands there.
    """
    if not isinstance(edits, list):
        raise NoSuchPlace("edits are a list")
    pieces: list[str] = []
    done = 0
    for number, edit in enumerate(cast("list[Any]", edits)):
        at, old, new = _edit_members(edit, number)
        if at < done:
            raise NoSuchPlace(f"text edit {number} begins at {at}, before the end of the one before it")
        if text[at : at + len(old)] != old or at > len(text):
            raise NoSuchPlace(f"text edit {number} expects {_shown(old)} at {at}")
        pieces += (text[done:at], new)
        done = at + len(old)
    return "".join((*pieces, text[done:]))


def _edit_members(edit: JSON, number: int) -> tuple[int, str, str]:
    if isinstance(edit, dict):
        match cast("JSONObject", edit):
            case {"at": int(at), "old": str(old), "new": str(new), **rest} if not rest and type(at) is int and at >= 0:
                return at, old, new
            case _:
                pass
    raise NoSuchPlace(f"text edit {number} is not {{at, old, new}}")


def _shown(value: JSON) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


OPERATIONS: Final[Mapping[str, Callable[[JSON, JSONObject, Path], JSON]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
    "text": _text,
}
