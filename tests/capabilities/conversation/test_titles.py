"""A thread gets its title once, beside the answer (C1.1, CAP-03)."""

from __future__ import annotations

import pytest
from tests.capabilities.conversation.conversing import PlayedModel, Surroundings, message

from planwerk.capabilities.conversation.events import MessageClearedEvent, MetaQuestionAskedEvent
from planwerk.capabilities.conversation.gate import GateLabel
from planwerk.messages.events import TitleSuggestedEvent
from planwerk.models.errors import ModelUnreachable
from planwerk.runtime.run_info import RunInfo
from planwerk.workflow.steps import spec_of

TRIP = "Plan a trip to Oslo in May"
UNTITLED = RunInfo(run="run", name="Helper", titled=False)
TITLED = RunInfo(run="run", name="Helper", titled=True)


async def title(around: Surroundings, *words: str, kind: GateLabel = GateLabel.NORMAL) -> TitleSuggestedEvent | None:
    history = message(*words).messages
    cleared = MetaQuestionAskedEvent if kind.is_meta else MessageClearedEvent
    return await around.steps.suggest_title(
        cleared(history=history, kind=kind), around.model.predicting, around.locale, around.info
    )


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('<think>User wants a trip\n</think>\n\n"Trip to Oslo"\n', "Trip to Oslo"),
        ("Title: **Trip to Oslo**", "Trip to Oslo"),
        ("<think>User wants a", TRIP),
        ("", TRIP),
    ],
)
async def test_the_title_is_clean_whatever_the_model_wrote(answer: str, expected: str) -> None:
    suggested = await title(Surroundings(PlayedModel(title=answer)), TRIP)

    assert suggested == TitleSuggestedEvent(title=expected)


async def test_the_message_is_quoted_to_the_model_that_names_it() -> None:
    around = Surroundings(PlayedModel(title="Trip"))

    await title(around, TRIP)

    assert around.model.asked("title")[1] == [f"<message>\n{TRIP}\n</message>"]


async def test_a_thread_that_has_a_title_is_not_named_again() -> None:
    around = Surroundings(PlayedModel(title="Trip"), info=TITLED)

    assert await title(around, TRIP) is None
    assert around.model.tasks == []


async def test_a_thread_without_a_title_is_named_in_a_later_turn() -> None:
    around = Surroundings(PlayedModel(title="Trip"), info=UNTITLED)

    assert await title(around, "Hi", "Hello!", TRIP) == TitleSuggestedEvent(title="Trip")


async def test_where_nothing_is_known_of_the_thread_its_first_turn_is_named() -> None:
    assert await title(Surroundings(PlayedModel(title="Trip")), TRIP) == TitleSuggestedEvent(title="Trip")
    assert await title(Surroundings(PlayedModel(title="Trip")), "Hi", "Hello!", TRIP) is None


async def test_a_greeting_does_not_name_a_thread_that_a_question_can_name_later() -> None:
    around = Surroundings(PlayedModel(title="Greeting"), info=UNTITLED)

    assert await title(around, "Hi", kind=GateLabel.SMALL_TALK) is None


async def test_a_question_about_the_assistant_names_its_thread_too() -> None:
    around = Surroundings(PlayedModel(title="About you"), info=UNTITLED)

    assert await title(around, "Who are you?", kind=GateLabel.IDENTITY) == TitleSuggestedEvent(title="About you")


async def test_a_message_without_words_gets_no_title() -> None:
    assert await title(Surroundings(PlayedModel(title="Nothing")), " \n") is None


async def test_a_title_that_fails_is_left_to_the_run_which_goes_on() -> None:
    around = Surroundings(PlayedModel(title=ModelUnreachable("test:played")))

    with pytest.raises(ModelUnreachable):
        await title(around, TRIP)

    spec = spec_of(around.steps.suggest_title)
    assert spec is not None
    assert spec.stop_on_error is False
