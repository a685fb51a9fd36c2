from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryContent,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from planwerk.messages.prompts import user_prompt
from planwerk.messages.tokens import (
    TOKENS_PER_FILE,
    cut_to_tokens,
    estimate_history_tokens,
    estimate_message_tokens,
    estimate_tokens,
)


@pytest.mark.parametrize(
    "text", ["资料" * 50, "한" * 100, "😀" * 100, "かな" * 50], ids=["Han", "Hangul", "emoji", "kana"]
)
def test_a_hundred_characters_of_these_scripts_are_at_least_a_hundred_tokens(text: str) -> None:
    assert estimate_tokens(text) >= 100


def test_a_hundred_letters_are_about_twenty_five_tokens() -> None:
    assert 25 <= estimate_tokens("a" * 100) <= 28


# Counted with o200k_base and cl100k_base; the larger of both.
COUNTED = {
    "Planwerk is a Python platform for conversational agents that an organisation can trust.": 16,
    'def f(x: int) -> int:\n    return {"a": [1, 2, 3]}[x]\n': 25,
    '{"id":17,"name":"user 17","ok":true,"score":23.29}': 20,
    "Die Verständnisfragen der Bürgerinnen und Bürger werden größtenteils schriftlich beantwortet.": 26,
    "Россия является крупнейшим государством мира": 22,
    "日本国は、東アジアに位置する民主制国家。": 22,
    "4f9a1c0be27d4f9a1c0be27d": 17,
}


@pytest.mark.parametrize("text", COUNTED)
def test_the_estimate_is_not_far_below_what_tokenizers_count(text: str) -> None:
    assert estimate_tokens(text) >= 0.9 * COUNTED[text]
    assert estimate_tokens(text) <= 2 * COUNTED[text]


@given(st.text(), st.text())
def test_a_longer_text_never_has_fewer_tokens(text: str, more: str) -> None:
    assert estimate_tokens(text) <= estimate_tokens(text + more) + 1  # a lone blank counts less inside a line


@given(st.text(), st.integers(0, 60))
def test_a_cut_text_fits_and_is_the_beginning_in_whole_characters(text: str, tokens: int) -> None:
    cut = cut_to_tokens(text, tokens)

    assert text.startswith(cut)
    assert estimate_tokens(cut) <= tokens


def test_a_text_that_fits_is_not_cut_and_one_that_does_not_is_cut_between_characters() -> None:
    assert cut_to_tokens("a" * 100, 60) == "a" * 100
    assert cut_to_tokens("资料" * 50, 60) == "资料" * 30


def test_calls_results_thinking_files_and_instructions_count() -> None:
    plain = estimate_message_tokens(user_prompt("word"))

    assert estimate_message_tokens(ModelRequest(parts=[UserPromptPart("word")], instructions="word " * 50)) > plain + 45
    assert estimate_message_tokens(ModelResponse(parts=[ToolCallPart("f", {"text": "word " * 50}, "c")])) > 50
    assert estimate_message_tokens(ModelRequest(parts=[ToolReturnPart("f", {"rows": ["资料" * 50]}, "c")])) > 100
    assert estimate_message_tokens(ModelResponse(parts=[ThinkingPart("资" * 40), TextPart("x")])) > 40
    picture = BinaryContent(b"\x00", media_type="image/png")
    assert estimate_message_tokens(user_prompt("word", picture)) >= TOKENS_PER_FILE
    note = BinaryContent(("word " * 300).encode(), media_type="text/plain")
    assert 250 < estimate_message_tokens(user_prompt("word", note)) < 500


def test_a_history_is_the_sum_of_its_messages() -> None:
    history = [user_prompt("one"), ModelResponse(parts=[TextPart("two")]), user_prompt("three")]

    assert estimate_history_tokens(history) == sum(map(estimate_message_tokens, history))
