"""A prompt as it was sent, for the run view (U8); who may not see a profile's configuration sees none of its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelRequest, SystemPromptPart

from planwerk.locales import text
from planwerk.messages.events import ModelExchangeEvent
from planwerk.workflow import entries as journal
from planwerk.workflow.errors import PlanwerkError


class NoPromptHere(PlanwerkError):
    """The journal has no prompt at a position: no model was called there, or what it was sent was not kept."""

    code = "no_prompt_here"
    http_status = 404

    def __init__(self, run: str, position: int) -> None:
        super().__init__(
            f"run {run} has no prompt at position {position} (U8).",
            what_to_do="Take the position of a model_called entry whose has_prompt is true.",
        )


class PromptView(BaseModel):
    """What a model was sent, and what it said."""

    position: int
    model: str
    purpose: str
    """answer, prediction or text."""
    task: str
    """What a small task is for (`title`), or the name of the type that was asked for; empty for answers."""
    messages: list[dict[str, Any]]
    """As pydantic-ai writes them: what was sent, then what came back."""
    is_masked: bool
    """Instructions are left out, for lack of the right to see them."""


def prompt_view(
    run: str, entries: Sequence[journal.Entry], position: int, *, masked: bool, locale: str | None
) -> PromptView:
    """The prompt of the model call at this position.

    Raises:
        NoPromptHere: There is none.
    """
    called = entries[position - 1] if 0 < position <= len(entries) else None
    exchange = called.exchange if isinstance(called, journal.ModelCalled) else None
    if not isinstance(called, journal.ModelCalled) or not isinstance(exchange, ModelExchangeEvent):
        raise NoPromptHere(run, position)
    messages = list(exchange.messages)
    if masked:
        # The prompt of a small task is ours or the profile's, whatever part of a message it stands in.
        messages = [] if exchange.task else [_masked(message, locale) for message in messages]
    return PromptView(
        position=position,
        model=called.model,
        purpose=called.purpose,
        task=exchange.task,
        messages=ModelMessagesTypeAdapter.dump_python(messages, mode="json"),
        is_masked=masked,
    )


def _masked(message: ModelMessage, locale: str | None) -> ModelMessage:
    if not isinstance(message, ModelRequest):
        return message
    notice = text("conversation.hidden_head", locale)
    parts = [replace(part, content=notice) if isinstance(part, SystemPromptPart) else part for part in message.parts]
    return replace(message, parts=parts, instructions=notice if message.instructions else None)
