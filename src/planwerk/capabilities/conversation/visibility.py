"""Who may not see a profile's configuration is shown a prompt without its head (C1.2)."""

from __future__ import annotations

from dataclasses import replace

from pydantic_ai.messages import ModelMessage, ModelRequest, SystemPromptPart

from planwerk.capabilities.conversation.events import PromptComposedEvent
from planwerk.locales import text


def without_head(event: PromptComposedEvent, locale: str | None = None) -> PromptComposedEvent:
    """The same prompt with a notice in place of the profile's instructions; instruction blocks stay."""
    if not event.head_characters or not event.history:
        return event
    first, *rest = event.history
    history = (_masked(first, event.head_characters, text("conversation.hidden_head", locale)), *rest)
    return event.model_copy(update={"history": history, "head_characters": 0})


def _masked(message: ModelMessage, characters: int, notice: str) -> ModelMessage:
    if not isinstance(message, ModelRequest) or not isinstance(system := message.parts[0], SystemPromptPart):
        return message
    shown = replace(system, content=notice + system.content[characters:])
    return replace(message, parts=[shown, *message.parts[1:]])
