"""From a message to the question behind it (C1.1)."""

from __future__ import annotations

import pytest
from tests.capabilities.conversation.conversing import PlayedModel, Surroundings, message

from planwerk.capabilities.conversation import Conversation
from planwerk.capabilities.conversation.events import (
    ConversationContextualizedEvent,
    MessageClearedEvent,
    MetaQuestionAskedEvent,
    QuestionCondensedEvent,
)
from planwerk.capabilities.conversation.gate import GateLabel
from planwerk.messages.events import RefusalReason, RefusalStopEvent, UserMessageEvent
from planwerk.models.errors import ModelUnreachable
from planwerk.workflow.events import StepWarningEvent

MORE = ("Which plans exist?", "Basic and Pro.", "what does the second cost?")


async def gate(around: Surroundings, event: UserMessageEvent | None) -> MessageClearedEvent | MetaQuestionAskedEvent:
    history = event.messages if event is not None else message(*MORE).messages
    request = Conversation.contextualize(history, event)
    return await around.steps.gate(request, around.model.predicting, around.locale, around.shown)


async def derive(
    around: Surroundings, event: UserMessageEvent, kind: GateLabel = GateLabel.NORMAL
) -> ConversationContextualizedEvent | RefusalStopEvent:
    cleared = MessageClearedEvent(history=event.messages, kind=kind)
    return await around.steps.derive(cleared, around.config, around.model.predicting, around.locale, around.shown)


async def test_a_message_is_sorted_by_one_word_of_the_task_model() -> None:
    around = Surroundings(PlayedModel(gate="small_talk"))

    cleared = await gate(around, message("Hi"))

    assert cleared == MessageClearedEvent(history=cleared.history, kind=GateLabel.SMALL_TALK)
    assert around.model.tasks == ["gate"]


@pytest.mark.parametrize("label", ["identity", "abilities", "behaviour"])
async def test_a_question_about_the_assistant_is_told_apart(label: str) -> None:
    found = await gate(Surroundings(PlayedModel(gate=label)), message("Who are you?"))

    assert found == MetaQuestionAskedEvent(history=found.history, kind=GateLabel(label))


async def test_the_gate_reads_the_conversation_as_a_quotation_and_does_not_take_part() -> None:
    around = Surroundings()

    await gate(around, message(*MORE))

    system, [quoted] = around.model.asked("gate")
    assert "small_talk" in system
    assert quoted == (
        "<conversation>\nPerson: Which plans exist?\nAssistant: Basic and Pro.\n</conversation>\n\n"
        "<message>\nwhat does the second cost?\n</message>"
    )


async def test_an_unreadable_label_is_normal() -> None:
    cleared = await gate(Surroundings(PlayedModel(gate="I would be happy to help!")), message("Help me"))

    assert cleared == MessageClearedEvent(history=cleared.history, kind=GateLabel.NORMAL)


async def test_a_gate_that_fails_lets_the_message_through_with_a_warning() -> None:
    around = Surroundings(PlayedModel(gate=ModelUnreachable("test:played", "refused")), locale="de")

    cleared = await gate(around, message("Which plans exist?"))

    assert cleared == MessageClearedEvent(history=cleared.history, kind=GateLabel.NORMAL)
    [warning] = around.shown.of(StepWarningEvent)
    assert (warning.step, warning.code) == ("Conversation.gate", "model_unreachable")
    assert warning.message.startswith("Die Art der Nachricht ließ sich nicht bestimmen")


async def test_a_programmatic_start_is_cleared_without_a_model_call() -> None:
    around = Surroundings(PlayedModel(gate="identity"))

    cleared = await gate(around, None)

    assert isinstance(cleared, MessageClearedEvent)
    assert around.model.tasks == []


async def test_a_message_without_words_is_cleared_without_a_model_call() -> None:
    around = Surroundings(PlayedModel(gate="identity"))

    cleared = await gate(around, message(" \n"))

    assert isinstance(cleared, MessageClearedEvent)
    assert around.model.tasks == []


async def test_the_gate_is_asked_in_the_locale_of_the_run() -> None:
    around = Surroundings(locale="fr")

    await gate(around, message("Bonjour"))

    assert "salue" in around.model.asked("gate")[0]


async def test_the_query_is_the_last_message_verbatim() -> None:
    around = Surroundings()
    event = message("Which plans exist?", "Basic and Pro.", "  what does\n the second cost? ")

    turn = await derive(around, event)

    assert turn == Conversation.Contextualized(
        history=event.messages,
        query="  what does\n the second cost? ",
        literal="  what does\n the second cost? ",
        condensed=False,
        needs_context=True,
    )
    assert around.model.tasks == []


async def test_a_condensed_question_stands_beside_the_persons_own_words() -> None:
    around = Surroundings(PlayedModel(condense="The Pro plan costs 49 euros."), condense_question=True)
    event = message(*MORE)

    turn = await derive(around, event)

    assert turn == Conversation.Contextualized(
        history=event.messages,
        query="The Pro plan costs 49 euros.",
        literal="what does the second cost?",
        condensed=True,
    )
    assert around.shown.of(QuestionCondensedEvent) == [
        QuestionCondensedEvent(question="The Pro plan costs 49 euros.", literal="what does the second cost?")
    ]


async def test_the_conversation_is_quoted_to_the_rewriter_in_one_user_message() -> None:
    around = Surroundings(PlayedModel(condense="What does Pro cost?"), condense_question=True)

    await derive(around, message(*MORE))

    _, [quoted] = around.model.asked("condense")
    assert "Person: Which plans exist?\nAssistant: Basic and Pro." in quoted
    assert quoted.endswith("<message>\nwhat does the second cost?\n</message>")


@pytest.mark.parametrize("answer", ["", " \n", '""', "<think>what could they mean"])
async def test_a_blank_condensation_is_refused(answer: str) -> None:
    around = Surroundings(PlayedModel(condense=answer), locale="it", condense_question=True)

    refusal = await derive(around, message(*MORE))

    assert isinstance(refusal, RefusalStopEvent)
    assert refusal.reason is RefusalReason.CONDENSATION_EMPTY
    assert refusal.text == "Non ho riconosciuto una domanda nel messaggio. Prova a formularla diversamente."


async def test_a_rewriter_that_fails_leaves_the_persons_words_with_a_warning() -> None:
    around = Surroundings(PlayedModel(condense=ModelUnreachable("test:played")), condense_question=True)

    turn = await derive(around, message(*MORE))

    assert isinstance(turn, Conversation.Contextualized)
    assert (turn.query, turn.condensed) == ("what does the second cost?", False)
    assert [warning.code for warning in around.shown.of(StepWarningEvent)] == ["model_unreachable"]


async def test_small_talk_has_nothing_to_search_for() -> None:
    around = Surroundings(PlayedModel(condense="What is a greeting?"), condense_question=True)
    event = message("Hi")

    turn = await derive(around, event, GateLabel.SMALL_TALK)

    assert turn == Conversation.Contextualized(
        history=event.messages, query="", literal="Hi", condensed=False, needs_context=False
    )
    assert around.model.tasks == []
