"""Ask a model and stream its answer to the person (E2.4)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pydantic_ai.exceptions import ModelConnectionError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.usage import RequestUsage

from planwerk.messages.events import LLMEvent
from planwerk.messages.history import hold
from planwerk.messages.sanitise import sanitise_message
from planwerk.messages.tokens import estimate_history_tokens, estimate_message_tokens
from planwerk.models.calls import CallReporter, ModelCallRecord, ResponseSink, SilentSink
from planwerk.models.errors import ModelBrokeOff, ModelEmpty, ModelRefused
from planwerk.models.mapping import model_error
from planwerk.models.resolved import ResolvedModel
from planwerk.models.streaming import StreamToSink
from planwerk.workflow.injection import injectable

if TYPE_CHECKING:
    from pydantic_ai.models import StreamedResponse
    from pydantic_ai.tools import ToolDefinition

STOPPED: Final = "stopped"


@injectable
class Answering:
    """A profile's `llm`, made for one execution: what it answers streams to that execution's displayer."""

    def __init__(
        self,
        model: ResolvedModel,
        sink: Callable[[], ResponseSink] = SilentSink,
        *,
        on_call: CallReporter | None = None,
    ) -> None:
        """Answer with this model.

        Args:
            sink: Makes the place each answer streams to, such as `EventDisplayer.response`.
            on_call: Told of each call, also of one that failed.
        """
        self._model = model
        self._sink = sink
        self._on_call = on_call

    @property
    def model_name(self) -> str:
        """`provider:name` of the model asked."""
        return self._model.name

    @property
    def context_window(self) -> int | None:
        """The model's window in tokens, None if unknown."""
        return self._model.context_window

    async def answer(
        self,
        history: Sequence[ModelMessage],
        *,
        instructions: str | None = None,
        tools: Sequence[ToolDefinition] = (),
    ) -> LLMEvent:
        """Stream the model's answer and return the whole, with usage and cost.

        Args:
            history: Whole conversation, the question last.
            instructions: Said to the model beside the history's own system parts.
            tools: Tools it may call; calls are in the response, nothing is executed here.

        Raises:
            ModelBrokeOff: The stream ended early; `text` is what had come.
            ModelEmpty: Neither text nor a tool call came.
            ModelError: Anything else that went wrong, by its code (E4.4).
        """
        call = _Call(self._model, self._sink(), with_instructions(history, instructions))
        error: str | None = STOPPED
        try:
            response = await call.run(tools)
            error = None
        except asyncio.CancelledError:
            call.stream.interrupt(STOPPED)
            raise
        except Exception as cause:
            failure = model_error(cause, model=self._model.name, streamed=call.broke_off(cause), text=call.stream.text)
            error = failure.code
            call.stream.interrupt(error)
            raise failure from cause
        finally:
            if self._on_call is not None:
                self._on_call(call.record(error))
        usage, cost = self._model.usage_and_cost(call.usage(response))
        return LLMEvent(response=response, model=self._model.name, usage=usage, cost=cost)


def with_instructions(history: Sequence[ModelMessage], instructions: str | None) -> list[ModelMessage]:
    """The messages as they are sent: half characters replaced, instructions on the last request."""
    messages = list(hold(history))
    if instructions and messages and isinstance(messages[-1], ModelRequest):
        messages[-1] = replace(messages[-1], instructions=instructions)
    return messages


class _Call:
    """One streamed request."""

    def __init__(self, model: ResolvedModel, sink: ResponseSink, messages: list[ModelMessage]) -> None:
        loop = asyncio.get_running_loop()
        self._model, self._messages, self._clock = model, messages, loop.time
        self._began_at = loop.time()
        self._parts: StreamedResponse | None = None
        self._answer: ModelResponse | None = None
        self.stream = StreamToSink(sink, loop.time)

    async def run(self, tools: Sequence[ToolDefinition]) -> ModelResponse:
        from pydantic_ai.direct import model_request_stream
        from pydantic_ai.models import ModelRequestParameters

        parameters = ModelRequestParameters(function_tools=list(tools))
        request = model_request_stream(self._model.model, self._messages, model_request_parameters=parameters)
        async with request as parts:
            self._parts = parts
            async for part in parts:
                self.stream.take(part)
        response = self._answer = _with_whole_calls(sanitise_message(parts.get()))
        _check_whole(response, self._model.name)
        return response

    def broke_off(self, error: Exception) -> bool:
        """Whether the error ended an answer that had begun: by its words, or by the open stream it cut."""
        return self.stream.began or (self._parts is not None and isinstance(error, ModelConnectionError))

    def usage(self, response: ModelResponse) -> RequestUsage:
        """The provider's count; where it gave none, an estimate, whose price is unknown."""
        if response.usage.output_tokens or response.usage.input_tokens:
            return response.usage
        return RequestUsage(
            input_tokens=estimate_history_tokens(self._messages),
            output_tokens=estimate_message_tokens(response) if response.parts else 0,
            unmeasured_requests=1,
        )

    def record(self, error: str | None) -> ModelCallRecord:
        answered = RequestUsage() if self._parts is None else self.usage(sanitise_message(self._parts.get()))
        usage, cost = self._model.usage_and_cost(answered)
        seconds = self._clock() - self._began_at
        messages = [*self._messages, self._answer] if self._answer is not None else self._messages
        return ModelCallRecord(self._model.name, "answer", usage, cost, seconds, error, messages=messages)


def _with_whole_calls(response: ModelResponse) -> ModelResponse:
    """A call without arguments has `{}`, whatever the provider streams for it (TOOL-05)."""
    if not any(isinstance(part, ToolCallPart) and not part.args for part in response.parts):
        return response
    parts = [replace(p, args="{}") if isinstance(p, ToolCallPart) and not p.args else p for p in response.parts]
    return replace(response, parts=parts)


def _check_whole(response: ModelResponse, model: str) -> None:
    """An answer has words or a tool call, and no guard cut it off; thinking alone is none."""
    said = any(isinstance(part, TextPart) and part.content.strip() for part in response.parts)
    refusal = (response.provider_details or {}).get("refusal")
    if refusal or response.finish_reason in {"content_filter", "error"}:
        cause = str(refusal or "its content filter blocked the answer")
        raise ModelBrokeOff(model, cause, text=response.text or "") if said else ModelRefused(model, cause)
    if said or any(not isinstance(part, TextPart) and part.part_kind != "thinking" for part in response.parts):
        return
    raise ModelEmpty(model, "its output limit was reached first" if response.finish_reason == "length" else "")
