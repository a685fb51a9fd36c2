"""Answers from a folder of documents, with citations.

planwerk ingest FOLDER --collection Documents --access everyone
planwerk serve examples/rag_over_a_folder.py
"""

from planwerk import Agent, AgentConfig, LLMEvent, UserMessageEvent, step
from planwerk.capabilities import Conversation, ConversationFields, Knowledge, KnowledgeFields
from planwerk.models import Answering


class FolderConfig(ConversationFields, KnowledgeFields, AgentConfig):
    """The profile's form: the mixins of the capabilities it calls, and where it looks by itself."""

    collections: tuple[str, ...] = ("Documents",)


class FolderReader(Agent):
    """Answers questions from the documents of a folder, and says where each answer stands."""

    config = FolderConfig

    @step()
    async def begin(self, message: UserMessageEvent) -> Conversation.ContextualizeRequest:
        return Conversation.contextualize(history=message.messages, message=message)

    @step()
    async def look_up(
        self, message: UserMessageEvent, turn: Conversation.Contextualized, config: FolderConfig
    ) -> Knowledge.SearchRequest:
        return Knowledge.search((*message.knowledge, *config.knowledge_references()), turn.query, turn.literal)

    @step()
    async def assemble(
        self, turn: Conversation.Contextualized, found: Knowledge.Searched
    ) -> Conversation.ComposeRequest:
        return Conversation.compose(turn.history, blocks=[found.block])

    @step()
    async def answer(self, prompt: Conversation.Composed, answering: Answering) -> LLMEvent:
        return await answering.answer(prompt.history)

    @step()
    async def finish(self, answer: LLMEvent) -> Conversation.CompleteRequest:
        return Conversation.complete(answer)
