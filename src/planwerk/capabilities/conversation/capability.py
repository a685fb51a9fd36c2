"""Conversation: from a person's message to the question behind it, to the prompt, to the end of the turn (C1).

contextualize   gate ─ cleared ─┬─ derive ─ the question        (the outcome)
                  │             └─ suggest_title                 beside everything that follows
                  └ meta question ─┬─ explain ─ conclude         (the run ends)
                                   └─ suggest_title
compose         fit ─ the prompt                                 (the outcome)
complete        end_turn                                         (the run ends)
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import ClassVar

from pydantic import BaseModel
from pydantic_ai.messages import ModelMessage

from planwerk.capabilities.conversation.about import workflow_summary
from planwerk.capabilities.conversation.condensing import read_condensed
from planwerk.capabilities.conversation.degrading import TASK_SECONDS, degraded
from planwerk.capabilities.conversation.events import (
    CompleteConversationEvent,
    ComposePromptEvent,
    ContextualizeConversationEvent,
    ConversationContextualizedEvent,
    MessageClearedEvent,
    MetaQuestionAskedEvent,
    PromptComposedEvent,
    QuestionCondensedEvent,
)
from planwerk.capabilities.conversation.fields import ConversationFields
from planwerk.capabilities.conversation.follow_ups import suggest_follow_ups
from planwerk.capabilities.conversation.gate import GateLabel, read_label
from planwerk.capabilities.conversation.prompts import PROMPTS
from planwerk.capabilities.conversation.quoting import has_answer, quoted_turn, task_prompt
from planwerk.capabilities.conversation.titles import title_from
from planwerk.capabilities.conversation.trimming import fit
from planwerk.locales import texts
from planwerk.messages.blocks import Block
from planwerk.messages.events import (
    LLMEvent,
    LLMStopEvent,
    RefusalReason,
    RefusalStopEvent,
    TitleSuggestedEvent,
    UserMessageEvent,
)
from planwerk.messages.prompts import last_user_prompt
from planwerk.models.answering import Answering
from planwerk.models.budgets import input_budget
from planwerk.models.errors import ModelEmpty, ModelError
from planwerk.models.predicting import Predicting
from planwerk.runtime.displayer import EventDisplayer
from planwerk.runtime.locale_handler import LocaleHandler
from planwerk.runtime.run_info import RunInfo
from planwerk.workflow.capability import Capability
from planwerk.workflow.events import StopEvent
from planwerk.workflow.locale_string import LocaleString
from planwerk.workflow.steps import step


def _name(key: str) -> LocaleString:
    return LocaleString(**texts(key))


class Conversation(Capability):
    """What every turn of a chat needs around its answer."""

    config: ClassVar[type[BaseModel] | None] = ConversationFields

    ContextualizeRequest = ContextualizeConversationEvent
    Contextualized = ConversationContextualizedEvent
    ComposeRequest = ComposePromptEvent
    Composed = PromptComposedEvent
    CompleteRequest = CompleteConversationEvent

    @classmethod
    def contextualize(
        cls, history: Sequence[ModelMessage], message: UserMessageEvent | None = None
    ) -> ContextualizeConversationEvent:
        """Find the question behind the latest message.

        Args:
            history: The conversation, the latest message last.
            message: What a person wrote; without it (a programmatic start) nothing is sorted, and no model asked.
        """
        words = None if message is None else last_user_prompt(message.messages)
        return cls.ContextualizeRequest(history=tuple(history), message=words)

    @classmethod
    def compose(cls, history: Sequence[ModelMessage], blocks: Iterable[Block] = ()) -> ComposePromptEvent:
        """Put history and blocks into a prompt that fits the model."""
        return cls.ComposeRequest(history=tuple(history), blocks=tuple(blocks))

    @classmethod
    def complete(cls, answer: LLMEvent, stop: StopEvent | None = None) -> CompleteConversationEvent:
        """End the turn: suggest follow-up questions, then stop, with the given stop or with the answer."""
        return cls.CompleteRequest(answer=answer, stop=stop)

    @step(name=_name("conversation.steps.gate"), icon="gate")
    async def gate(
        self,
        request: ContextualizeConversationEvent,
        predicting: Predicting,
        locale: LocaleHandler,
        display: EventDisplayer,
    ) -> MessageClearedEvent | MetaQuestionAskedEvent:
        """Sort the message by one word of the task model; in doubt it is a question (C1.1)."""
        history = request.history
        if request.message is None or not request.message.strip():
            return MessageClearedEvent(history=history)
        prompt = task_prompt(PROMPTS.text("gate", locale.locale), quoted_turn(history, request.message))
        try:
            async with asyncio.timeout(TASK_SECONDS):
                label = read_label(await predicting.text(prompt, purpose="gate"))
        except (ModelError, TimeoutError) as error:
            await display.show(degraded("gate", error, locale))
            label = GateLabel.NORMAL
        if label.is_meta:
            return MetaQuestionAskedEvent(history=history, kind=label)
        return MessageClearedEvent(history=history, kind=label)

    @step(
        name=_name("conversation.steps.suggest_title"), icon="title", stop_on_error=False, timeout_seconds=TASK_SECONDS
    )
    async def suggest_title(
        self,
        message: MessageClearedEvent | MetaQuestionAskedEvent,
        predicting: Predicting,
        locale: LocaleHandler,
        info: RunInfo,
    ) -> TitleSuggestedEvent | None:
        """Name the thread, once, beside the answer; a greeting names nothing where a later turn still can (C1.1)."""
        titled = has_answer(message.history) if info.titled is None else info.titled
        words = last_user_prompt(message.history)
        if titled or not words.strip() or (info.titled is False and message.kind is GateLabel.SMALL_TALK):
            return None
        prompt = task_prompt(PROMPTS.text("title", locale.locale), quoted_turn((), words))
        try:
            answer = await predicting.text(prompt, purpose="title")
        except ModelEmpty:
            answer = ""
        title = title_from(answer, words)
        return TitleSuggestedEvent(title=title) if title else None

    @step(name=_name("conversation.steps.derive"), icon="question")
    async def derive(
        self,
        message: MessageClearedEvent,
        config: ConversationFields,
        predicting: Predicting,
        locale: LocaleHandler,
        display: EventDisplayer,
    ) -> ConversationContextualizedEvent | RefusalStopEvent:
        """The question: the words as they are, or one that stands alone; nothing to search for in small talk (C1.1)."""
        history, literal = message.history, last_user_prompt(message.history)
        if message.kind is GateLabel.SMALL_TALK:
            return ConversationContextualizedEvent(history=history, query="", literal=literal, needs_context=False)
        as_written = ConversationContextualizedEvent(history=history, query=literal, literal=literal)
        if not config.condense_question or not literal.strip():
            return as_written
        prompt = task_prompt(PROMPTS.text("condense", locale.locale), quoted_turn(history, literal))
        try:
            async with asyncio.timeout(TASK_SECONDS):
                query = read_condensed(await predicting.text(prompt, purpose="condense"))
        except ModelEmpty:
            query = ""
        except (ModelError, TimeoutError) as error:
            await display.show(degraded("derive", error, locale))
            return as_written
        if not query:
            return _refusal(RefusalReason.CONDENSATION_EMPTY, locale)
        await display.show(QuestionCondensedEvent(question=query, literal=literal))
        return as_written.model_copy(update={"query": query, "condensed": True})

    @step(name=_name("conversation.steps.explain"), icon="model")
    async def explain(
        self,
        question: MetaQuestionAskedEvent,
        config: ConversationFields,
        answering: Answering,
        locale: LocaleHandler,
        info: RunInfo,
    ) -> LLMEvent | RefusalStopEvent:
        """Answer a question about the assistant from its name, its description and its workflow (C1.1)."""
        head = PROMPTS.text(
            "about",
            locale.locale,
            name=info.name,
            description=info.description,
            workflow=workflow_summary(info.graph, locale.locale),
        )
        fitted = fit(question.history, _budget(config, answering), head=head)
        if fitted is None:
            return _refusal(RefusalReason.INPUT_TOO_LARGE, locale)
        return await answering.answer(fitted.history)

    @step(name=_name("conversation.steps.conclude"), icon="done")
    async def conclude(
        self,
        answer: LLMEvent,
        predicting: Predicting,
        locale: LocaleHandler,
        display: EventDisplayer,
        start: UserMessageEvent | None = None,
    ) -> LLMStopEvent:
        """End the run that answered a question about the assistant."""
        await suggest_follow_ups("conclude", answer, start, predicting, locale, display)
        return LLMStopEvent(answer=answer)

    @step(name=_name("conversation.steps.fit"), icon="prompt")
    async def fit(
        self, request: ComposePromptEvent, config: ConversationFields, answering: Answering, locale: LocaleHandler
    ) -> PromptComposedEvent | RefusalStopEvent:
        """Make the prompt; what does not fit gives way, the head and the question never (C1.2)."""
        budget = _budget(config, answering)
        fitted = fit(request.history, budget, head=config.system_prompt, blocks=request.blocks)
        if fitted is None:
            return _refusal(RefusalReason.INPUT_TOO_LARGE, locale)
        return PromptComposedEvent(
            history=fitted.history,
            head_characters=len(fitted.head),
            tokens=fitted.tokens,
            budget_tokens=budget,
            left_out_messages=fitted.left_out_messages,
            left_out_blocks=tuple(block.title for block in fitted.left_out_blocks),
        )

    @step(name=_name("conversation.steps.end_turn"), icon="done")
    async def end_turn(
        self,
        request: CompleteConversationEvent,
        predicting: Predicting,
        locale: LocaleHandler,
        display: EventDisplayer,
        start: UserMessageEvent | None = None,
    ) -> LLMStopEvent | StopEvent:
        """Suggest follow-up questions as well as it goes, then stop as the caller wants (C1.3)."""
        await suggest_follow_ups("end_turn", request.answer, start, predicting, locale, display)
        return request.stop or LLMStopEvent(answer=request.answer)


def _budget(config: ConversationFields, answering: Answering) -> int:
    return input_budget(config.number_of_input_tokens, [answering.context_window])


def _refusal(reason: RefusalReason, locale: LocaleHandler) -> RefusalStopEvent:
    return RefusalStopEvent(reason=reason, text=locale.text(f"refusals.{reason.value}"))
