"""A valid instance of any JSON schema, always the same one for the same schema and question.

What a property is called says more than its type: a title gets a title, a query gets the question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import ceil, inf
from typing import Any, Final, TypeAlias, cast

Schema: TypeAlias = Mapping[str, Any]

DEEPEST: Final = 5
_FORMATS: Final = {
    "date": "2026-01-15",
    "date-time": "2026-01-15T09:30:00Z",
    "time": "09:30:00Z",
    "duration": "PT1H",
    "email": "demo@example.org",
    "idn-email": "demo@example.org",
    "hostname": "example.org",
    "uri": "https://example.org/",
    "url": "https://example.org/",
    "uuid": "01890a5d-ac96-774b-bcce-b302099a8057",
    "ipv4": "127.0.0.1",
    "ipv6": "::1",
    "byte": "ZGVtbw==",
    "binary": "demo",
    "json-string": "{}",
}
_PATTERN_TRIES: Final = (
    "demo",
    "Demo",
    "a",
    "A",
    "1",
    "demo-1",
    "demo_1",
    "01",
    "2026-01-15",
    "#1",
    "1.0.0",
    "DE",
    "en",
)


_PROSE: Final = ("text", "content", "body", "markdown", "answer", "reason", "summary", "description", "explanation")


class Texts:
    """What strings are filled with, by the name of their property."""

    def __init__(self, question: str, title: str, prose: str) -> None:
        self.question, self.title, self.prose = question, title, prose

    def named(self, name: str) -> str:
        name = name.lower()
        if any(word in name for word in ("query", "question", "search", "prompt", "message", "keyword")):
            return self.question or self.title
        return self.prose if any(word in name for word in _PROSE) else self.title


def instance(schema: Schema, texts: Texts) -> Any:
    """An instance of the schema."""
    return _Filler(schema, texts).fill(schema, "", 0)


class _Filler:
    def __init__(self, root: Schema, texts: Texts) -> None:
        self._root, self._texts = root, texts

    def fill(self, schema: Any, name: str, depth: int) -> Any:
        schema = self._plain(schema)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._choose(cast("list[Any]", schema["enum"]))
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return self.fill(self._variant(cast("list[Any]", schema[key]), depth), name, depth + 1)
        match _kind(schema):
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, name, depth)
            case "string":
                return self._string(schema, name)
            case "integer":
                return int(_number(schema, whole=True))
            case "number":
                return _number(schema, whole=False)
            case "boolean":
                return True
            case _:
                return None

    def _plain(self, schema: Any) -> dict[str, Any]:
        """The schema with its reference followed and its `allOf` merged."""
        if not isinstance(schema, Mapping):
            return {}
        plain = dict(cast("Schema", schema))
        if reference := plain.pop("$ref", None):
            plain = {**self._plain(self._follow(reference)), **plain}
        for part in cast("list[Any]", plain.pop("allOf", [])):
            plain = _merged(plain, self._plain(part))
        return plain

    def _follow(self, reference: str) -> Any:
        found: Any = self._root
        for step in reference.removeprefix("#").strip("/").split("/"):
            found = found.get(step.replace("~1", "/").replace("~0", "~"), {}) if step else found
        return found

    def _variant(self, variants: Sequence[Any], depth: int) -> Any:
        """The first that is more than nothing; in the depth, the one that ends soonest."""
        if depth >= DEEPEST:
            return min(variants, key=lambda variant: self._least_depth(variant, ()))
        return next((variant for variant in variants if _kind(self._plain(variant)) != "null"), {"type": "null"})

    def _least_depth(self, schema: Any, within: tuple[str, ...]) -> float:
        """How deep an instance must be; endless where a schema must contain itself."""
        reference = cast("Schema", schema).get("$ref") if isinstance(schema, Mapping) else None
        if reference in within:
            return inf
        within = (*within, reference) if reference else within
        plain = self._plain(schema)
        if "const" in plain or "enum" in plain:
            return 0
        for key in ("anyOf", "oneOf"):
            if key in plain:
                return min(self._least_depth(variant, within) for variant in plain[key])
        match _kind(plain):
            case "object":
                properties = plain.get("properties", {})
                inner = [properties[name] for name in plain.get("required", []) if name in properties]
            case "array":
                inner = [plain.get("items", {})] if plain.get("minItems", 0) else []
            case _:
                return 0
        return 1 + max((self._least_depth(one, within) for one in inner), default=0)

    def _choose(self, values: Sequence[Any]) -> Any:
        """The value that the question names, else a neutral one, else the first."""
        words = set(re.findall(r"\w+", self._texts.question.lower()))
        asked = next((value for value in values if isinstance(value, str) and value.lower() in words), None)
        neutral = next((value for value in values if value in {"normal", "neutral", "none", "other"}), None)
        return asked if asked is not None else neutral if neutral is not None else values[0]

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        properties = cast("dict[str, Any]", schema.get("properties", {}))
        required = set(cast("list[str]", schema.get("required", [])))
        filled = {
            key: self.fill(inner, key, depth + 1)
            for key, inner in properties.items()
            if key in required or (depth < 2 and not _has_default(inner))
        }
        for missing in required - filled.keys():
            filled[missing] = self.fill(schema.get("additionalProperties", {}), missing, depth + 1)
        while len(filled) < schema.get("minProperties", 0):
            key = f"key_{len(filled) + 1}"
            filled[key] = self.fill(schema.get("additionalProperties", {}), key, depth + 1)
        return filled

    def _array(self, schema: dict[str, Any], name: str, depth: int) -> list[Any]:
        prefix = [self.fill(inner, name, depth + 1) for inner in cast("list[Any]", schema.get("prefixItems", []))]
        usual = 0 if prefix or depth >= DEEPEST else 2 if depth < 2 else 1
        length = max(schema.get("minItems", 0), min(usual, schema.get("maxItems", usual)), len(prefix))
        items = schema.get("items", {})
        filled = list(prefix)
        while len(filled) < length:
            filled.append(self._item(items, name, depth, len(filled)))
        return _distinct(filled) if schema.get("uniqueItems") and schema.get("minItems", 0) <= 1 else filled

    def _item(self, items: Any, name: str, depth: int, place: int) -> Any:
        item = self.fill(items, name, depth + 1)
        plain = self._plain(items)
        if place and "enum" in plain:
            values = cast("list[Any]", plain["enum"])
            return values[(values.index(item) + place) % len(values)]
        if place and isinstance(item, str) and not plain.keys() & {"format", "pattern", "const"}:
            return _sized(f"{item} {place + 1}", plain, keep_end=True)
        if place and isinstance(item, int) and not isinstance(item, bool) and not plain.keys() & {"maximum", "const"}:
            return item + place * int(plain.get("multipleOf", 1))
        return item

    def _string(self, schema: dict[str, Any], name: str) -> str:
        if (known := _FORMATS.get(schema.get("format", ""))) is not None:
            return known
        if pattern := schema.get("pattern"):
            return _matching(pattern, [self._texts.named(name), *_PATTERN_TRIES], schema)
        return _sized(self._texts.named(name), schema)


def _kind(schema: Schema) -> str:
    kind: Any = schema.get("type")
    if isinstance(kind, list):
        kinds = cast("list[str]", kind)
        return next((one for one in kinds if one != "null"), "null")
    if isinstance(kind, str):
        return kind
    for key, implied in (("properties", "object"), ("items", "array"), ("prefixItems", "array"), ("pattern", "string")):
        if key in schema:
            return implied
    return "string" if not schema or set(schema) <= {"title", "description", "default"} else "null"


def _has_default(schema: Any) -> bool:
    return isinstance(schema, Mapping) and "default" in schema


def _merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    merged = {**one, **other}
    for key in ("properties",):
        if key in one and key in other:
            merged[key] = {**one[key], **other[key]}
    if "required" in one and "required" in other:
        merged["required"] = [*one["required"], *other["required"]]
    return merged


def _sized(text: str, schema: Schema, *, keep_end: bool = False) -> str:
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength")
    while len(text) < shortest:
        text = f"{text} {text or 'demo'}"
    if longest is not None and len(text) > longest:
        text = text[-longest:] if keep_end and longest else text[:longest]
    return text


def _matching(pattern: str, tries: Sequence[str], schema: Schema) -> str:
    fitting = (text for text in tries if re.search(pattern, text) and text == _sized(text, schema))
    return next(fitting, "") or _from_pattern(pattern)


def _from_pattern(pattern: str) -> str:
    """A text for the simple patterns schemas use: literals, classes and counts in a row."""
    text = ""
    for atom, count in re.findall(
        r"(\\.|\[[^\]]*\]|[^\\\[\](){}^$*+?|.])(\{\d+(?:,\d*)?\}|[*+?])?", pattern.strip("^$")
    ):
        times = int(re.findall(r"\d+", count)[0]) if count.startswith("{") else 1
        text += _one_of(atom) * max(times, 1)
    return text


def _one_of(atom: str) -> str:
    if atom.startswith("\\"):
        return {"d": "1", "w": "a", "s": " "}.get(atom[1], atom[1])
    if atom.startswith("[") and not atom.startswith("[^"):
        return _one_of(atom[1:3]) if atom[1] == "\\" else atom[1]
    return "-" if atom.startswith("[") else atom


def _number(schema: Schema, *, whole: bool) -> float:
    step = schema.get("multipleOf", 1 if whole else None)
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    value: float = 1 if low is None else low
    if low is not None and schema.get("exclusiveMinimum") == low:
        value = low + (step or (((high - low) / 2) if high is not None else 1))
    if high is not None and value > high:
        value = high
    if high is not None and value == schema.get("exclusiveMaximum"):
        value = high - (step or (((high - low) / 2) if low is not None else 1))
    if step:
        value = ceil(value / step) * step
    return value


def _distinct(items: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if item not in found:
            found.append(item)
    return found
