"""Laws of fitting: whatever the conversation and the budget, the prompt fits and is one a provider takes (C1.2)."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from planwerk.capabilities.conversation.trimming import fit
from planwerk.messages.blocks import Block
from planwerk.messages.prompts import last_user_prompt
from planwerk.messages.tokens import estimate_history_tokens

WORDS = st.lists(
    st.sampled_from(["plan", "price", "资料", "한국", "😀", "Привет", "a<b>", "\n\n", "1234"]), max_size=40
)
TEXT = WORDS.map(" ".join)
CALL_IDS = st.sampled_from(["call_1", "call_2", "call_3"])
REQUEST_PARTS: st.SearchStrategy[ModelRequestPart] = st.one_of(
    TEXT.map(UserPromptPart),
    TEXT.map(SystemPromptPart),
    st.builds(ToolReturnPart, st.just("look_up"), TEXT, CALL_IDS),
)
RESPONSE_PARTS: st.SearchStrategy[ModelResponsePart] = st.one_of(
    TEXT.map(TextPart), TEXT.map(ThinkingPart), st.builds(ToolCallPart, st.just("look_up"), TEXT, CALL_IDS)
)
MESSAGES: st.SearchStrategy[ModelMessage] = st.one_of(
    st.lists(REQUEST_PARTS, min_size=1, max_size=3).map(lambda parts: ModelRequest(parts=parts)),
    st.lists(RESPONSE_PARTS, min_size=1, max_size=3).map(lambda parts: ModelResponse(parts=parts)),
)
LOOSE = st.lists(MESSAGES, max_size=12)


def _tool_turn(identity: str, words: str, interrupted: bool) -> list[ModelMessage]:
    """A turn with a call; the person may speak again before its result is there."""
    call = ModelResponse(parts=[ToolCallPart("look_up", words, tool_call_id=identity)])
    found = ModelRequest(parts=[ToolReturnPart("look_up", words, tool_call_id=identity)])
    between: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("And?")])] if interrupted else []
    return [ModelRequest(parts=[UserPromptPart(words)]), call, *between, found]


TURNS = st.lists(st.builds(_tool_turn, CALL_IDS, TEXT, st.booleans()), max_size=5).map(
    lambda turns: [message for turn in turns for message in turn]
)
HISTORIES = st.one_of(LOOSE, TURNS, st.tuples(TURNS, LOOSE).map(lambda both: [*both[0], *both[1]]))
BLOCKS = st.lists(
    st.builds(Block, kind=st.sampled_from(["instruction", "data"]), text=TEXT, title=TEXT, note=TEXT), max_size=4
)
BUDGETS = st.one_of(st.integers(1, 120), st.integers(1, 3000), st.just(1_000_000))


def system_of(history: Sequence[ModelMessage]) -> list[str]:
    """Leading system parts, as far as they say anything."""
    found: list[str] = []
    for message in history:
        for part in message.parts:
            if not isinstance(part, SystemPromptPart):
                return found
            found += [part.content] if part.content.strip() else []
    return found


@given(history=HISTORIES, budget=BUDGETS, head=TEXT, blocks=BLOCKS)
def test_a_prompt_is_within_its_budget(
    history: list[ModelMessage], budget: int, head: str, blocks: list[Block]
) -> None:
    prompt = fit(history, budget, head=head, blocks=blocks)

    assert prompt is None or estimate_history_tokens(prompt.history) <= budget


@given(history=HISTORIES, budget=BUDGETS, head=TEXT, blocks=BLOCKS)
def test_head_and_question_are_in_every_prompt_as_they_were(
    history: list[ModelMessage], budget: int, head: str, blocks: list[Block]
) -> None:
    prompt = fit(history, budget, head=head, blocks=blocks)

    if prompt is not None:
        asked = any(isinstance(part, UserPromptPart) for message in history for part in message.parts)
        whole = "\n\n".join([*([head.strip()] if head.strip() else []), *system_of(history)])
        assert not asked or last_user_prompt(prompt.history) == last_user_prompt(history)
        assert "\n\n".join(system_of(prompt.history)).startswith(whole)


@given(history=HISTORIES, head=TEXT, blocks=BLOCKS)
def test_there_is_a_prompt_for_every_conversation_when_there_is_room(
    history: list[ModelMessage], head: str, blocks: list[Block]
) -> None:
    prompt = fit(history, 1_000_000, head=head, blocks=blocks)

    assert prompt is not None
    assert prompt.left_out_blocks == ()
    assert prompt.left_out_messages == 0


@given(history=HISTORIES, lacking=st.integers(0, 12), head=TEXT, blocks=BLOCKS)
def test_a_budget_that_is_just_too_small_is_kept_too(
    history: list[ModelMessage], lacking: int, head: str, blocks: list[Block]
) -> None:
    whole = fit(history, 1_000_000, head=head, blocks=blocks)
    assert whole is not None
    budget = max(1, whole.tokens - lacking)

    prompt = fit(history, budget, head=head, blocks=blocks)

    assert prompt is None or prompt.tokens <= budget


@given(history=HISTORIES, budget=BUDGETS, blocks=BLOCKS)
def test_no_tool_message_is_ever_without_its_other_half(
    history: list[ModelMessage], budget: int, blocks: list[Block]
) -> None:
    prompt = fit(history, budget, blocks=blocks)

    open_calls: list[str] = []
    for message in prompt.history if prompt is not None else ():
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                open_calls.append(part.tool_call_id)
            elif isinstance(part, ToolReturnPart):
                open_calls.remove(part.tool_call_id)
    assert open_calls == []


@given(history=HISTORIES, budget=st.integers(1, 400), blocks=BLOCKS)
def test_blocks_leave_only_when_no_turn_is_left(history: list[ModelMessage], budget: int, blocks: list[Block]) -> None:
    prompt = fit(history, budget, blocks=blocks)

    if prompt is not None and prompt.left_out_blocks:
        parts = [part for message in prompt.history for part in message.parts]
        assert not any(isinstance(part, TextPart | ThinkingPart | ToolCallPart | ToolReturnPart) for part in parts)
        assert sum(isinstance(part, UserPromptPart) for part in parts) <= 2


@given(history=HISTORIES, smaller=st.integers(1, 400), larger=st.integers(1, 400))
def test_more_room_never_leaves_out_more(history: list[ModelMessage], smaller: int, larger: int) -> None:
    smaller, larger = sorted((smaller, larger))
    little, much = fit(history, smaller), fit(history, larger)

    assert little is None or (much is not None and much.left_out_messages <= little.left_out_messages)
