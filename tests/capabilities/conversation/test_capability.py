"""What Conversation shows to blueprints: its names, helpers and events (C1, B1)."""

from __future__ import annotations

import pytest
from tests.capabilities.conversation.conversing import answered, message

from planwerk.capabilities.conversation import Conversation, ConversationFields
from planwerk.capabilities.conversation import events as conversation_events
from planwerk.locales import LOCALES
from planwerk.messages.prompts import user_prompt
from planwerk.workflow.events import ControlAndDisplayEvent, Event
from planwerk.workflow.steps import StepSpec

EVENTS = [
    value
    for value in vars(conversation_events).values()
    if isinstance(value, type) and issubclass(value, Event) and value.__module__ == conversation_events.__name__
]


def test_its_requests_and_outcomes_have_scoped_names() -> None:
    assert Conversation.requests() == (
        Conversation.ContextualizeRequest,
        Conversation.ComposeRequest,
        Conversation.CompleteRequest,
    )
    assert Conversation.outcomes() == (Conversation.Contextualized, Conversation.Composed)
    assert Conversation.config is ConversationFields


def test_requests_and_results_move_the_run_and_are_shown() -> None:
    for event in (*Conversation.requests(), *Conversation.outcomes()):
        assert issubclass(event, ControlAndDisplayEvent)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.__name__)
def test_every_event_has_a_label_in_every_locale_and_an_icon(event: type[Event]) -> None:
    assert sorted(event.label.texts) == sorted(LOCALES)
    assert event.icon


@pytest.mark.parametrize("spec", Conversation.steps(), ids=lambda spec: spec.name)
def test_every_step_has_a_name_in_every_locale_and_an_icon(spec: StepSpec) -> None:
    assert sorted(spec.label.texts) == sorted(LOCALES)
    assert spec.icon


def test_contextualize_carries_the_history_and_the_persons_words() -> None:
    event = message("Which plans?", "Two.", "And prices?")

    request = Conversation.contextualize(history=event.messages, message=event)

    assert (request.history, request.message) == (event.messages, "And prices?")
    assert Conversation.contextualize(event.messages).message is None


def test_compose_takes_a_list_and_complete_an_answer() -> None:
    request = Conversation.compose([user_prompt("Hi")], blocks=[])

    assert (len(request.history), request.blocks) == (1, ())
    assert Conversation.complete(answered()).stop is None


def test_a_second_use_has_events_of_its_own() -> None:
    class SecondConversation(Conversation):
        """Second."""

    request = SecondConversation.contextualize(message("Hi").messages)

    assert type(request).__name__ == "SecondConversationContextualizeConversationEvent"
    assert isinstance(request, Conversation.ContextualizeRequest)
