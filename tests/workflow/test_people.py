"""Requests to people as events: their answers, what fits, what is checked before anything runs (E8.1, E5.4, E6.4)."""

from __future__ import annotations

import pytest

from planwerk.workflow.blueprint import Agent
from planwerk.workflow.codec import read_event, write_event
from planwerk.workflow.entries import EventPublished
from planwerk.workflow.errors import WorkflowError
from planwerk.workflow.events import Event, StartEvent, StopEvent
from planwerk.workflow.graph import graph_of
from planwerk.workflow.ids import EventId
from planwerk.workflow.journal_text import read_entries, write_entries
from planwerk.workflow.locale_string import LocaleString
from planwerk.workflow.people import AnswerInvalid, Choice, HumanInTheLoop
from planwerk.workflow.steps import step
from planwerk.workflow.timers import Timer


class AskRoom(HumanInTheLoop.Input):
    """Asks which room."""


class AskBigRoom(AskRoom):
    """A second use of it."""


class AskSure(HumanInTheLoop.Confirmation):
    """Asks whether to go on."""


class Tea(Timer):
    """Tea is ready."""


ROOM = AskRoom(question="Which?", choices=("red", Choice(value="blue", label=LocaleString(en="Blue", de="Blau"))))


def test_a_subclass_has_answers_of_its_own_with_names_of_their_own() -> None:
    names = [cls.event_type for cls in (*AskRoom.answered_by, *AskBigRoom.answered_by, *Tea.answered_by)]

    assert names == [
        *("AskRoomInputAnsweredEvent", "AskRoomInputTimedOutEvent"),
        *("AskBigRoomAskRoomInputAnsweredEvent", "AskBigRoomAskRoomInputTimedOutEvent"),
        "TeaTimerFiredEvent",
    ]
    assert AskRoom.Answered is not HumanInTheLoop.Input.Answered
    assert issubclass(AskRoom.Answered, HumanInTheLoop.Input.Answered)


@pytest.mark.parametrize("event", [ROOM, AskSure(question=LocaleString(en="Sure?", fr="Sûr ?"), default=True)])
def test_a_request_is_read_back_as_it_was_written(event: Event) -> None:
    assert read_event(write_event(event)) == event


@pytest.mark.parametrize(
    ("request_", "given", "expected"),
    [
        (ROOM, "red", AskRoom.Answered(text="red")),
        (ROOM, {"text": "blue"}, AskRoom.Answered(text="blue")),
        (ROOM, AskRoom.Answered(text="blue"), AskRoom.Answered(text="blue")),
        (AskRoom(question="?", default="any"), " ", AskRoom.Answered(text="any")),
        (AskRoom(question="?", choices=("a",), only_choices=False), "b", AskRoom.Answered(text="b")),
        (AskSure(question="?"), True, AskSure.Answered(confirmed=True)),
        (AskSure(question="?"), {"confirmed": False, "reason": "no"}, AskSure.Answered(confirmed=False, reason="no")),
        (HumanInTheLoop.Chat(question="?"), "hi", HumanInTheLoop.Chat.Answered(text="hi")),
    ],
)
def test_an_answer_is_read_from_what_a_person_gives(
    request_: HumanInTheLoop.Input | HumanInTheLoop.Confirmation, given: object, expected: Event
) -> None:
    assert request_.read_answer(given) == expected


@pytest.mark.parametrize(
    ("request_", "given", "where"),
    [
        (ROOM, "green", "text"),
        (ROOM, "", "text"),
        (ROOM, {"text": 5}, "text"),
        (ROOM, {"text": "red", "colour": "red"}, "colour"),
        (ROOM, {"type": "AskSureConfirmationAnsweredEvent", "text": "red"}, "type"),
        (ROOM, HumanInTheLoop.Input.Answered(text="red"), "type"),
        (ROOM, {"text": "x" * 100_001}, "text"),
        (AskSure(question="?"), "perhaps", "confirmed"),
        (AskSure(question="?"), {}, "confirmed"),
        (HumanInTheLoop.Chat(question="?"), " \n", "text"),
    ],
)
def test_what_does_not_fit_is_refused_by_field(
    request_: HumanInTheLoop.Input | HumanInTheLoop.Confirmation, given: object, where: str
) -> None:
    with pytest.raises(AnswerInvalid) as refused:
        request_.read_answer(given)

    assert refused.value.errors[0]["loc"] == [where]


def test_the_schema_of_an_answer_names_the_choices_in_the_readers_language() -> None:
    schema = ROOM.response_schema("de")

    assert schema["properties"]["text"]["oneOf"] == [
        {"const": "red", "title": "red"},
        {"const": "blue", "title": "Blau"},
    ]
    assert schema["required"] == ["text"]


@pytest.mark.parametrize("seconds", [-1.0, float("inf"), float("nan")])
def test_a_timer_of_no_time_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="seconds"):
        Timer.after(seconds)


def test_a_default_that_is_no_choice_is_refused() -> None:
    with pytest.raises(ValueError, match="none of the choices"):
        AskRoom(question="?", choices=("a", "b"), default="c")


def test_who_answered_stands_in_the_journal_beside_the_answer() -> None:
    actor = {"kind": "user", "id": "1", "name": 'Ada "A", x'}
    entry = EventPublished(AskRoom.Answered(text="red"), EventId("e"), 5, answers=3, actor=actor)
    older = EventPublished(AskRoom.Answered(text="red"), EventId("e"), 5, answers=3)

    assert read_entries(write_entries([entry, older])) == [entry, older]


class PeopleBegin(StartEvent):
    pass


class PeopleEnd(StopEvent):
    pass


class Hasty(Agent):
    """Takes only the answer."""

    @step()
    async def ask(self, start: PeopleBegin) -> AskRoom:
        return ROOM

    @step()
    async def book(self, answer: AskRoom.Answered) -> PeopleEnd:
        return PeopleEnd()


class Careful(Hasty):
    """Takes the answer and the timeout, after which it goes nowhere."""

    @step()
    async def late(self, late: AskRoom.TimedOut) -> AskSure:
        return AskSure(question="?")


def test_a_request_whose_timeout_nobody_takes_is_checked_as_one_that_has_none() -> None:
    Hasty.validate_workflow()


def test_checking_knows_both_answers() -> None:
    with pytest.raises(WorkflowError, match=r"late"):
        Careful.validate_workflow()


def test_a_step_that_takes_an_answer_nobody_asks_for_is_a_problem() -> None:
    class Lost(Hasty):
        """Waits for an answer to another question."""

        @step()
        async def other(self, answer: AskBigRoom.Answered) -> PeopleEnd:
            return PeopleEnd()

    with pytest.raises(WorkflowError, match="AskBigRoomAskRoomInputAnsweredEvent"):
        Lost.validate_workflow()


def test_the_graph_leads_from_the_question_to_who_takes_its_answers() -> None:
    edges = {(edge.source, edge.target, edge.event) for edge in graph_of(Hasty).edges}

    assert ("ask", "book", "AskRoomInputAnsweredEvent") in edges
