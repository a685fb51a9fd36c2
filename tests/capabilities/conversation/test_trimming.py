"""What gives way when a prompt is too large, and what never does (C1.2)."""

from __future__ import annotations

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from planwerk.capabilities.conversation.trimming import Fitted, fit
from planwerk.messages.blocks import Block
from planwerk.messages.prompts import assistant_message, prompt_text, system_prompt, user_prompt
from planwerk.messages.tokens import estimate_history_tokens, estimate_tokens

PLENTY = 100_000


def fitted(
    history: list[ModelMessage], budget: int = PLENTY, *, head: str = "", blocks: list[Block] | None = None
) -> Fitted:
    found = fit(history, budget, head=head, blocks=blocks or [])
    assert found is not None
    return found


def texts(history: tuple[ModelMessage, ...]) -> list[str]:
    """Every part with text, with its role, in order."""
    found: list[str] = []
    for message in history:
        for part in message.parts:
            match part:
                case SystemPromptPart():
                    found.append(f"system: {part.content}")
                case UserPromptPart():
                    found.append(f"user: {prompt_text(part)}")
                case TextPart():
                    found.append(f"assistant: {part.content}")
                case ToolCallPart():
                    found.append(f"call: {part.tool_call_id}")
                case ToolReturnPart():
                    found.append(f"result: {part.tool_call_id}")
                case _:
                    raise AssertionError(part)
    return found


def turn(question: str, answer: str) -> list[ModelMessage]:
    return [user_prompt(question), assistant_message(answer)]


def call(identity: str) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart("look_up", {"what": "plans"}, tool_call_id=identity)])


def result(identity: str, content: str = "two plans") -> ModelRequest:
    return ModelRequest(parts=[ToolReturnPart("look_up", content, tool_call_id=identity)])


def test_head_and_instructions_are_one_system_part_and_data_one_user_part_before_the_question() -> None:
    history = [system_prompt("Of the client."), *turn("Which plans?", "Two."), user_prompt("What does it cost?")]
    blocks = [
        Block.data("Basic costs 9.", title="Prices", note="Cite prices."),
        Block.instruction("Be brief."),
        Block.data("Pro costs 49."),
    ]

    prompt = fitted(history, head="Of the profile.", blocks=blocks)

    assert texts(prompt.history) == [
        "system: Of the profile.\n\nOf the client.\n\nCite prices.\n\nBe brief.",
        "user: Which plans?",
        "assistant: Two.",
        'user: <data title="Prices">\nBasic costs 9.\n</data>\n\n<data>\nPro costs 49.\n</data>',
        "user: What does it cost?",
    ]
    assert prompt.head == "Of the profile.\n\nOf the client."


def test_blocks_that_are_all_blank_leave_the_history_as_it_was() -> None:
    history = [
        ModelRequest(parts=[SystemPromptPart("Be kind."), UserPromptPart("Which plans?")]),
        assistant_message("Two."),
        user_prompt("And prices?"),
    ]

    prompt = fitted(history, blocks=[Block.data("  \n"), Block.instruction("")])

    assert list(prompt.history) == history


def test_two_messages_of_one_role_in_a_row_become_one() -> None:
    history = [
        user_prompt("Hello."),
        user_prompt("Which plans?"),
        assistant_message("Two."),
        assistant_message("Or so."),
    ]

    prompt = fitted([*history, user_prompt("Which?")])

    assert [type(message) for message in prompt.history] == [ModelRequest, ModelResponse, ModelRequest]
    assert texts(prompt.history)[:2] == ["user: Hello.", "user: Which plans?"]


def test_the_oldest_turns_go_first_and_the_blocks_stay() -> None:
    history = [*turn("one " * 50, "1"), *turn("two " * 50, "2"), user_prompt("three")]
    block = Block.data("data " * 40, title="Facts")

    prompt = fitted(history, 180, blocks=[block])

    assert [text.split()[1] for text in texts(prompt.history) if text.startswith("user")] == ["two", "<data", "three"]
    assert prompt.left_out_blocks == ()
    assert prompt.left_out_messages == 2


def test_one_turn_that_is_too_long_goes_with_all_before_it() -> None:
    history = [*turn("small", "1"), *turn("large " * 500, "2"), *turn("recent", "3"), user_prompt("now")]

    prompt = fitted(history, 100)

    assert texts(prompt.history) == ["user: recent", "assistant: 3", "user: now"]


def test_blocks_give_way_after_all_turns_first_given_first_with_their_notes() -> None:
    history = [*turn("before", "yes"), user_prompt("now")]
    first = Block.data("first " * 30, title="First", note="Note of the first.")
    second = Block.data("second " * 30, title="Second", note="Note of the second.")

    prompt = fitted(history, 120, blocks=[first, second])

    said = "\n".join(texts(prompt.history))
    assert prompt.left_out_blocks == (first,)
    assert "Note of the first" not in said
    assert "Note of the second" in said
    assert "before" not in said


