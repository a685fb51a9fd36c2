"""A writer asks a critic what it thinks of a draft, and writes again.

Run it with `planwerk serve examples/two_agents.py`; each agent has a profile and runs of its own.
"""

from planwerk import Agent, AgentInTheLoop, LLMEvent, LLMStopEvent, UserMessageEvent, step
from planwerk.messages.prompts import assistant_message, user_prompt
from planwerk.models import Answering


class Critic(Agent):
    """Says in one sentence what to do better."""

    @step()
    async def read(self, draft: UserMessageEvent, answering: Answering) -> LLMStopEvent:
        return LLMStopEvent(answer=await answering.answer(draft.messages))


class AskCritic(AgentInTheLoop):
    """What the critic thinks of a draft."""


class Writer(Agent):
    """Writes, lets the critic read it, and writes again."""

    @step()
    async def draft(self, question: UserMessageEvent, answering: Answering) -> LLMEvent:
        return await answering.answer(question.messages)

    @step()
    async def ask(self, draft: LLMEvent) -> AskCritic:
        return AskCritic(blueprint=Critic, message=draft.text, timeout_seconds=120)

    @step()
    async def improve(
        self, question: UserMessageEvent, draft: LLMEvent, critic: AskCritic.Ended, answering: Answering
    ) -> LLMStopEvent:
        history = (*question.messages, assistant_message(draft.text), user_prompt(f"Improve it: {critic.text}"))
        return LLMStopEvent(answer=await answering.answer(history))

    @step()
    async def keep(self, draft: LLMEvent, without: AskCritic.Failed | AskCritic.TimedOut) -> LLMStopEvent:
        return LLMStopEvent(answer=draft)
