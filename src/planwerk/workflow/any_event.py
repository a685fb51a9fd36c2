"""A field that holds an event of any class: another run's start, another run's stop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, cast

from pydantic import PlainSerializer, PlainValidator, SerializationInfo, ValidationInfo, WithJsonSchema

from planwerk.workflow.codec import read_event, write_event
from planwerk.workflow.events import Event


def _read(value: Any, info: ValidationInfo) -> Event:
    if isinstance(value, Event):
        return value
    if not isinstance(value, Mapping) or "type" not in value:
        raise ValueError("an event, or its JSON with `type`, is expected")
    return read_event(cast("Mapping[str, Any]", value), cast("Mapping[str, Any] | None", info.context))


def _write(event: Event, info: SerializationInfo) -> dict[str, Any]:
    return write_event(event, cast("Mapping[str, Any] | None", info.context))


AnyEvent = Annotated[
    Event,
    PlainValidator(_read),
    PlainSerializer(_write),
    WithJsonSchema(
        {
            "type": "object",
            "properties": {"type": {"type": "string"}, "family": {"type": "string"}},
            "required": ["type"],
            "additionalProperties": True,
        }
    ),
]
"""An event with its class on the wire; what it holds is read back with its types (E1.5), histories by reference."""
