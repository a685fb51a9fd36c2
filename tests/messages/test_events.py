from __future__ import annotations

from decimal import Decimal

import pytest
from pydantic import ValidationError
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart

from planwerk.access.identity import UserIdentity
from planwerk.messages.events import (
    FileReference,
    FollowUpsSuggestedEvent,
    KnowledgeReference,
    LLMEvent,
    LLMStopEvent,
    RefusalReason,
    RefusalStopEvent,
    TitleSuggestedEvent,
    Usage,
    UserMessageEvent,
)
from planwerk.messages.prompts import user_prompt
from planwerk.workflow.codec import read_event, write_event
from planwerk.workflow.events import Event, StartEvent, StopEvent

EVENTS: list[Event] = [
    UserMessageEvent(
        messages=(user_prompt("Hallo"),),
        user=UserIdentity(id="u1", name="Ada"),
        locale="de",
        files=(FileReference(id="f1", name="a.pdf", media_type="application/pdf", size_bytes=3),),
        knowledge=(KnowledgeReference(collection="handbook", label="Handbook"),),
        requested_features=("search",),
    ),
    LLMEvent(
        response=ModelResponse(parts=[TextPart("Hi")]),
        model="demo:planwerk",
        usage=Usage(input_tokens=3),
        cost=Decimal("0.01"),
    ),
    RefusalStopEvent(reason=RefusalReason.INPUT_TOO_LARGE, text="Too large"),
    TitleSuggestedEvent(title="A title"),
    FollowUpsSuggestedEvent(questions=("Why?", "How?")),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_a_chat_event_survives_being_written_and_read(event: Event) -> None:
    back = read_event(write_event(event))

    assert type(back) is type(event)
    assert back.same_as(event)


def test_a_persons_message_begins_a_run_and_an_answer_ends_one() -> None:
    answer = LLMEvent(response=ModelResponse(parts=[TextPart("Hi")]), model="m")

    assert isinstance(EVENTS[0], StartEvent)
    assert isinstance(LLMStopEvent(answer=answer), StopEvent)


def test_thinking_is_not_part_of_the_visible_text() -> None:
    event = LLMEvent(response=ModelResponse(parts=[ThinkingPart("R1"), TextPart("Said")]), model="m")

    assert event.text == "Said"


def test_usages_add_up() -> None:
    total = Usage(input_tokens=1, output_tokens=2) + Usage(input_tokens=10, cached_tokens=4, reasoning_tokens=5)

    assert total == Usage(input_tokens=11, output_tokens=2, cached_tokens=4, reasoning_tokens=5)


def test_a_cost_keeps_every_digit() -> None:
    event = LLMEvent(response=ModelResponse(parts=[TextPart("Hi")]), model="m", cost=Decimal("0.000001230"))

    back = read_event(write_event(event))

    assert isinstance(back, LLMEvent)
    assert back.cost == Decimal("0.000001230")


def test_an_answer_is_a_semantic_event_with_its_tokens() -> None:
    event = LLMEvent(
        response=ModelResponse(parts=[TextPart("Hi")]), model="openai:m", usage=Usage(input_tokens=3, output_tokens=1)
    )

    attributes = event.span_attributes()

    assert attributes["openinference.span.kind"] == "LLM"
    assert attributes["llm.token_count.prompt"] == "3"


def test_an_event_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        TitleSuggestedEvent(title="A").title = "B"  # type: ignore[misc]
