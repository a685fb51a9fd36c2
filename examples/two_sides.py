from pydantic_ai.messages import ModelRequest

from planwerk import Agent, AgentConfig, ControlAndDisplayEvent, LLMEvent, UserMessageEvent, step
from planwerk.capabilities import Block, Conversation, ConversationFields
from planwerk.models import Answering, Predicting


class ConsiderSideEvent(ControlAndDisplayEvent):
    question: str
    side: str


class SideConsideredEvent(ControlAndDisplayEvent):
    side: str
    reasons: str


class TwoSidesConfig(ConversationFields, AgentConfig):
    sides: tuple[str, ...] = ("for", "against")


class TwoSides(Agent):
    """Weighs what speaks for and against before it answers."""

    config = TwoSidesConfig

    @step()
    async def begin(self, message: UserMessageEvent) -> Conversation.ContextualizeRequest:
        return Conversation.contextualize(history=message.messages, message=message)

    @step()
    async def divide(self, turn: Conversation.Contextualized, config: TwoSidesConfig) -> list[ConsiderSideEvent]:
        return [ConsiderSideEvent(question=turn.query, side=side) for side in config.sides if turn.needs_context]

    @step()
    async def consider(self, request: ConsiderSideEvent, predicting: Predicting) -> SideConsideredEvent:
        question = ModelRequest.user_text_prompt(f"Two good reasons {request.side}: {request.question}")
        return SideConsideredEvent(side=request.side, reasons=await predicting.text([question]))

    @step()
    async def weigh(
        self, turn: Conversation.Contextualized, sides: list[SideConsideredEvent]
    ) -> Conversation.ComposeRequest:
        blocks = [Block.data(each.reasons, title=f"Reasons {each.side}") for each in sides]
        return Conversation.compose(turn.history, blocks)

    @step()
    async def answer(self, prompt: Conversation.Composed, answering: Answering) -> LLMEvent:
        return await answering.answer(prompt.history)

    @step()
    async def finish(self, answer: LLMEvent) -> Conversation.CompleteRequest:
        return Conversation.complete(answer)
