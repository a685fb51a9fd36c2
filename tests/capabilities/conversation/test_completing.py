"""The end of a turn: follow-ups as well as it goes, then the stop (C1.3)."""

from __future__ import annotations

import pytest
from tests.capabilities.conversation.conversing import PlayedModel, Surroundings, answered, message

from planwerk.capabilities.conversation import Conversation
from planwerk.capabilities.conversation.events import CompleteConversationEvent
from planwerk.messages.events import (
    FollowUpsSuggestedEvent,
    LLMStopEvent,
    RefusalReason,
    RefusalStopEvent,
    UserMessageEvent,
)
from planwerk.models.errors import ModelUnreachable
from planwerk.workflow.codec import read_event, write_event
from planwerk.workflow.events import StepWarningEvent, StopEvent, UnknownEvent

REFUSAL = RefusalStopEvent(reason=RefusalReason.UNSUITABLE, text="No.")


async def end(
    around: Surroundings, request: CompleteConversationEvent, start: UserMessageEvent | None = None
) -> StopEvent:
    return await around.steps.end_turn(request, around.model.predicting, around.locale, around.shown, start)


@pytest.mark.parametrize(("given", "stop"), [(None, LLMStopEvent(answer=answered())), (REFUSAL, REFUSAL)])
async def test_the_run_ends_with_the_given_stop_else_with_the_answer_and_follow_ups_both_times(
    given: StopEvent | None, stop: StopEvent
) -> None:
    around = Surroundings(PlayedModel(follow_ups="How do I upgrade?\nCan I cancel?"))

    ended = await end(around, Conversation.complete(answered(), given))

    assert ended.same_as(stop)
    assert around.shown.events == [FollowUpsSuggestedEvent(questions=("How do I upgrade?", "Can I cancel?"))]


async def test_follow_ups_are_made_from_the_answer_and_what_was_asked() -> None:
    around = Surroundings(PlayedModel(follow_ups="How do I upgrade?"))

    await end(around, Conversation.complete(answered("Pro costs 49.")), message("what does the second cost?"))

    _, [quoted] = around.model.asked("follow_ups")
    assert quoted == "<message>\nwhat does the second cost?\n</message>\n\n<answer>\nPro costs 49.\n</answer>"


async def test_follow_ups_that_fail_do_not_fail_the_turn() -> None:
    around = Surroundings(PlayedModel(follow_ups=ModelUnreachable("test:played", "refused")))

    stop = await end(around, Conversation.complete(answered()))

    assert isinstance(stop, LLMStopEvent)
    [warning] = around.shown.of(StepWarningEvent)
    assert (warning.step, warning.code) == ("Conversation.end_turn", "model_unreachable")
    assert warning.message == (
        "No follow-up questions could be suggested (The model test:played cannot be reached: refused)."
    )


@pytest.mark.parametrize("answer", ["", "-", "I cannot think of any."])
async def test_without_follow_ups_nothing_is_shown(answer: str) -> None:
    around = Surroundings(PlayedModel(follow_ups=answer))

    await end(around, Conversation.complete(answered()))

    assert around.shown.events == []


async def test_an_answer_without_words_asks_for_no_follow_ups() -> None:
    around = Surroundings(PlayedModel(follow_ups="How?"))

    await end(around, Conversation.complete(answered("")))

    assert around.model.tasks == []


@pytest.mark.parametrize("stop", [None, REFUSAL, LLMStopEvent(answer=answered())])
def test_a_given_stop_is_read_back_as_what_it_was(stop: StopEvent | None) -> None:
    request = Conversation.complete(answered(), stop)

    back = read_event(write_event(request))

    assert isinstance(back, CompleteConversationEvent)
    assert type(back.stop) is type(stop)
    assert back.same_as(request)


def test_a_run_is_not_ended_with_an_event_that_is_no_stop() -> None:
    written = write_event(Conversation.complete(answered()))
    written["stop"] = write_event(FollowUpsSuggestedEvent(questions=()))

    assert isinstance(read_event(written), UnknownEvent)
    fields = {name: value for name, value in written.items() if name not in {"type", "family"}}
    with pytest.raises(ValueError, match="FollowUpsSuggestedEvent"):
        CompleteConversationEvent.model_validate(fields)
