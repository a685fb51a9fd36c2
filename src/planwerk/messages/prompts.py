"""Making and reading messages: prompts, the question, an answer's text, and what of it is thinking."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    UserContent,
    UserPromptPart,
)

from planwerk.messages.sanitise import sanitise_text

_THINKING: Final = re.compile(r"<(think|thinking|reasoning|thought)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_LEFT_OVER: Final = re.compile(r"\A.*</(think|thinking|reasoning|thought)>", re.DOTALL | re.IGNORECASE)


def user_prompt(text: str, *attachments: UserContent) -> ModelRequest:
    """A person's message, with pictures or files beside the text."""
    clean = sanitise_text(text)
    return ModelRequest(parts=[UserPromptPart([clean, *attachments] if attachments else clean)])


def system_prompt(text: str) -> ModelRequest:
    """A message with one system part."""
    return ModelRequest(parts=[SystemPromptPart(sanitise_text(text))])


def assistant_message(text: str, *, model_name: str | None = None) -> ModelResponse:
    """An answer as a message of the history."""
    return ModelResponse(parts=[TextPart(sanitise_text(text))], model_name=model_name)


def prompt_text(part: UserPromptPart) -> str:
    """The words of a prompt, without pictures and files."""
    if isinstance(part.content, str):
        return part.content
    words = (
        item if isinstance(item, str) else item.content for item in part.content if isinstance(item, str | TextContent)
    )
    return "\n".join(words)


def last_user_prompt(history: Sequence[ModelMessage]) -> str:
    """The question: the words of the last user prompt, empty if there is none."""
    for message in reversed(history):
        if isinstance(message, ModelRequest):
            for part in reversed(message.parts):
                if isinstance(part, UserPromptPart):
                    return prompt_text(part)
    return ""


def first_user_prompt(history: Sequence[ModelMessage]) -> str:
    """The words of the first user prompt, empty if there is none."""
    for message in history:
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                return prompt_text(part)
    return ""


def system_text(history: Sequence[ModelMessage]) -> str:
    """All system parts and instructions of a history, in order."""
    texts: list[str] = []
    for message in history:
        if isinstance(message, ModelRequest):
            texts += [part.content for part in message.parts if isinstance(part, SystemPromptPart)]
            texts += [message.instructions] if message.instructions else []
    return "\n\n".join(texts)


def visible_text(text: str) -> str:
    """The text without thinking written into it as tags, also where a tag was never opened or closed (CAP-03)."""
    return _LEFT_OVER.sub("", _THINKING.sub("", text)).strip()


def without_thinking(history: Sequence[ModelMessage]) -> tuple[ModelMessage, ...]:
    """The history without thinking parts, for whoever only reads it; a model gets its own back whole (TOOL-25)."""
    return tuple(_without_thinking(message) for message in history)


def _without_thinking(message: ModelMessage) -> ModelMessage:
    if isinstance(message, ModelResponse) and any(isinstance(part, ThinkingPart) for part in message.parts):
        return replace(message, parts=[part for part in message.parts if not isinstance(part, ThinkingPart)])
    return message
