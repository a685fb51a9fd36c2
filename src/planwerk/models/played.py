"""A model made of Python code: the shared ground of the demo model and of scripted ones.

A subclass says piece by piece what the model says; here it becomes a stream or a whole response, counted by our
estimate, and closed at once when whoever reads it stops reading.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeAlias

from pydantic_ai.messages import (
    FinishReason,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponseStreamEvent,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext
from pydantic_ai.usage import RequestUsage

from planwerk.messages.tokens import estimate_history_tokens, estimate_tokens
from planwerk.models.predicting import TASK


@dataclass(frozen=True, slots=True)
class Words:
    """A piece of visible text."""

    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    """A piece of thinking."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A whole tool call; `arguments` as JSON text."""

    tool: str
    arguments: str
    id: str


Piece: TypeAlias = Words | Thought | Call


@dataclass(frozen=True)
class PlayedRequest:
    """What a played model is asked."""

    messages: Sequence[ModelMessage]
    parameters: ModelRequestParameters
    streamed: bool

    @property
    def purpose(self) -> str | None:
        """What a task call is for (`Predicting.text`), None for answers."""
        last = self.messages[-1] if self.messages else None
        purpose = (last.metadata or {}).get(TASK) if isinstance(last, ModelRequest) else None
        return purpose if isinstance(purpose, str) else None

    @property
    def output_schema(self) -> dict[str, Any] | None:
        """The JSON schema that the answer must be an instance of, if there is one."""
        if self.parameters.output_tools:
            return self.parameters.output_tools[0].parameters_json_schema
        wanted = self.parameters.output_object
        return wanted.json_schema if wanted is not None else None

    @property
    def output_name(self) -> str | None:
        """Name of the type that the schema describes."""
        wanted = self.parameters.output_object
        if wanted is not None and wanted.name:
            return wanted.name
        schema = self.output_schema
        return schema.get("title") if schema else None

    def prompts(self) -> list[str]:
        """The words of every user prompt, in order."""
        from planwerk.messages.prompts import prompt_text

        parts = (part for message in self.messages for part in message.parts if isinstance(part, UserPromptPart))
        return [prompt_text(part) for part in parts]


class PlayedModel(Model):
    """Subclass: say what the model says, in `play`."""

    def __init__(self, system: str, name: str, *, profile: ModelProfile | None = None) -> None:
        self._played_system, self._played_name = system, name
        can = ModelProfile(supports_tools=True, supports_json_schema_output=True)
        super().__init__(profile=can if profile is None else profile)

    @abstractmethod
    def play(self, request: PlayedRequest) -> AsyncGenerator[Piece, None]:
        """What the model says to this, piece by piece."""

    @property
    def model_name(self) -> str:
        return self._played_name

    @property
    def system(self) -> str:
        return self._played_system

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        asked = self._asked(messages, model_settings, model_request_parameters, streamed=False)
        async with aclosing(self.play(asked)) as pieces:
            stream = self._stream(asked, pieces)
            async for _ in stream:
                pass
        return stream.get()

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse, None]:
        asked = self._asked(messages, model_settings, model_request_parameters, streamed=True)
        async with aclosing(self.play(asked)) as pieces:
            yield self._stream(asked, pieces)

    def _asked(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
        *,
        streamed: bool,
    ) -> PlayedRequest:
        _, parameters = self.prepare_request(settings, parameters)
        return PlayedRequest(tuple(messages), parameters, streamed)

    def _stream(self, asked: PlayedRequest, pieces: AsyncGenerator[Piece, None]) -> PlayedStream:
        return PlayedStream(
            model_request_parameters=asked.parameters,
            pieces=pieces,
            name=self.model_name,
            provider=self.system,
            input_tokens=estimate_history_tokens(asked.messages),
        )


@dataclass
class PlayedStream(StreamedResponse):
    """The pieces as pydantic-ai's stream."""

    pieces: AsyncGenerator[Piece, None]
    name: str
    provider: str
    input_tokens: int
    made: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __post_init__(self) -> None:
        self._usage = RequestUsage(input_tokens=self.input_tokens)

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        reason: FinishReason = "stop"
        said = ""
        place, kind = 0, ""
        async for piece in self.pieces:
            if type(piece).__name__ != kind or isinstance(piece, Call):
                place, kind = place + 1, type(piece).__name__
            for event in self._events(piece, place):
                yield event
            reason = "tool_call" if isinstance(piece, Call) else reason
            said += f"{piece.tool} {piece.arguments}" if isinstance(piece, Call) else piece.text
        self._usage = RequestUsage(input_tokens=self.input_tokens, output_tokens=estimate_tokens(said))
        self.finish_reason = reason

    def _events(self, piece: Piece, place: int) -> list[ModelResponseStreamEvent]:
        parts = self._parts_manager
        match piece:
            case Words(text):
                return list(parts.handle_text_delta(vendor_part_id=place, content=text))
            case Thought(text):
                return list(parts.handle_thinking_delta(vendor_part_id=place, content=text))
            case Call(tool, arguments, call_id):
                begun = parts.handle_tool_call_delta_events(vendor_part_id=place, tool_name=tool, tool_call_id=call_id)
                rest = parts.handle_tool_call_delta_events(vendor_part_id=place, args=arguments)
                return [*begun, *rest]

    async def close_stream(self) -> None:
        await self.pieces.aclose()

    @property
    def model_name(self) -> str:
        return self.name

    @property
    def provider_name(self) -> str:
        return self.provider

    @property
    def provider_url(self) -> str | None:
        return None

    @property
    def timestamp(self) -> datetime:
        return self.made
