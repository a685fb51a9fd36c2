from __future__ import annotations

import pytest
from pydantic_ai.messages import ImageUrl, ModelResponse, TextPart, ThinkingPart, ToolCallPart

from planwerk.messages.prompts import (
    assistant_message,
    first_user_prompt,
    last_user_prompt,
    system_prompt,
    system_text,
    user_prompt,
    visible_text,
    without_thinking,
)


@pytest.mark.parametrize(
    ("said", "visible"),
    [
        ('<think>User wants a trip\n</think>\n\n"Trip to Oslo"\n', '"Trip to Oslo"'),
        ("<think>User wants a", ""),
        ("", ""),
        ("wants a trip</think>Trip to Oslo", "Trip to Oslo"),
        ("<THINKING>a</THINKING>A<reasoning>b</reasoning>B", "AB"),
        ("Trip < 3 days > <b>Oslo</b>", "Trip < 3 days > <b>Oslo</b>"),
    ],
)
def test_thinking_written_as_tags_is_not_visible(said: str, visible: str) -> None:
    assert visible_text(said) == visible


def test_the_question_is_the_last_prompt_and_pictures_are_no_words() -> None:
    history = [
        user_prompt("first"),
        assistant_message("answer"),
        user_prompt("second", ImageUrl("https://example.org/a.png")),
        ModelResponse(parts=[ToolCallPart("f", {}, "c1")]),
    ]

    assert last_user_prompt(history) == "second"
    assert first_user_prompt(history) == "first"
    assert last_user_prompt([]) == first_user_prompt([]) == ""


def test_system_parts_are_read_in_order() -> None:
    assert system_text([system_prompt("one"), user_prompt("x"), system_prompt("two")]) == "one\n\ntwo"


def test_thinking_parts_are_left_out_for_readers_and_the_rest_stays() -> None:
    plain = user_prompt("x")
    history = [plain, ModelResponse(parts=[ThinkingPart("R1"), TextPart("said")])]

    read = without_thinking(history)

    assert read[0] is plain
    assert [part.part_kind for part in read[1].parts] == ["text"]


def test_prompts_are_sanitised_when_they_are_made() -> None:
    assert last_user_prompt([user_prompt("ok \ud83d done")]) == "ok \ufffd done"
