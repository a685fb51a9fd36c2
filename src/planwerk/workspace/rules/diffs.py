"""The patch between two documents (A3.1, A3.2): applied to the old one it always gives exactly the new one.

Objects are compared member by member. Lists are aligned: by `id` where every item of both is an object with an id of
its own, by equality otherwise. Long texts are compared inside, first by lines, then by words.
"""

from __future__ import annotations

import json
import re
from difflib import SequenceMatcher
from typing import Any, Final, cast

from planwerk.workspace.rules.json_values import JSON, JSONObject, escape, identical_json

LONG_TEXT: Final = 200
"""Texts longer than this, in code points, are compared inside."""

MOST_COMPARISONS: Final = 1_000_000
"""Of pieces with pieces; beyond, a change is stored as a whole, so that no edit can keep the server busy."""

WORDS: Final = re.compile(r"\w+|\s+|[^\w\s]")


def diff(old: JSON, new: JSON, path: str = "") -> list[JSONObject]:
    """The operations that lead from `old` to `new`; none if they would be written alike."""
    if identical_json(old, new):
        return []
    if isinstance(old, dict) and isinstance(new, dict):
        return _diff_objects(cast("JSONObject", old), cast("JSONObject", new), path)
    if isinstance(old, list) and isinstance(new, list):
        return _diff_lists(cast("list[Any]", old), cast("list[Any]", new), path)
    if isinstance(old, str) and isinstance(new, str) and max(len(old), len(new)) > LONG_TEXT:
        return [{"op": "text", "path": path, "edits": text_edits_between(old, new)}]
    return [{"op": "replace", "path": path, "value": new}]


def _diff_objects(old: JSONObject, new: JSONObject, path: str) -> list[JSONObject]:
    operations: list[JSONObject] = []
    for key in old:
        place = f"{path}/{escape(key)}"
        if key not in new:
            operations.append({"op": "remove", "path": place})
        else:
            operations += diff(old[key], new[key], place)
    operations += [
        {"op": "add", "path": f"{path}/{escape(key)}", "value": value} for key, value in new.items() if key not in old
    ]
    return operations


def _diff_lists(old: list[Any], new: list[Any], path: str) -> list[JSONObject]:
    """Operations in growing order of place; `place` counts in the list as the operations before have left it."""
    ids = _ids(old), _ids(new)
    by_id = ids[0] is not None and ids[1] is not None
    before, after = (ids[0] or [], ids[1] or []) if by_id else ([*map(_written, old)], [*map(_written, new)])
    operations: list[JSONObject] = []
    place = 0
    for same, i1, i2, j1, j2 in _aligned(before, after):
        # Items of another id are other items; without ids, what stands in one place is taken for the same item.
        common = 0 if by_id and not same else min(i2 - i1, j2 - j1)
        for offset in range(common):
            operations += diff(old[i1 + offset], new[j1 + offset], f"{path}/{place + offset}")
        place += common
        operations += [{"op": "remove", "path": f"{path}/{place}"} for _ in range(i2 - i1 - common)]
        for value in new[j1 + common : j2]:
            operations.append({"op": "add", "path": f"{path}/{place}", "value": value})
            place += 1
    return operations


def _ids(items: list[Any]) -> list[str] | None:
    """The ids of a list of objects that each have one of their own, as JSON; None for any other list."""
    found: list[str] = []
    for item in items:
        identity = cast("JSONObject", item).get("id") if isinstance(item, dict) else None
        if not isinstance(identity, str | int) or isinstance(identity, bool):
            return None
        found.append(json.dumps(identity))
    return found if len(set(found)) == len(found) else None


def _written(value: JSON) -> str:
    return json.dumps(value, sort_keys=True)


def text_edits_between(old: str, new: str) -> list[JSONObject]:
    """Edits by position that lead from one text to the other: by lines, and inside changed lines by words."""
    edits: list[JSONObject] = []
    for at, before, after in _changed(old.splitlines(keepends=True), new.splitlines(keepends=True), 0):
        if before and after:
            words = _changed(WORDS.findall(before), WORDS.findall(after), at)
            edits += [{"at": place, "old": gone, "new": come} for place, gone, come in words]
        else:
            edits.append({"at": at, "old": before, "new": after})
    return edits


def _changed(old: list[str], new: list[str], start: int) -> list[tuple[int, str, str]]:
    """Position, old and new text of each stretch that differs."""
    starts = [start]
    for piece in old:
        starts.append(starts[-1] + len(piece))
    return [
        (starts[i1], "".join(old[i1:i2]), "".join(new[j1:j2]))
        for same, i1, i2, j1, j2 in _aligned(old, new)
        if not same
    ]


def _aligned(old: list[str], new: list[str]) -> list[tuple[bool, int, int, int, int]]:
    """Stretches of both sequences in order: whether they are the same, and where they are in each.

    What begins and ends alike is set aside first. Aligning the rest costs up to the product of both lengths, so what is
    too long counts as one stretch that differs.
    """
    shorter = min(len(old), len(new))
    head = next((index for index in range(shorter) if old[index] != new[index]), shorter)
    tail = next((index for index in range(shorter - head) if old[-1 - index] != new[-1 - index]), shorter - head)
    a, b = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(a) * len(b) > MOST_COMPARISONS:
        inner = [("replace", 0, len(a), 0, len(b))]
    else:
        inner = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    middle = [(tag == "equal", i1 + head, i2 + head, j1 + head, j2 + head) for tag, i1, i2, j1, j2 in inner]
    ends = [(True, 0, head, 0, head), (True, len(old) - tail, len(old), len(new) - tail, len(new))]
    return [ends[0], *middle, ends[1]]
