"""What an event is: frozen, named by its class, of a family (E1)."""

from __future__ import annotations

import types
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, ValidationError

from planwerk.workflow.codec import read_event, write_event
from planwerk.workflow.errors import DefinitionError
from planwerk.workflow.events import (
    ControlAndDisplayEvent,
    ControlEvent,
    DisplayEvent,
    Event,
    StartEvent,
    StopEvent,
    UnknownEvent,
    event_class,
)
from planwerk.workflow.locale_string import LocaleString


class EventsPlainEvent(ControlEvent):
    number: int = 0


class EventsShownEvent(DisplayEvent, ephemeral=True, label=LocaleString(en="Shown", de="Gezeigt"), icon="eye"):
    text: str = ""


class EventsFoundEvent(ControlAndDisplayEvent, kind="RETRIEVER"):
    pass


class EventsColor(Enum):
    RED = "red"


class EventsPart(BaseModel):
    tags: frozenset[str] = frozenset()


class EventsRichEvent(ControlEvent):
    color: EventsColor = EventsColor.RED
    at: datetime | None = None
    tags: set[str] = Field(default_factory=set[str])
    parts: tuple[EventsPart, ...] = ()
    price: Decimal | None = None
    raw: bytes = b""
    number: float = 0.0
    nested: dict[str, list[dict[str, int]]] = Field(default_factory=dict[str, list[dict[str, int]]])


def test_an_event_cannot_be_changed_and_takes_no_unknown_fields() -> None:
    event = EventsPlainEvent(number=1)

    with pytest.raises(ValidationError):
        event.number = 2  # pyright: ignore[reportAttributeAccessIssue] - frozen, as the test shows
    with pytest.raises(ValidationError):
        EventsPlainEvent.model_validate({"number": 1, "other": 2})


def test_families_follow_from_the_bases() -> None:
    assert (EventsPlainEvent.family, EventsShownEvent.family, EventsFoundEvent.family) == ("control", "display", "both")
    assert (StartEvent.family, StopEvent.family) == ("both", "both")


def test_class_keywords_describe_an_event() -> None:
    assert EventsShownEvent.ephemeral
    assert EventsShownEvent.label.text("de-CH") == "Gezeigt"
    assert EventsShownEvent.icon == "eye"
    assert EventsFoundEvent().span_attributes() == {"openinference.span.kind": "RETRIEVER"}
    assert EventsPlainEvent.label.text() == "Events plain"


def test_a_second_class_of_one_name_is_refused_naming_both() -> None:
    def again() -> None:
        class EventsPlainEvent(ControlEvent):  # pyright: ignore[reportUnusedClass] - defining it is the test
            pass

    with pytest.raises(DefinitionError) as refused:
        again()

    assert "test_events.EventsPlainEvent" in str(refused.value)
    assert "<locals>.EventsPlainEvent" in str(refused.value)
    assert event_class("EventsPlainEvent") is EventsPlainEvent


def test_defining_a_class_again_at_the_same_place_replaces_it() -> None:
    def define() -> type[Event]:
        class EventsReplacedEvent(ControlEvent):
            pass

        return EventsReplacedEvent

    first, second = define(), define()

    assert first is not second
    assert event_class("EventsReplacedEvent") is second


def test_only_display_events_may_be_live_frames_alone() -> None:
    with pytest.raises(DefinitionError, match="ephemeral"):

        class EventsWrongEvent(ControlEvent, ephemeral=True):  # pyright: ignore[reportUnusedClass] - as above
            pass


def test_a_field_may_not_be_named_like_the_class_on_the_wire() -> None:
    def fields(body: dict[str, Any]) -> None:
        body.update(__annotations__={"type": str}, __module__=__name__)

    with pytest.raises(DefinitionError, match="type"):
        types.new_class("EventsNamedTypeEvent", (ControlEvent,), {}, fields)


def test_two_events_are_the_same_by_class_and_canonical_json() -> None:
    left = EventsRichEvent(tags={"a", "b"}, parts=(EventsPart(tags=frozenset({"x", "y"})),))
    right = EventsRichEvent(tags={"b", "a"}, parts=(EventsPart(tags=frozenset({"y", "x"})),))

    assert left.same_as(right)
    assert not left.same_as(EventsRichEvent())
    assert not EventsPlainEvent().same_as(EventsFoundEvent())


rich = st.builds(
    EventsRichEvent,
    at=st.none()
    | st.datetimes(timezones=st.integers(-720, 840).map(lambda minutes: timezone(timedelta(minutes=minutes)))),
    tags=st.sets(st.text(max_size=5), max_size=5),
    parts=st.lists(st.builds(EventsPart, tags=st.frozensets(st.text(max_size=3))), max_size=3).map(tuple),
    price=st.none() | st.decimals(allow_nan=False, allow_infinity=False),
    raw=st.binary(max_size=20),
    number=st.floats(allow_nan=False),
    nested=st.dictionaries(
        st.text(max_size=3), st.lists(st.dictionaries(st.text(max_size=3), st.integers()), max_size=2)
    ),
)


@given(rich)
def test_writing_reading_and_writing_again_gives_the_same_json_and_types(event: EventsRichEvent) -> None:
    written = write_event(event)
    again = read_event(written)

    assert again == event
    assert type(again) is EventsRichEvent
    assert write_event(again) == written


@given(st.dictionaries(st.sampled_from(["mood", "level", "list"]), st.none() | st.integers() | st.lists(st.text())))
def test_an_event_of_an_unknown_class_is_kept_whole(fields: dict[str, Any]) -> None:
    data = {"type": "FromTomorrowEvent", "family": "display", **fields}

    event = read_event(data)

    assert isinstance(event, UnknownEvent)
    assert write_event(event) == data


def test_srv_25_half_a_character_becomes_one_replacement_and_the_rest_is_kept() -> None:
    class EventsTextEvent(DisplayEvent):
        text: str
        more: tuple[dict[str, str], ...] = ()

    event = EventsTextEvent(text="ok \ud83d done 😀", more=({"k\ud83d": "v\ud83d"},))

    written = write_event(event)

    assert written["text"] == "ok \ufffd done 😀"
    assert written["more"] == [{"k\ufffd": "v\ufffd"}]
    assert write_event(read_event(written)) == written


def test_a_new_field_with_a_default_reads_what_was_written_before() -> None:
    assert read_event({"type": "EventsPlainEvent", "family": "control"}) == EventsPlainEvent()
