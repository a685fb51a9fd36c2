"""A help desk that remembers who asks: `planwerk serve examples/helpdesk.py`."""

from planwerk import Agent, AgentConfig, LLMEvent, UserMessageEvent, step
from planwerk.capabilities import Conversation, ConversationFields, Memory, MemoryFields
from planwerk.models import Answering


class HelpdeskConfig(ConversationFields, MemoryFields, AgentConfig):
    """The profile's form: the mixins of the capabilities it calls, then its own fields."""


class Helpdesk(Agent):
    """Answers employees' questions with what it remembers about them."""

    config = HelpdeskConfig

    @step()
    async def begin(self, message: UserMessageEvent) -> Conversation.ContextualizeRequest:
        return Conversation.contextualize(history=message.messages, message=message)

    @step()
    async def gather(self, turn: Conversation.Contextualized) -> Memory.RecallRequest:
        return Memory.recall(turn.query, turn.literal)

    @step()
    async def assemble(self, turn: Conversation.Contextualized, memory: Memory.Recalled) -> Conversation.ComposeRequest:
        return Conversation.compose(turn.history, blocks=memory.blocks)

    @step()
    async def answer(self, prompt: Conversation.Composed, answering: Answering) -> LLMEvent:
        return await answering.answer(prompt.history)

    @step()
    async def finish(
        self, turn: Conversation.Contextualized, answer: LLMEvent
    ) -> list[Memory.RememberRequest | Conversation.CompleteRequest]:
        return [Memory.remember(turn.query, answer), Conversation.complete(answer)]
