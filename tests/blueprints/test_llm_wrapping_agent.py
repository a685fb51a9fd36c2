"""The plain assistant, run whole (B1, C1)."""

from __future__ import annotations

import asyncio

import pytest
from tests.blueprints.chatting import Chat, chat
from tests.capabilities.conversation.conversing import PlayedModel, message

from planwerk.blueprints.llm_wrapping_agent import LLMWrappingAgent, LLMWrappingConfig
from planwerk.capabilities import Conversation
from planwerk.capabilities.conversation.events import MessageClearedEvent
from planwerk.messages.events import (
    FollowUpsSuggestedEvent,
    LLMEvent,
    LLMStopEvent,
    RefusalReason,
    RefusalStopEvent,
    TitleSuggestedEvent,
)
from planwerk.messages.prompts import last_user_prompt, system_text
from planwerk.models.errors import ModelUnreachable
from planwerk.workflow.blueprint import ProfileTemplate
from planwerk.workflow.events import ExceptionEvent, StepWarningEvent
from planwerk.workflow.steps import step


def played(**answers: str | Exception) -> PlayedModel:
    return PlayedModel({"title": "Prices of plans", "follow_ups": "How do I upgrade?", **answers})


async def ask(model: PlayedModel, *words: str, **config: object) -> Chat:
    settings = LLMWrappingConfig.model_validate(config)
    return await chat(LLMWrappingAgent, message(*words), model, config=settings)


def test_nothing_is_wrong_with_it() -> None:
    assert LLMWrappingAgent.find_problems() == []


def test_it_has_four_steps_and_calls_the_conversation_alone() -> None:
    graph = LLMWrappingAgent.graph()

    assert [spec.name for spec in LLMWrappingAgent.steps()] == ["begin", "assemble", "answer", "finish"]
    assert [group.id for group in graph.groups] == ["Conversation"]


async def test_a_question_is_answered_with_title_and_follow_ups() -> None:
    run = await ask(played(), "What does Pro cost?")

    assert isinstance(run.stop, LLMStopEvent)
    assert run.stop.answer.text == "Pro costs 49."
    assert run.of(TitleSuggestedEvent) == [TitleSuggestedEvent(title="Prices of plans")]
    assert run.of(FollowUpsSuggestedEvent) == [FollowUpsSuggestedEvent(questions=("How do I upgrade?",))]
    assert run.of(StepWarningEvent) == []


async def test_the_prompt_is_shown_exactly_as_the_model_receives_it() -> None:
    model = played()

    run = await ask(model, "Which plans?", "Two.", "And prices?", system_prompt="Be kind.")

    [composed] = run.of(Conversation.Composed)
    [received] = [messages for task, messages in model.requests if task == "answer"]
    assert list(composed.history) == received
    assert system_text(received) == "Be kind."
    assert last_user_prompt(received) == "And prices?"


async def test_nothing_behind_the_gate_exists_before_it_has_cleared_the_message() -> None:
    run = await ask(played(), "What does Pro cost?")

    cleared = run.events.index(run.of(MessageClearedEvent)[0])
    assert run.steps[:2] == ("begin", "Conversation.gate")
    assert not any(isinstance(event, TitleSuggestedEvent) for event in run.events[:cleared])


async def test_the_title_is_made_beside_the_answer() -> None:
    model = Meeting("title", "answer")

    run = await asyncio.wait_for(ask(model, "What does Pro cost?"), 5)

    assert isinstance(run.stop, LLMStopEvent)
    assert [event.title for event in run.of(TitleSuggestedEvent)] == ["Prices of plans"]


async def test_a_question_about_the_assistant_is_answered_with_title_beside_it_and_follow_ups() -> None:
    model = Meeting("title", "answer", gate="abilities")

    run = await asyncio.wait_for(ask(model, "What can you do?"), 5)

    assert isinstance(run.stop, LLMStopEvent)
    assert "Name: Assistant\nDescription: Answers questions." in model.asked("answer")[0]
    assert "Begin → Gather → Answer → Finish" in model.asked("answer")[0]
    assert run.of(Conversation.Contextualized) == []
    assert [event.title for event in run.of(TitleSuggestedEvent)] == ["Prices of plans"]
    assert [event.questions for event in run.of(FollowUpsSuggestedEvent)] == [("How do I upgrade?",)]


