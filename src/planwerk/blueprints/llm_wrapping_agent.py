"""The plain assistant: a model, and what a conversation needs around it (B1)."""

from __future__ import annotations

from planwerk.blueprints.templates.llm_wrapping_agent import ASSISTANT, WRITING_HELPER
from planwerk.capabilities.conversation import Conversation, ConversationFields
from planwerk.messages.events import LLMEvent, UserMessageEvent
from planwerk.models.answering import Answering
from planwerk.workflow.blueprint import Agent, AgentConfig
from planwerk.workflow.locale_string import LocaleString
from planwerk.workflow.steps import step


class LLMWrappingConfig(ConversationFields, AgentConfig):
    """What a profile of the plain assistant can set."""


class LLMWrappingAgent(Agent):
    """Answers with a language model, in a conversation that it remembers."""

    config = LLMWrappingConfig
    templates = (ASSISTANT, WRITING_HELPER)

    @step(name=LocaleString(en="Begin", de="Beginnen", fr="Commencer", it="Iniziare"))
    async def begin(self, message: UserMessageEvent) -> Conversation.ContextualizeRequest:
        return Conversation.contextualize(history=message.messages, message=message)

    @step(name=LocaleString(en="Gather", de="Sammeln", fr="Rassembler", it="Raccogliere"))
    async def assemble(self, turn: Conversation.Contextualized) -> Conversation.ComposeRequest:
        return Conversation.compose(turn.history)

    @step(name=LocaleString(en="Answer", de="Antworten", fr="Répondre", it="Rispondere"), icon="model")
    async def answer(self, prompt: Conversation.Composed, answering: Answering) -> LLMEvent:
        return await answering.answer(prompt.history)

    @step(name=LocaleString(en="Finish", de="Abschließen", fr="Terminer", it="Concludere"))
    async def finish(self, answer: LLMEvent) -> Conversation.CompleteRequest:
        return Conversation.complete(answer)
