"""Ask a model for data of a type, or for a short text; nothing of it is shown (E2.4)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar, cast

from pydantic_ai.messages import ModelMessage
from pydantic_ai.usage import RunUsage

from planwerk.messages.prompts import visible_text
from planwerk.messages.sanitise import sanitise_message
from planwerk.models.answering import STOPPED, with_instructions
from planwerk.models.calls import CallPurpose, CallReporter, ModelCallRecord
from planwerk.models.errors import ModelEmpty, ModelError, ModelOutputInvalid, ModelRefused
from planwerk.models.mapping import model_error, shortened_cause
from planwerk.models.resolved import ResolvedModel
from planwerk.workflow.errors import PlanwerkError
from planwerk.workflow.injection import injectable

if TYPE_CHECKING:
    from pydantic_ai import Agent

OutputT = TypeVar("OutputT")
ResultT = TypeVar("ResultT")
OutputMode: TypeAlias = Literal["native", "tool", "prompted"]

TASK: Final = "planwerk_task"
"""Key in a request's metadata, never sent: what the call is for. The demo and the scripted model read it."""

_REFUSES_SCHEMAS: Final = ("response_format", "json_schema", "structured output", "grammar")


@dataclass(slots=True)
class _Exchange:
    """What a call has used, sent and got back so far."""

    usage: RunUsage = field(default_factory=RunUsage)
    messages: Sequence[ModelMessage] = ()


@injectable
class Predicting:
    """A profile's `task_llm`, made for one execution: for labels, titles, judgements and other small tasks."""

    def __init__(self, model: ResolvedModel, *, on_call: CallReporter | None = None) -> None:
        self._model = model
        self._on_call = on_call

    @property
    def model_name(self) -> str:
        """`provider:name` of the model asked."""
        return self._model.name

    @property
    def context_window(self) -> int | None:
        """The model's window in tokens, None if unknown."""
        return self._model.context_window

    async def predict(
        self, history: Sequence[ModelMessage], output: type[OutputT], *, instructions: str | None = None
    ) -> OutputT:
        """Data of this type, validated; the model gets one more try with the error told.

        By native JSON schema where the model can, else by a tool call, else asked for in the prompt.

        Raises:
            ModelOutputInvalid: The second try was not of this form either.
            ModelError: The call failed, by its code (E4.4).
        """

        async def call(exchange: _Exchange) -> OutputT:
            return await self._predict(history, output, instructions, exchange)

        return await self._timed("prediction", _name_of(output), call)

    async def text(
        self, history: Sequence[ModelMessage], *, instructions: str | None = None, purpose: str = "text"
    ) -> str:
        """A short plain answer, without thinking, never empty.

        Args:
            purpose: What the text is for, such as `"title"`; not sent to the model.

        Raises:
            ModelEmpty: Nothing but thinking or blanks came.
            ModelError: The call failed, by its code (E4.4).
        """

        async def call(exchange: _Exchange) -> str:
            return await self._text(history, instructions, purpose, exchange)

        return await self._timed("text", purpose, call)

    async def _predict(
        self, history: Sequence[ModelMessage], output: type[OutputT], instructions: str | None, exchange: _Exchange
    ) -> OutputT:
        mode = output_mode(self._model)
        try:
            return await self._ask(history, output, mode, instructions, exchange)
        except ModelRefused as refusal:
            if mode == "prompted" or not any(word in refusal.cause.lower() for word in _REFUSES_SCHEMAS):
                raise
            return await self._ask(history, output, "prompted", instructions, exchange)

    async def _ask(
        self,
        history: Sequence[ModelMessage],
        output: type[OutputT],
        mode: OutputMode,
        instructions: str | None,
        exchange: _Exchange,
    ) -> OutputT:
        from pydantic_ai.exceptions import UnexpectedModelBehavior

        agent = cast("Agent[None, OutputT]", _agent_for(output, mode))
        messages = exchange.messages = with_instructions(history, None)
        try:
            result = await agent.run(
                model=self._model.model, message_history=messages, instructions=instructions, usage=exchange.usage
            )
        except UnexpectedModelBehavior as error:
            raise _invalid(error, self._model.name) from error
        except Exception as error:
            raise model_error(error, model=self._model.name) from error
        exchange.messages = result.all_messages()
        return result.output

    async def _text(
        self, history: Sequence[ModelMessage], instructions: str | None, purpose: str, exchange: _Exchange
    ) -> str:
        from pydantic_ai.direct import model_request_stream

        messages = with_instructions(history, instructions)
        if messages:
            messages[-1] = _marked(messages[-1], purpose)
        exchange.messages = messages
        try:
            # Streamed, because only so thinking that is never closed is still told from text (CAP-03).
            async with model_request_stream(self._model.model, messages) as parts:
                async for _ in parts:
                    pass
            response = parts.get()
        except Exception as error:
            raise model_error(error, model=self._model.name) from error
        exchange.usage.incr(response.usage)
        exchange.messages = [*messages, sanitise_message(response)]
        text = visible_text(response.text or "")
        if not text:
            raise ModelEmpty(self._model.name)
        return text

    async def _timed(self, purpose: CallPurpose, task: str, call: Callable[[_Exchange], Awaitable[ResultT]]) -> ResultT:
        loop = asyncio.get_running_loop()
        began, exchange, error = loop.time(), _Exchange(), STOPPED
        try:
            result = await call(exchange)
            error = ""
        except PlanwerkError as failure:
            error = failure.code
            raise
        finally:
            if self._on_call is not None:
                usage, cost = self._model.usage_and_cost(exchange.usage)
                seconds, messages = loop.time() - began, exchange.messages
                record = ModelCallRecord(
                    self._model.name, purpose, usage, cost, seconds, error or None, task=task, messages=messages
                )
                self._on_call(record)
        return result


def output_mode(model: ResolvedModel) -> OutputMode:
    """How this model is best asked for data, by its profile."""
    profile = model.model.profile
    if profile.get("supports_json_schema_output"):
        return "native"
    return "tool" if profile.get("supports_tools", True) else "prompted"


@lru_cache(maxsize=256)
def _agent_for(output: type[Any], mode: OutputMode) -> Agent[None, Any]:
    from pydantic_ai import Agent, NativeOutput, PromptedOutput, ToolOutput

    forms = {"native": NativeOutput, "tool": ToolOutput, "prompted": PromptedOutput}
    return Agent(output_type=forms[mode](output), retries=1)


def _name_of(output: object) -> str:
    """As a model is told it, where it is told one."""
    return str(getattr(output, "__name__", "") or output)


def _marked(message: ModelMessage, purpose: str) -> ModelMessage:
    return replace(message, metadata={**(message.metadata or {}), TASK: purpose})


def _invalid(error: Exception, model: str) -> ModelError:
    told = error.__cause__ or error
    return ModelOutputInvalid(model, shortened_cause(told if isinstance(told, Exception) else error))