@pytest.mark.parametrize("words", ["Hi", "thanks!", "ok 👍", "Спасибо"])
async def test_small_talk_is_answered_without_looking_anything_up(words: str) -> None:
    model = played(gate="small_talk", answer="You are welcome.")

    run = await ask(model, words)

    [turn] = run.of(Conversation.Contextualized)
    assert (turn.needs_context, turn.query, turn.literal) == (False, "", words)
    assert isinstance(run.stop, LLMStopEvent)
    assert model.asked("answer") == ("", [words])


async def test_a_message_too_large_for_the_profile_is_refused() -> None:
    run = await ask(played(), "word " * 100, number_of_input_tokens=50)

    assert isinstance(run.stop, RefusalStopEvent)
    assert run.stop.reason is RefusalReason.INPUT_TOO_LARGE


async def test_a_condensed_question_searches_and_the_persons_words_end_the_prompt() -> None:
    model = played(condense="The Pro plan costs 49 euros.")

    run = await ask(model, "Which plans exist?", "Basic and Pro.", "what does the second cost?", condense_question=True)

    [turn] = run.of(Conversation.Contextualized)
    assert (turn.query, turn.literal) == ("The Pro plan costs 49 euros.", "what does the second cost?")
    assert model.asked("answer")[1][-1] == "what does the second cost?"


async def test_a_blank_condensation_ends_the_run_with_a_refusal() -> None:
    run = await ask(played(condense=""), "And?", condense_question=True)

    assert isinstance(run.stop, RefusalStopEvent)
    assert run.stop.reason is RefusalReason.CONDENSATION_EMPTY


async def test_small_tasks_that_fail_leave_the_answer_whole() -> None:
    down = ModelUnreachable("test:played", "refused")
    model = played(gate=down, title=down, follow_ups=down)

    run = await ask(model, "What does Pro cost?")

    assert isinstance(run.stop, LLMStopEvent)
    warned = {warning.step for warning in run.of(StepWarningEvent)}
    assert warned == {"Conversation.gate", "Conversation.suggest_title", "Conversation.end_turn"}


async def test_a_model_that_cannot_be_reached_ends_the_run_with_its_code() -> None:
    run = await ask(played(answer=ModelUnreachable("test:played", "refused")), "What does Pro cost?")

    assert isinstance(run.stop, ExceptionEvent)
    assert (run.stop.code, run.stop.step) == ("model_unreachable", "answer")


def test_its_default_profile_is_the_assistant_in_every_locale() -> None:
    [default] = [template for template in LLMWrappingAgent.templates if template.is_default]

    assert default.name.text("en") == "Assistant"
    assert LLMWrappingAgent.templates[0] is default


@pytest.mark.parametrize("template", LLMWrappingAgent.templates, ids=lambda template: template.name.text("en"))
@pytest.mark.parametrize("locale", ["en", "de", "fr", "it"])
def test_a_template_is_whole_in_every_locale(template: ProfileTemplate, locale: str) -> None:
    texts = [template.name, template.description, *template.starters]

    assert all(locale in text.texts for text in texts)
    assert len(template.starters) >= 3
    assert LLMWrappingConfig.model_validate(template.config) is not None


class Meeting(PlayedModel):
    """Lets two tasks end only when both have begun."""

    def __init__(self, *tasks: str, **answers: str | Exception) -> None:
        super().__init__({"title": "Prices of plans", "follow_ups": "How do I upgrade?", **answers})
        self._awaited = set(tasks)
        self._met = asyncio.Event()

    async def arrive(self, task: str) -> None:
        self._awaited.discard(task)
        if not self._awaited:
            self._met.set()
        if task in {"title", "answer"}:
            await self._met.wait()


class DecliningAgent(LLMWrappingAgent):
    """Ends its turns with a stop of its own."""

    @step()
    async def finish(self, answer: LLMEvent) -> Conversation.CompleteRequest:
        return Conversation.complete(answer, RefusalStopEvent(reason=RefusalReason.UNSUITABLE, text=answer.text))


async def test_a_blueprint_can_end_a_turn_with_a_stop_of_its_own() -> None:
    run = await chat(DecliningAgent, message("What does Pro cost?"), played())

    assert run.stop.same_as(RefusalStopEvent(reason=RefusalReason.UNSUITABLE, text="Pro costs 49."))
    assert len(run.of(FollowUpsSuggestedEvent)) == 1
    assert DecliningAgent.find_problems() == []


@pytest.mark.parametrize("blueprint", [LLMWrappingAgent, DecliningAgent])
def test_the_graph_names_the_stops_it_can_end_with(blueprint: type[LLMWrappingAgent]) -> None:
    stops = {node.step for node in blueprint.graph().nodes if node.kind == "stop"}

    assert stops == {"LLMStopEvent", "RefusalStopEvent"}
