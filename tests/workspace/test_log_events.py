"""Events of the log: named, versioned, and kept where they are not known (A5.1, E1.10)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

import pytest

from planwerk.workflow.ids import EventId, WorkspaceId, new_id
from planwerk.workspace.rules import events as all_events
from planwerk.workspace.rules.envelope import LogEnvelope
from planwerk.workspace.rules.events import (
    LOG_EVENTS,
    LogEvent,
    MessagePosted,
    RunEnded,
    ThreadCreated,
    UnknownLogEvent,
    read_log_event,
    snake_case,
    wire_name,
)
from planwerk.workspace.rules.json_values import JSONObject
from tests.workspace.world import ALICE, Clock


def test_every_event_has_its_wire_name() -> None:
    defined = {value for value in vars(all_events).values() if isinstance(value, type) and issubclass(value, LogEvent)}

    assert set(LOG_EVENTS.values()) == defined - {LogEvent, UnknownLogEvent}
    assert set(LOG_EVENTS) == {
        "workspace_created",
        "thread_created",
        "thread_renamed",
        "message_posted",
        "message_retracted",
        "message_moved",
        "run_requested",
        "run_steered",
        "steering_taken",
        "stop_requested",
        "run_started",
        "run_paused",
        "run_resumed",
        "request_opened",
        "request_answered",
        "request_closed",
        "run_ended",
        "artifact_created",
        "artifact_changed",
        "artifact_archived",
    }


@pytest.mark.parametrize(
    ("name", "words"), [("MessagePosted", "message_posted"), ("PDFDraft", "pdf_draft"), ("X", "x"), ("ToDo2", "to_do2")]
)
def test_names_are_written_in_snake_case(name: str, words: str) -> None:
    assert snake_case(name) == words


@pytest.mark.parametrize(
    ("type_", "version", "data"),
    [
        ("from_tomorrow", 1, {"mood": "calm"}),
        ("message_posted", 99, {"message_id": "m", "shape": "new"}),
        ("message_posted", 1, {"nothing": "that it needs"}),
    ],
)
def test_what_is_not_known_is_kept_and_written_back_unchanged(type_: str, version: int, data: JSONObject) -> None:
    event = read_log_event(type_, version, data)

    assert isinstance(event, UnknownLogEvent)
    assert (wire_name(event), event.to_data()) == ((type_, version), data)


def test_a_field_that_a_later_release_added_is_kept() -> None:
    event = read_log_event("thread_created", 1, {"title": "Oslo", "profile": None, "colour": "blue"})

    assert isinstance(event, ThreadCreated)
    assert event.to_data() == {"title": "Oslo", "profile": None, "colour": "blue"}


def test_every_event_is_read_back_as_it_was_written() -> None:
    ended = RunEnded.model_validate({"run_id": new_id(), "status": "failed", "cost": "0.0012", "duration_seconds": 2.5})

    again = read_log_event(*wire_name(ended), ended.to_data())

    assert again == ended
    assert ended.to_data()["cost"] == "0.0012"


def lifted(data: JSONObject) -> JSONObject:
    return {"words": data["text"]}


def counted(data: JSONObject) -> JSONObject:
    return {**data, "count": len(data["words"].split())}


def test_older_data_is_lifted_version_by_version(monkeypatch: pytest.MonkeyPatch) -> None:
    class LogTestSpoken(LogEvent):
        v = 3
        upcasters: ClassVar[Mapping[int, Callable[[JSONObject], JSONObject]]] = {1: lifted, 2: counted}

        words: str
        count: int

    class LogTestGap(LogEvent):
        v = 3
        upcasters: ClassVar[Mapping[int, Callable[[JSONObject], JSONObject]]] = {2: counted}

    monkeypatch.setattr(all_events, "LOG_EVENTS", {e.wire_type: e for e in (LogTestSpoken, LogTestGap)})

    assert read_log_event("log_test_spoken", 1, {"text": "a b"}) == LogTestSpoken(words="a b", count=2)
    assert read_log_event("log_test_spoken", 2, {"words": "a"}) == LogTestSpoken(words="a", count=1)
    assert isinstance(read_log_event("log_test_gap", 1, {"text": "a"}), UnknownLogEvent)


def test_an_unknown_event_goes_over_the_wire_under_its_own_name_and_version() -> None:
    event = read_log_event("from_tomorrow", 7, {"mood": "calm"})
    envelope = LogEnvelope(
        seq=1, id=EventId(new_id()), time=Clock()(), workspace=WorkspaceId(new_id()), actor=ALICE, event=event
    )

    wire = envelope.to_wire("default")

    assert (wire["type"], wire["v"], wire["data"]) == ("from_tomorrow", 7, {"mood": "calm"})
    assert wire["time"] == "2026-01-01T00:00:01.000000Z"


def test_data_on_the_wire_has_the_fields_that_clients_know() -> None:
    posted = MessagePosted.model_validate({"message_id": new_id(), "role": "user", "content": "x"})

    assert posted.to_data() | {"message_id": ""} == {
        "message_id": "",
        "parent_id": None,
        "role": "user",
        "content": "x",
        "run_id": None,
        "incomplete": False,
        "error": None,
        "follow_ups": [],
        "files": [],
        "model_messages": None,
        "request_id": None,
    }
