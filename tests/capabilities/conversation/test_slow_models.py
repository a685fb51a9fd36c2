"""Nobody waits for a small task that hangs: after a while the turn goes on without it."""

from __future__ import annotations

import asyncio

import pytest
from tests.capabilities.conversation.conversing import PlayedModel, Surroundings, answered, message

from planwerk.capabilities import Conversation
from planwerk.capabilities.conversation.degrading import TASK_SECONDS
from planwerk.capabilities.conversation.events import MessageClearedEvent
from planwerk.capabilities.conversation.gate import GateLabel
from planwerk.messages.events import LLMStopEvent
from planwerk.testing.virtual_clock import virtual_time
from planwerk.workflow.events import StepWarningEvent


class HangingModel(PlayedModel):
    """Never answers."""

    async def arrive(self, task: str) -> None:
        await asyncio.Event().wait()


async def test_a_gate_that_hangs_lets_the_message_through_with_a_warning() -> None:
    around = Surroundings(HangingModel())
    event = message("Which plans?")
    request = Conversation.contextualize(event.messages, event)

    with virtual_time() as clock:
        began = clock.now
        cleared = await around.steps.gate(request, around.model.predicting, around.locale, around.shown)

        assert clock.now - began == pytest.approx(TASK_SECONDS, abs=0.1)
    assert cleared == MessageClearedEvent(history=event.messages, kind=GateLabel.NORMAL)
    [warning] = around.shown.of(StepWarningEvent)
    assert (warning.code, "(too slow)" in warning.message) == ("timeout", True)


async def test_a_rewriter_that_hangs_leaves_the_persons_words() -> None:
    around = Surroundings(HangingModel(), condense_question=True)
    cleared = MessageClearedEvent(history=message("Which plans?").messages)

    with virtual_time():
        turn = await around.steps.derive(cleared, around.config, around.model.predicting, around.locale, around.shown)

    assert isinstance(turn, Conversation.Contextualized)
    assert (turn.query, turn.condensed) == ("Which plans?", False)


async def test_follow_ups_that_hang_do_not_hold_up_the_stop() -> None:
    around = Surroundings(HangingModel())

    with virtual_time():
        stop = await around.steps.end_turn(
            Conversation.complete(answered()), around.model.predicting, around.locale, around.shown
        )

    assert isinstance(stop, LLMStopEvent)
    assert [warning.code for warning in around.shown.of(StepWarningEvent)] == ["timeout"]
