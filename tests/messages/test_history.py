from __future__ import annotations

import gc
import time
from typing import Any

import pytest
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from planwerk.messages.events import LLMEvent, SteeringMessageEvent, UserMessageEvent
from planwerk.messages.history import ContentMissing, History, history_digest, history_json, hold, read_history
from planwerk.messages.prompts import assistant_message, user_prompt
from planwerk.workflow.codec import read_event, read_fields, write_event, write_fields
from planwerk.workflow.events import ControlEvent


class HistoryCarriedEvent(ControlEvent):
    messages: History
    note: str = ""


class Contents(dict[str, str]):
    """A sink and source that counts what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.puts = 0

    def has(self, digest: str) -> bool:
        return digest in self

    def put(self, digest: str, content: str) -> None:
        self.puts += 1
        self[digest] = content

    def get(self, digest: str) -> str:  # type: ignore[override]
        return self[digest]

    def context(self) -> dict[str, Any]:
        return {"contents": self}


def conversation(turns: int) -> tuple[ModelMessage, ...]:
    messages: list[ModelMessage] = []
    for number in range(turns):
        messages += [user_prompt(f"Question {number}, größer als 😀?"), assistant_message(f"Answer {number}. " * 20)]
    return tuple(messages)


RICH: tuple[ModelMessage, ...] = (
    ModelRequest(
        parts=[
            UserPromptPart(
                ["Look", BinaryContent(b"\x00\xff\xfe", media_type="image/png"), ImageUrl("https://example.org/a.png")]
            )
        ],
        metadata={"deep": [{"inner": [1, None, "x"]}]},
    ),
    ModelResponse(parts=[ThinkingPart("R1"), TextPart("Hm."), ToolCallPart("f", {"a": [1, {"b": 2}]}, "c1")]),
    ModelRequest(parts=[ToolReturnPart("f", {"rows": [[1, 2], [3]]}, "c1")]),
)


def test_without_contents_a_history_is_written_whole_and_read_back_the_same() -> None:
    event = UserMessageEvent(messages=RICH)

    written = write_event(event)
    back = read_event(written)

    assert write_event(back) == written
    assert back.same_as(event)
    assert isinstance(back, UserMessageEvent)
    picture = back.messages[0].parts[0]
    assert isinstance(picture, UserPromptPart)
    assert isinstance(picture.content[1], BinaryContent)
    assert picture.content[1].data == b"\x00\xff\xfe"


def test_the_written_text_is_equal_to_the_letter_after_a_round_trip() -> None:
    event = UserMessageEvent(messages=RICH)

    first = write_fields(event)

    assert write_fields(read_fields("UserMessageEvent", "both", first)) == first


def test_with_contents_a_history_is_a_small_reference_and_read_back_whole() -> None:
    contents = Contents()
    event = HistoryCarriedEvent(messages=conversation(50), note="kept")

    text = write_fields(event, contents.context())

    assert len(text) < 120
    back = read_fields("HistoryCarriedEvent", "control", text, contents.context())
    assert back.same_as(event)


def test_each_message_is_stored_once_however_many_events_carry_it() -> None:
    contents, messages = Contents(), conversation(50)
    held = HistoryCarriedEvent(messages=messages).messages

    for _ in range(10):
        write_fields(HistoryCarriedEvent(messages=held), contents.context())
        write_fields(SteeringMessageEvent(messages=messages), contents.context())

    stored_messages = sum("parts" in content for content in contents.values())
    assert stored_messages == 100
    assert contents.puts == len(contents)


def test_a_history_that_grows_by_a_turn_stores_little_more_however_long_it_is() -> None:
    grown: dict[int, int] = {}
    for turns in (10, 100, 1000):
        contents, messages = Contents(), conversation(turns)
        write_fields(HistoryCarriedEvent(messages=messages), contents.context())
        before = sum(map(len, contents.values()))

        write_fields(HistoryCarriedEvent(messages=(*messages, *conversation(1))), contents.context())

        grown[turns] = sum(map(len, contents.values())) - before

    assert grown[1000] < grown[10] + 8_000  # a thousand turns whole would be about two megabytes


def test_a_history_that_lost_its_oldest_turns_shares_most_blocks() -> None:
    contents, messages = Contents(), conversation(500)
    write_fields(HistoryCarriedEvent(messages=messages), contents.context())
    before = set(contents)

    write_fields(HistoryCarriedEvent(messages=messages[10:]), contents.context())

    assert len(set(contents) - before) <= 3


def test_carrying_a_hundred_messages_again_costs_next_to_nothing() -> None:
    contents = Contents()
    held = HistoryCarriedEvent(messages=conversation(50)).messages
    began = time.process_time()
    write_fields(HistoryCarriedEvent(messages=held), contents.context())
    first = time.process_time() - began

    began = time.process_time()
    for _ in range(100):
        write_fields(HistoryCarriedEvent(messages=held), contents.context())
    again = (time.process_time() - began) / 100

    assert again < first / 20


def test_equal_histories_of_different_objects_have_one_digest() -> None:
    messages = conversation(3)

    assert history_digest(messages) == history_digest(read_history(history_json(messages)))
    assert history_digest(messages) != history_digest(messages[:-1])


def test_a_replaced_message_is_not_taken_for_the_one_it_was_made_from() -> None:
    contents, message = Contents(), user_prompt("first")
    write_fields(HistoryCarriedEvent(messages=(message,)), contents.context())
    del message
    gc.collect()

    other = HistoryCarriedEvent(messages=(user_prompt("second"),))
    text = write_fields(other, contents.context())

    assert read_fields("HistoryCarriedEvent", "control", text, contents.context()).same_as(other)


def test_one_reader_gives_events_that_carry_one_history_the_same_object() -> None:
    contents = Contents()
    text = write_fields(HistoryCarriedEvent(messages=conversation(5)), contents.context())
    context = contents.context()

    one = read_fields("HistoryCarriedEvent", "control", text, context)
    two = read_fields("HistoryCarriedEvent", "control", text, context)

    assert isinstance(one, HistoryCarriedEvent)
    assert isinstance(two, HistoryCarriedEvent)
    assert one.messages is two.messages


@pytest.mark.parametrize("context", [None, {"contents": Contents()}])
def test_a_reference_whose_content_is_missing_is_an_error_that_says_so(context: dict[str, Any] | None) -> None:
    text = write_fields(HistoryCarriedEvent(messages=conversation(1)), Contents().context())

    with pytest.raises(ContentMissing, match=r"E7\.7"):
        read_fields("HistoryCarriedEvent", "control", text, context)


def test_what_is_no_message_is_refused() -> None:
    with pytest.raises(ValueError, match="sequence of messages"):
        HistoryCarriedEvent.model_validate({"messages": "hello"})
    with pytest.raises(ValueError, match="kind"):
        HistoryCarriedEvent.model_validate({"messages": [{"kind": "letter"}]})


def test_half_characters_in_a_history_are_replaced_when_an_event_is_made() -> None:
    event = SteeringMessageEvent(messages=(user_prompt("😀"), ModelRequest(parts=[UserPromptPart("ok \ud83d done")])))

    text = write_fields(event)

    assert "ok \ufffd done" in text
    assert "😀" in text


def test_an_answer_is_written_read_and_written_the_same() -> None:
    answer = ModelResponse(parts=[TextPart("ok \udc00"), ToolCallPart("f", '{"a":1}', "c1")], model_name="m")
    event = LLMEvent(response=answer, model="openai:m")

    written = write_fields(event)

    assert write_fields(read_fields("LLMEvent", "both", written)) == written
    assert event.text == "ok \ufffd"
    with pytest.raises(ValueError, match="not a request"):
        LLMEvent.model_validate({"response": user_prompt("no"), "model": "m"})


def test_a_held_history_is_a_tuple_and_holding_it_again_gives_it_back() -> None:
    held = hold(conversation(2))

    assert isinstance(held, tuple)
    assert hold(held) is held
