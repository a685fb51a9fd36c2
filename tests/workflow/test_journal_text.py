"""The entries of an append survive being text (E1.5, E7.1)."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import Enum

from hypothesis import given
from hypothesis import strategies as st

from planwerk.workflow import entries as journal
from planwerk.workflow.events import ControlEvent, Event, UnknownEvent
from planwerk.workflow.ids import EventId, ExecutionId, RunId
from planwerk.workflow.journal_text import read_entries, write_entries


class JournalTextEvent(ControlEvent):
    class Phase(Enum):
        DRAFT = "draft"

    phase: Phase = Phase.DRAFT
    at: datetime | None = None
    tags: frozenset[str] = frozenset()
    price: Decimal | None = None
    text: str = ""


texts = st.text(max_size=30)
numbers = st.integers(0, 2**53)
errors = st.builds(journal.ErrorInfo, texts, texts, texts, texts, st.integers(400, 599))
bindings = st.lists(st.lists(numbers, max_size=3).map(tuple), max_size=3).map(tuple)
events = st.builds(
    JournalTextEvent,
    tags=st.frozensets(st.text(max_size=5)),
    price=st.none() | st.decimals(allow_nan=False, allow_infinity=False),
    text=texts,
)
ids = st.just(ExecutionId("x1"))
entries: st.SearchStrategy[journal.Entry] = st.one_of(
    st.builds(
        journal.RunOpened,
        run=st.just(RunId("r")),
        at=numbers,
        blueprint=texts,
        fingerprint=texts,
        config=st.dictionaries(texts, numbers | texts | st.none()),
        actor=st.just({"kind": "user", "id": "1"}),
        tenant=texts,
        thread=st.none() | texts,
        titled=st.none() | st.booleans(),
        expires=st.none() | numbers,
    ),
    st.builds(
        journal.EventPublished,
        event=events,
        id=st.just(EventId("e1")),
        at=numbers,
        execution=st.none() | ids,
        answers=st.none() | numbers,
        shown=st.booleans(),
        discarded=st.booleans(),
    ),
    st.builds(journal.ExecutionDue, ids, texts, numbers, bindings, numbers),
    st.builds(journal.ExecutionStarted, ids, st.integers(1, 9), numbers),
    st.builds(journal.AttemptFailed, ids, st.integers(1, 9), numbers, errors, numbers),
    st.builds(journal.ExecutionFinished, ids, numbers, st.integers(1, 9), st.lists(numbers).map(tuple)),
    st.builds(journal.ExecutionFailed, ids, numbers, errors, st.integers(1, 9)),
    st.builds(journal.PreconditionAnswered, texts, numbers, bindings, st.booleans(), numbers),
    st.builds(journal.OwnershipTaken, numbers, numbers, texts),
    st.builds(journal.OwnershipReleased, numbers, numbers),
    st.builds(journal.StopReached, numbers, numbers),
    st.builds(
        journal.ModelCalled, ids, numbers, texts, st.dictionaries(texts, numbers), st.none() | texts, numbers, texts
    ),
    st.builds(
        journal.RunEnded,
        st.sampled_from(["completed", "failed", "stopped"]),
        numbers,
        st.none() | errors,
        st.lists(texts).map(tuple),
        st.dictionaries(texts, numbers),
    ),
)


@given(st.lists(entries, min_size=1, max_size=8))
def test_entries_are_read_back_equal_and_written_the_same(found: list[journal.Entry]) -> None:
    text = write_entries(found)

    again = read_entries(text)

    assert again == found
    assert write_entries(again) == text


def test_eng_13_values_keep_their_types() -> None:
    event = JournalTextEvent(
        at=datetime.fromisoformat("2026-03-01T10:00+03:00"), tags=frozenset({"a"}), price=Decimal("0.10")
    )

    [entry] = read_entries(write_entries([journal.EventPublished(event, EventId("e"), 0)]))

    assert isinstance(entry, journal.EventPublished)
    read = entry.event
    assert isinstance(read, JournalTextEvent)
    assert read == event
    assert read.phase is JournalTextEvent.Phase.DRAFT
    assert read.at is not None
    assert read.at.utcoffset() == event.at.utcoffset()  # pyright: ignore[reportOptionalMemberAccess] - set above
    assert isinstance(read.tags, frozenset)
    assert str(read.price) == "0.10"


def test_an_event_of_an_unknown_class_is_written_back_unchanged() -> None:
    text = '["event","e",0,null,null,0,"FromTomorrowEvent","display"]\n{"mood":"calm"}'

    found = read_entries(text)

    assert isinstance(found[0], journal.EventPublished)
    event: Event = found[0].event
    assert isinstance(event, UnknownEvent)
    assert event.wire_family == "display"
    assert write_entries(found) == text


def test_an_entry_of_an_unknown_kind_is_written_back_unchanged() -> None:
    text = '["tomorrow",1,{"a":[2]}]\n["stop",3,4]'

    assert write_entries(read_entries(text)) == text