def test_a_tiny_budget_leaves_head_and_question() -> None:
    history = [*turn("before " * 20, "yes"), user_prompt("now")]

    prompt = fitted(history, 25, head="Be kind.", blocks=[Block.data("facts " * 50), Block.instruction("rule " * 50)])

    assert texts(prompt.history) == ["system: Be kind.", "user: now"]


def test_instructions_alone_are_limited_too() -> None:
    history = [*turn("before " * 40, "yes"), user_prompt("now")]

    prompt = fitted(history, 70, blocks=[Block.instruction("rule " * 40)])

    assert [text.split(":")[0] for text in texts(prompt.history)] == ["system", "user"]
    assert prompt.tokens <= 70


@pytest.mark.parametrize(("head", "question"), [("rule " * 50, "now"), ("", "word " * 50)])
def test_there_is_no_prompt_when_head_and_question_do_not_fit(head: str, question: str) -> None:
    assert fit([user_prompt(question)], 40, head=head) is None


def test_calls_leave_together_with_their_results() -> None:
    history = [user_prompt("one"), call("a"), result("a", "long " * 60), assistant_message("1"), user_prompt("two")]

    prompt = fitted(history, 40)

    assert texts(prompt.history) == ["user: two"]


def test_a_result_that_came_after_the_next_message_leaves_with_its_call() -> None:
    history = [user_prompt("one " * 60), call("a"), user_prompt("two"), result("a"), user_prompt("now")]

    prompt = fitted(history, 40)

    assert texts(prompt.history) == ["user: now"]


def test_a_result_in_one_message_with_the_question_leaves_without_it() -> None:
    late = ModelRequest(parts=[ToolReturnPart("look_up", "two plans", tool_call_id="a"), UserPromptPart("now")])

    prompt = fitted([user_prompt("one " * 60), call("a"), late], 40)

    assert texts(prompt.history) == ["user: now"]


def test_exchanges_of_the_present_turn_leave_after_the_turns_before_it() -> None:
    present = [user_prompt("now"), call("a"), result("a", "old " * 40), call("b"), result("b", "new " * 10)]

    prompt = fitted([*turn("before", "yes"), *present], 60)

    assert texts(prompt.history) == ["user: now", "call: b", "result: b"]


def test_ids_that_a_model_uses_again_do_not_tie_turns_together() -> None:
    history = [
        user_prompt("one " * 60),
        call("call_1"),
        result("call_1"),
        assistant_message("1"),
        user_prompt("two"),
        call("call_1"),
        result("call_1"),
        assistant_message("2"),
        user_prompt("now"),
    ]

    prompt = fitted(history, 80)

    assert texts(prompt.history) == ["user: two", "call: call_1", "result: call_1", "assistant: 2", "user: now"]


def test_a_call_without_result_and_a_result_without_call_are_left_out() -> None:
    answer = ModelResponse(parts=[TextPart("I look it up."), ToolCallPart("look_up", {}, tool_call_id="a")])
    history = [user_prompt("one"), answer, result("of nobody"), user_prompt("now")]

    prompt = fitted(history)

    assert texts(prompt.history) == ["user: one", "assistant: I look it up.", "user: now"]


def test_data_goes_last_where_nobody_asked() -> None:
    prompt = fitted([], head="Be kind.", blocks=[Block.data("Basic costs 9.")])

    assert texts(prompt.history) == ["system: Be kind.", "user: <data>\nBasic costs 9.\n</data>"]


def test_text_of_every_script_is_counted_and_left_out_whole() -> None:
    chinese, hangul, emoji, letters = "资料" * 50, "한" * 100, "😀" * 100, "a" * 100
    blocks = [Block.data(text, title="t") for text in (chinese, hangul, emoji, letters)]

    prompt = fitted([user_prompt("hi")], 54, blocks=blocks)

    assert [estimate_tokens(text) >= 100 for text in (chinese, hangul, emoji)] == [True, True, True]
    assert estimate_tokens(letters) == 25
    assert prompt.left_out_blocks == tuple(blocks[:3])
    assert letters in texts(prompt.history)[0]


def test_the_estimate_of_the_prompt_is_told() -> None:
    prompt = fitted([*turn("one", "1"), user_prompt("two")], head="Be kind.", blocks=[Block.data("Facts.")])

    assert prompt.tokens == estimate_history_tokens(prompt.history)


@pytest.mark.parametrize("head", ["", "Be kind."])
@pytest.mark.parametrize(
    "blocks",
    [
        [Block.instruction("Be brief.")],
        [Block.data("Basic costs 9.")],
        [Block.data("Basic costs 9.", title="Prices", note="Cite prices."), Block.instruction("Be brief.")],
    ],
)
@pytest.mark.parametrize("question", [[], [user_prompt("now")]])
def test_every_joint_between_pieces_is_counted(head: str, blocks: list[Block], question: list[ModelMessage]) -> None:
    whole = fitted(question, head=head, blocks=blocks)

    for budget in range(1, whole.tokens + 1):
        prompt = fit(question, budget, head=head, blocks=blocks)
        assert prompt is None or prompt.tokens <= budget
