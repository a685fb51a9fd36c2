from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from planwerk.messages.history import history_json
from planwerk.messages.sanitise import sanitise_json, sanitise_message, sanitise_text

HALF = "ok \ud83d done"
WHOLE = "ok \ufffd done"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HALF, WHOLE),
        ("\udc00", "\ufffd"),
        ("a correct 😀", "a correct 😀"),
        ("written as a pair \ud83d\ude00", "written as a pair 😀"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("plain", "plain"),
        ("", ""),
    ],
)
def test_half_a_character_becomes_a_replacement_character(text: str, expected: str) -> None:
    assert sanitise_text(text) == expected


@given(st.text(alphabet=st.characters(codec=None)))
def test_what_is_sanitised_can_be_encoded_and_stays_as_it_is(text: str) -> None:
    clean = sanitise_text(text)

    clean.encode()
    assert sanitise_text(clean) == clean


@pytest.mark.parametrize(
    "message",
    [
        ModelRequest(parts=[UserPromptPart(HALF)], instructions=HALF),
        ModelRequest(parts=[UserPromptPart([HALF, BinaryContent(b"\xff", media_type="image/png")])]),
        ModelRequest(parts=[ToolReturnPart("f", {"rows": [HALF, {"k" + HALF: (HALF,)}]}, "c1")]),
        ModelResponse(parts=[ThinkingPart(HALF), TextPart(HALF), ToolCallPart("f", {"x": [HALF]}, "c1")]),
        ModelResponse(parts=[ToolCallPart("f", json.dumps({"x": "y"})[:-1] + HALF, "c1")], metadata={"n": HALF}),
    ],
    ids=["prompt", "prompt with a picture", "tool result", "answer", "arguments as text"],
)
def test_a_message_has_no_half_characters_wherever_they_stood(message: ModelMessage) -> None:
    clean = sanitise_message(message)

    text = history_json([clean])

    assert WHOLE in text
    assert "\ud83d" not in text


def test_a_clean_message_is_given_back_as_the_same_object() -> None:
    message = ModelResponse(parts=[TextPart("fine 😀"), ToolCallPart("f", {"a": {"b": [1, "ü"]}}, "c1")])

    assert sanitise_message(message) is message


def test_json_data_keeps_its_shape() -> None:
    data = {"a": [1, True, None, HALF], HALF: {"s": {"x", "y"}}}

    clean = sanitise_json(data)

    assert clean == {"a": [1, True, None, WHOLE], WHOLE: {"s": {"x", "y"}}}
