"""A conversation as a quotation inside one user message, for models that read it and do not take part (CAP-01).

Given as turns of a chat, a small model goes on with the chat instead of doing its task.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic_ai.framing import register_tag, wrap
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart

from planwerk.messages.prompts import prompt_text, visible_text
from planwerk.messages.tokens import cut_to_tokens, estimate_tokens

CONVERSATION: Final = register_tag("conversation")
MESSAGE: Final = register_tag("message")
ANSWER: Final = register_tag("answer")

QUOTED_TOKENS: Final = 2000
"""Enough for a task to know what is talked about; more only makes it slower."""
ONE_MESSAGE_TOKENS: Final = 400


def task_prompt(instructions: str, quoted: str) -> list[ModelMessage]:
    """A task for the task model: what to do, and what to do it with in one user message."""
    return [ModelRequest(parts=[SystemPromptPart(instructions), UserPromptPart(quoted)])]


def quoted_turn(history: Sequence[ModelMessage], message: str, *, tokens: int = QUOTED_TOKENS) -> str:
    """The latest message, after what was said before it as far as that fits."""
    asked = shortened(message, tokens // 2)
    before = _said(_before_question(history), tokens - estimate_tokens(asked))
    parts = [wrap(CONVERSATION, f"\n{before}\n")] if before else []
    return "\n\n".join([*parts, wrap(MESSAGE, f"\n{asked}\n")])


def quoted_answer(message: str, answer: str) -> str:
    """An answer, after the message it answers if there was one."""
    parts = [quoted_turn((), message)] if message.strip() else []
    return "\n\n".join([*parts, wrap(ANSWER, f"\n{shortened(answer, QUOTED_TOKENS)}\n")])


def shortened(text: str, tokens: int) -> str:
    """The beginning and the end of a text that is too long, with a mark between them."""
    if estimate_tokens(text) <= tokens:
        return text
    beginning = cut_to_tokens(text, tokens // 2)
    end = cut_to_tokens(text[::-1], tokens // 2)[::-1]
    return f"{beginning.rstrip()}\n[…]\n{end.lstrip()}"


def has_answer(history: Sequence[ModelMessage]) -> bool:
    """Whether the assistant has said something in it yet."""
    return any(isinstance(part, TextPart) for message in history for part in message.parts)


def _before_question(history: Sequence[ModelMessage]) -> Sequence[ModelMessage]:
    for place in range(len(history) - 1, -1, -1):
        if any(isinstance(part, UserPromptPart) for part in history[place].parts):
            return history[:place]
    return history


def _said(history: Sequence[ModelMessage], tokens: int) -> str:
    """What was said, newest kept, as lines; without system parts, thinking and tools."""
    lines: list[str] = []
    for message in reversed(history):
        line = shortened(_line(message), ONE_MESSAGE_TOKENS)
        if not line:
            continue
        tokens -= estimate_tokens(line) + 1
        if tokens < 0:
            break
        lines.append(line)
    return "\n".join(reversed(lines))


def _line(message: ModelMessage) -> str:
    if isinstance(message, ModelResponse):
        text = visible_text(message.text or "")
        return f"Assistant: {text}" if text else ""
    words = "\n".join(prompt_text(part) for part in message.parts if isinstance(part, UserPromptPart)).strip()
    return f"Person: {words}" if words else ""
