"""From history and blocks to the prompt (C1.2)."""

from __future__ import annotations

import pytest
from tests.capabilities.conversation.conversing import PlayedModel, Surroundings, message

from planwerk.capabilities.conversation import Conversation
from planwerk.capabilities.conversation.events import PromptComposedEvent
from planwerk.capabilities.conversation.visibility import without_head
from planwerk.messages.blocks import Block
from planwerk.messages.events import RefusalReason, RefusalStopEvent
from planwerk.messages.prompts import last_user_prompt, system_prompt, system_text, user_prompt
from planwerk.messages.tokens import estimate_history_tokens


async def compose(
    around: Surroundings, *words: str, blocks: tuple[Block, ...] = ()
) -> PromptComposedEvent | RefusalStopEvent:
    request = Conversation.compose(message(*words).messages, blocks)
    return await around.steps.fit(request, around.config, around.model.answering, around.locale)


async def composed(around: Surroundings, *words: str, blocks: tuple[Block, ...] = ()) -> PromptComposedEvent:
    prompt = await compose(around, *words, blocks=blocks)
    assert isinstance(prompt, PromptComposedEvent)
    return prompt


async def test_the_prompt_begins_with_the_profiles_instructions_and_ends_with_the_persons_words() -> None:
    around = Surroundings(system_prompt="Be kind.")

    prompt = await composed(around, "Which plans?", "Two.", "what does the second cost?", blocks=(Block.data("Pro."),))

    assert system_text(prompt.history) == "Be kind."
    assert last_user_prompt(prompt.history) == "what does the second cost?"
    assert prompt.tokens == estimate_history_tokens(prompt.history)


async def test_without_instructions_and_blocks_the_prompt_is_the_history() -> None:
    around = Surroundings()
    request = Conversation.compose(message("Which plans?", "Two.", "And prices?").messages)

    prompt = await around.steps.fit(request, around.config, around.model.answering, around.locale)

    assert isinstance(prompt, PromptComposedEvent)
    assert prompt.history == request.history


@pytest.mark.parametrize(
    ("field", "window", "budget"), [(1000, None, 900), (1000, 600, 540), (1000, 2000, 900), (128_000, 8192, 7372)]
)
async def test_the_budget_is_the_smaller_of_field_and_window_times_the_safety_factor(
    field: int, window: int | None, budget: int
) -> None:
    around = Surroundings(PlayedModel(context_window=window), number_of_input_tokens=field)

    assert (await composed(around, "Hi")).budget_tokens == budget


async def test_what_gave_way_is_told() -> None:
    around = Surroundings(number_of_input_tokens=60)
    blocks = (Block.data("资料" * 50, title="Papers"), Block.data("short", title="Note"))

    prompt = await composed(around, "before " * 60, "yes", "now", blocks=blocks)

    assert prompt.left_out_blocks == ("Papers",)
    assert prompt.left_out_messages == 2


async def test_a_question_that_does_not_fit_is_refused_in_the_locale_of_the_run() -> None:
    around = Surroundings(locale="de", number_of_input_tokens=20)

    refusal = await compose(around, "word " * 100)

    assert refusal == RefusalStopEvent(
        reason=RefusalReason.INPUT_TOO_LARGE,
        text="Die Nachricht ist zu lang für diesen Assistenten. Bitte kürzen oder in mehreren Teilen senden.",
    )


async def test_a_prompt_for_small_talk_says_nothing_of_having_looked_something_up() -> None:
    prompt = await composed(Surroundings(), "Hi")

    assert system_text(prompt.history) == ""


async def test_who_may_not_see_the_profile_is_shown_blocks_and_question_but_not_the_head() -> None:
    around = Surroundings(system_prompt="Secret rules.")
    request = Conversation.compose(
        (system_prompt("Of the client."), user_prompt("now")), (Block.instruction("Be brief."), Block.data("Pro."))
    )
    prompt = await around.steps.fit(request, around.config, around.model.answering, around.locale)
    assert isinstance(prompt, PromptComposedEvent)

    shown = without_head(prompt, "en")

    assert system_text(shown.history) == "(The profile’s instructions are not shown.)\n\nBe brief."
    assert shown.history[1:] == prompt.history[1:]
    assert system_text(prompt.history) == "Secret rules.\n\nOf the client.\n\nBe brief."


async def test_a_prompt_without_a_head_hides_nothing() -> None:
    prompt = await composed(Surroundings(), "now", blocks=(Block.instruction("Be brief."),))

    assert without_head(prompt) == prompt
