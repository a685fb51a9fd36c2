"""Events to JSON and back, so that what a step receives has the types that were sent (E1.5)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError, from_json

from planwerk.workflow.events import Event, Family, UnknownEvent, event_class

REPLACEMENT: Final = "\ufffd"


def write_fields(event: Event, context: Mapping[str, Any] | None = None) -> str:
    """The event's fields as JSON text, without its type; one line.

    Args:
        context: Pydantic serialisation context; `contents` in it takes histories out of line (E7.7).
    """
    if isinstance(event, UnknownEvent):
        return json.dumps(event.fields, ensure_ascii=False, separators=(",", ":"))
    serializer = type(event).__pydantic_serializer__
    held = cast("dict[str, Any] | None", context)
    try:
        text = serializer.to_json(event, context=held).decode()
    except (PydanticSerializationError, UnicodeError):
        event = without_half_characters(event)
        text = serializer.to_json(event, context=held).decode()
    if not _has_sets(type(event)):
        return text
    ordered = _with_sorted_sets(event.__dict__, from_json(text))
    return json.dumps(ordered, ensure_ascii=False, separators=(",", ":"))


def read_fields(name: str, family: Family, text: str | bytes, context: Mapping[str, Any] | None = None) -> Event:
    """The event of this wire type with these fields.

    One of an unknown class, or whose fields this release cannot read, is kept whole under its family (E1.5).
    """
    known = event_class(name)
    if known is None:
        return UnknownEvent(wire_type=name, wire_family=family, fields=from_json(text))
    try:
        return known.__pydantic_validator__.validate_json(text, context=cast("dict[str, Any] | None", context))
    except ValidationError:
        return UnknownEvent(wire_type=name, wire_family=family, fields=from_json(text))


def wire_type(event: Event) -> str:
    """The event's name on the wire: that of its class, also when the class is unknown here."""
    return event.wire_type if isinstance(event, UnknownEvent) else event.event_type


def wire_family(event: Event) -> Family:
    """The event's family on the wire."""
    return event.wire_family if isinstance(event, UnknownEvent) else event.family


def write_event(event: Event, context: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The event as JSON data: its fields beside `type` and `family`."""
    fields = from_json(write_fields(event, context))
    return {"type": wire_type(event), "family": wire_family(event), **fields}


def read_event(data: Mapping[str, Any], context: Mapping[str, Any] | None = None) -> Event:
    """The event of this JSON data (`write_event`'s shape)."""
    fields = {key: value for key, value in data.items() if key not in {"type", "family"}}
    family = cast("Family", data.get("family", "display"))
    return read_fields(data["type"], family, json.dumps(fields, ensure_ascii=False), context)


def without_half_characters(value: Any) -> Any:
    """The value with each lone surrogate replaced by U+FFFD, in texts at any depth (SRV-25)."""
    match value:
        case str():
            return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case BaseModel():
            changed = {name: without_half_characters(item) for name, item in value.__dict__.items()}
            return type(value).model_construct(value.model_fields_set, **changed)
        case dict():
            items = cast("dict[Any, Any]", value)
            return {without_half_characters(key): without_half_characters(item) for key, item in items.items()}
        case list() | tuple() | set() | frozenset():
            sequence = cast("list[Any]", value)
            return type(sequence)(without_half_characters(item) for item in sequence)
        case _:
            return value


@lru_cache(maxsize=4096)
def _has_sets(cls: type[Event]) -> bool:
    schema = repr(cls.__pydantic_core_schema__)
    return "'type': 'set'" in schema or "'type': 'frozenset'" in schema


def _with_sorted_sets(value: Any, dumped: Any) -> Any:
    """The dumped JSON with the lists that stand for sets in a fixed order, so that reading back changes nothing."""
    if isinstance(value, BaseModel):
        value = value.__dict__
    match value, dumped:
        case (set() | frozenset(), list()):
            members = cast("list[Any]", dumped)
            return sorted(members, key=lambda item: json.dumps(item, sort_keys=True))
        case (dict(), dict()):
            fields = cast("dict[Any, Any]", value)
            shown = cast("dict[str, Any]", dumped)
            by_name = {str(key): item for key, item in fields.items()}
            return {name: _with_sorted_sets(by_name.get(name), item) for name, item in shown.items()}
        case (list() | tuple(), list()):
            items = cast("list[Any]", value)
            shown_items = cast("list[Any]", dumped)
            return [_with_sorted_sets(item, shown) for item, shown in zip(items, shown_items, strict=True)]
        case _:
            return dumped
