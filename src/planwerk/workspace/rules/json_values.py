"""JSON values as the rules see them, and what it means that two of them are equal (ART-01)."""

from __future__ import annotations

import math
from typing import Any, TypeAlias, cast

JSON: TypeAlias = Any
"""A JSON value: None, bool, int, float, str, list or dict with string keys. `Any` because it is the edge."""

JSONObject: TypeAlias = dict[str, Any]


def same_json(a: JSON, b: JSON) -> bool:
    """Whether two values are equal in JSON: `true` is not 1, but 1 is 1.0 (RFC 6902, §4.6)."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        left, right = cast("JSONObject", a), cast("JSONObject", b)
        return left.keys() == right.keys() and all(same_json(left[key], right[key]) for key in left)
    if isinstance(a, list) and isinstance(b, list):
        first, second = cast("list[Any]", a), cast("list[Any]", b)
        return len(first) == len(second) and all(map(same_json, first, second))
    if isinstance(a, int | float) and isinstance(b, int | float):
        return a == b
    return _same_class(cast("object", a), cast("object", b)) and a == b


def identical_json(a: JSON, b: JSON) -> bool:
    """Whether two values would be written alike: as `same_json`, but 1 is not 1.0 and 0.0 is not -0.0."""
    if isinstance(a, dict) and isinstance(b, dict):
        left, right = cast("JSONObject", a), cast("JSONObject", b)
        return left.keys() == right.keys() and all(identical_json(left[key], right[key]) for key in left)
    if isinstance(a, list) and isinstance(b, list):
        first, second = cast("list[Any]", a), cast("list[Any]", b)
        return len(first) == len(second) and all(map(identical_json, first, second))
    if isinstance(a, float) and isinstance(b, float):
        return repr(a) == repr(b)
    return _same_class(cast("object", a), cast("object", b)) and a == b


def _same_class(a: object, b: object) -> bool:
    return type(a) is type(b)


def copied(value: JSON) -> JSON:
    """A copy that shares nothing with the original, nor one of its parts with another (as `deepcopy` would)."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in cast("JSONObject", value).items()}
    if isinstance(value, list):
        return [copied(item) for item in cast("list[Any]", value)]
    return value


def impossible_number(value: JSON) -> str | None:
    """The JSON pointer of the first number that JSON cannot write (NaN, infinity), or None."""
    if isinstance(value, float):
        return None if math.isfinite(value) else ""
    items: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        items = [(escape(key), item) for key, item in cast("JSONObject", value).items()]
    elif isinstance(value, list):
        items = [(str(index), item) for index, item in enumerate(cast("list[Any]", value))]
    for token, item in items:
        below = impossible_number(item)
        if below is not None:
            return f"/{token}{below}"
    return None


def escape(token: str) -> str:
    """A reference token of a JSON pointer (RFC 6901, §3)."""
    return token.replace("~", "~0").replace("/", "~1")
