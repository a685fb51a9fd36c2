"""A blueprint that recalls and remembers, and what tests of it say often."""

from __future__ import annotations

from typing import Any

from planwerk.access.identity import UserIdentity
from planwerk.capabilities import Conversation, ConversationFields, Memory, MemoryFields
from planwerk.capabilities.memory.events import MemoryWrittenStopEvent
from planwerk.capabilities.memory.ports import MemoryScope, StoredMemory
from planwerk.messages.events import LLMEvent, UserMessageEvent
from planwerk.messages.prompts import assistant_message, last_user_prompt
from planwerk.storage.in_memory.memories import InMemoryMemories
from planwerk.testing.runs import RunResult, run_workflow
from planwerk.workflow.blueprint import Agent, AgentConfig
from planwerk.workflow.events import ControlEvent, StopEvent
from planwerk.workflow.steps import step

ADA = UserIdentity(id="ada", name="Ada")
BEN = UserIdentity(id="ben", name="Ben")
OF_ADA = MemoryScope.of_user("default", "ada")
OF_BEN = MemoryScope.of_user("default", "ben")


class RememberingConfig(ConversationFields, MemoryFields, AgentConfig):
    """Recalls and remembers; `asked_namespaces` is what its blueprint asks for."""

    literal: str | None = None
    asked_namespaces: tuple[str, ...] = ()


class RememberingAnswer(ControlEvent):
    answer: LLMEvent


class RememberingStop(StopEvent):
    recalled: Memory.Recalled


class Remembering(Agent):
    """Recalls what is known, and remembers what is said; its answer is always the same."""

    config = RememberingConfig

    @step()
    async def begin(self, message: UserMessageEvent, config: RememberingConfig) -> Memory.RecallRequest:
        return Memory.recall(last_user_prompt(message.messages), config.literal, config.asked_namespaces)

    @step()
    async def learn(self, message: UserMessageEvent, recalled: Memory.Recalled) -> RememberingAnswer:
        return RememberingAnswer(answer=LLMEvent(response=assistant_message("<think>Hm.</think>I see."), model="m"))

    @step()
    async def remember(self, message: UserMessageEvent, answer: RememberingAnswer) -> Memory.RememberRequest:
        return Memory.remember(last_user_prompt(message.messages), answer.answer)

    @step()
    async def finish(self, recalled: Memory.Recalled, answer: RememberingAnswer) -> Conversation.CompleteRequest:
        return Conversation.complete(answer.answer, stop=RememberingStop(recalled=recalled))


def stored(identity: str, text: str, scope: MemoryScope = OF_ADA, *, at: int = 0) -> StoredMemory:
    return StoredMemory(identity, scope, text, at, at)


async def store_with(*texts: str, scope: MemoryScope = OF_ADA) -> InMemoryMemories:
    """A store with memories `m0`, `m1` and so on."""
    store = InMemoryMemories()
    for place, text in enumerate(texts):
        await store.add(stored(f"m{place}", text, scope, at=place))
    return store


async def say(
    store: InMemoryMemories, words: str, *, user: UserIdentity | None = ADA, model: Any = None, **config: Any
) -> RunResult:
    """A turn of the blueprint, and the writer's run if there is one."""
    settings = RememberingConfig.model_validate(config)
    return await run_workflow(Remembering, words, config=settings, model=model, user=user, memories=store)


def recalled(run: RunResult) -> Memory.Recalled:
    assert isinstance(run.stop, RememberingStop)
    return run.stop.recalled


def written(run: RunResult) -> MemoryWrittenStopEvent:
    """What the writer that the run started did."""
    [writer] = run.detached
    assert isinstance(writer.stop, MemoryWrittenStopEvent)
    return writer.stop


async def texts(store: InMemoryMemories, scope: MemoryScope = OF_ADA) -> list[str]:
    return [memory.text for memory in await store.newest(scope)]
