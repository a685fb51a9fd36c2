"""A conversation's surroundings, played: models that answer by task, a displayer that remembers what it was shown."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import TypeVar

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from planwerk.capabilities.conversation import Conversation, ConversationFields
from planwerk.messages.events import LLMEvent, UserMessageEvent
from planwerk.messages.prompts import assistant_message, prompt_text, system_text, user_prompt
from planwerk.models.answering import Answering
from planwerk.models.predicting import TASK, Predicting
from planwerk.models.resolved import ResolvedModel
from planwerk.runtime.displayer import EventDisplayer
from planwerk.runtime.locale_handler import LocaleHandler
from planwerk.runtime.run_info import RunInfo
from planwerk.workflow.events import DisplayEvent

EventT = TypeVar("EventT", bound=DisplayEvent)


class Shown(EventDisplayer):
    """Remembers what was shown."""

    def __init__(self) -> None:
        self.events: list[DisplayEvent] = []

    async def show(self, event: DisplayEvent) -> None:
        self.events.append(event)

    def of(self, cls: type[EventT]) -> list[EventT]:
        return [event for event in self.events if isinstance(event, cls)]


class PlayedModel:
    """Answers each task with what it is given, and remembers every request."""

    def __init__(
        self,
        also: Mapping[str, str | Exception] | None = None,
        *,
        context_window: int | None = None,
        **answers: str | Exception,
    ) -> None:
        usual: dict[str, str | Exception] = {"gate": "normal", "answer": "Pro costs 49."}
        self.answers = {**usual, **(also or {}), **answers}
        self.requests: list[tuple[str, list[ModelMessage]]] = []
        found = ResolvedModel.of(FunctionModel(self._respond, stream_function=self._stream), name="test:played")
        self.resolved = found
        if context_window is not None:
            facts = replace(found.description.facts, context_window=context_window)
            self.resolved = ResolvedModel(replace(found.description, facts=facts), lambda: found.model)

    @property
    def predicting(self) -> Predicting:
        return Predicting(self.resolved)

    @property
    def answering(self) -> Answering:
        return Answering(self.resolved)

    @property
    def tasks(self) -> list[str]:
        """What it was asked for, in order."""
        return [task for task, _ in self.requests]

    def asked(self, task: str) -> tuple[str, list[str]]:
        """The system text of the only request for a task, and its user messages."""
        [messages] = [messages for name, messages in self.requests if name == task]
        prompts = [part for message in messages for part in message.parts if isinstance(part, UserPromptPart)]
        return system_text(messages), [prompt_text(part) for part in prompts]

    async def _respond(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        await self.arrive(task_of(messages))
        return ModelResponse(parts=[TextPart(self._answer(messages))])

    async def _stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        await self.arrive(task_of(messages))
        yield self._answer(messages)

    async def arrive(self, task: str) -> None:
        """Called before a task is answered; a test may wait here."""

    def _answer(self, messages: list[ModelMessage]) -> str:
        task = task_of(messages)
        self.requests.append((task, messages))
        answer = self.answers.get(task, "")
        if isinstance(answer, Exception):
            raise answer
        return answer


def task_of(messages: list[ModelMessage]) -> str:
    """What a request is for."""
    last = messages[-1]
    marks = last.metadata if isinstance(last, ModelRequest) else None
    return str((marks or {}).get(TASK, "answer"))


class Surroundings:
    """All that a step of the conversation gets injected."""

    def __init__(
        self, model: PlayedModel | None = None, *, locale: str = "en", info: RunInfo | None = None, **config: object
    ) -> None:
        self.model = model or PlayedModel()
        self.shown = Shown()
        self.locale = LocaleHandler(locale)
        self.info = info or RunInfo(run="run", name="Helper", description="Helps.")
        self.config = ConversationFields.model_validate(config)
        self.steps = Conversation()


def message(*words: str) -> UserMessageEvent:
    """A person's latest words; those before them are turns, person and assistant in turn."""
    history: list[ModelMessage] = [
        assistant_message(said) if place % 2 else user_prompt(said) for place, said in enumerate(words)
    ]
    return UserMessageEvent(messages=tuple(history))


def answered(text: str = "Pro costs 49.") -> LLMEvent:
    return LLMEvent(response=ModelResponse(parts=[TextPart(text)]), model="test:played")
