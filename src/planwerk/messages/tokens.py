"""How many tokens a text or a history will be, estimated by script and never too few (CAP-17).

A provider's own count is the truth, but comes too late: what is composed must fit before it is sent. A quarter of the
characters, the usual rule, is too few for everything but English. Here a run of Latin letters counts a quarter of a
token per letter and at least one, an accented letter and every character of other scripts about one, an emoji three.
Against o200k this is 10 to 60 % too many on prose, code, JSON and CJK, and two to four times on Cyrillic, Arabic and
Indic scripts, which cl100k really counts so: the safe side.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from math import ceil
from typing import Any, Final

from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    NativeToolCallPart,
    TextContent,
    ToolCallPart,
    UserContent,
    UserPromptPart,
)

TOKENS_PER_MESSAGE: Final = 4
TOKENS_PER_TOOL_CALL: Final = 8
TOKENS_PER_FILE: Final = 1200
"""What providers count for a picture of usual size; text files are counted as text."""

_RUN: Final = re.compile(
    r"(?P<word>[A-Za-z\u00c0-\u024f]+)|(?P<digits>[0-9]+)|(?P<blank>[^\S\n]+)|(?P<lines>\n+)"
    r"|(?P<marks>[!-/:-@\[-`{-~]+)|(?P<sparse>[\u0400-\u052f\u0600-\u06ff]+)|(?P<han>[\u4e00-\u9fff]+)|(?P<other>.)",
    re.DOTALL,
)


def estimate_tokens(text: str) -> int:
    """Tokens of a text, rounded up; 0 for the empty text only."""
    return ceil(sum(_run_tokens(match.lastgroup or "other", match.group()) for match in _RUN.finditer(text)))


def _run_tokens(kind: str, run: str) -> float:
    length = len(run)
    match kind:
        case "word":
            if run.isascii():
                return max(1.0, length / 4)
            accented = sum(1 for letter in run if letter > "\x7f")
            return max(1.0, (length - accented) / 3 + accented * 1.25)
        case "digits":
            return max(1.0, length / 2)
        case "blank":
            return 0.0 if run == " " else 0.5 + length / 16
        case "lines":
            return 0.5 + length / 4
        case "marks":
            return 0.5 + length / 2
        case "sparse":  # Cyrillic and Arabic
            return max(1.0, length * 0.65)
        case "han":
            return float(length)
        case _:
            return 3.0 if run > "\uffff" else 1.25


def estimate_message_tokens(message: ModelMessage) -> int:
    """Tokens of one message with all its parts: text, thinking, tool calls and results, files."""
    return TOKENS_PER_MESSAGE + sum(_part_tokens(part) for part in message.parts) + _instruction_tokens(message)


def estimate_history_tokens(history: Iterable[ModelMessage]) -> int:
    """Tokens of a whole history."""
    return sum(estimate_message_tokens(message) for message in history)


def cut_to_tokens(text: str, tokens: int) -> str:
    """The longest beginning of the text, in whole characters, that is estimated at no more than `tokens`."""
    total = 0.0
    for match in _RUN.finditer(text):
        kind, run = match.lastgroup or "other", match.group()
        total += _run_tokens(kind, run)
        if total > tokens:
            return _cut_run(text, match.start(), kind, run, tokens)
    return text


def _cut_run(text: str, start: int, kind: str, run: str, tokens: int) -> str:
    before = sum(_run_tokens(match.lastgroup or "other", match.group()) for match in _RUN.finditer(text[:start]))
    kept = next((n for n in range(len(run), 0, -1) if before + _run_tokens(kind, run[:n]) <= tokens), 0)
    return text[: start + kept]


def _instruction_tokens(message: ModelMessage) -> int:
    instructions = getattr(message, "instructions", None)
    return estimate_tokens(instructions) if instructions else 0


def _part_tokens(part: Any) -> int:
    match part:
        case UserPromptPart(content=content):
            return _content_tokens([content] if isinstance(content, str) else content)
        case ToolCallPart() | NativeToolCallPart():
            return TOKENS_PER_TOOL_CALL + estimate_tokens(part.tool_name) + estimate_tokens(part.args_as_json_str())
        case _ if hasattr(part, "tool_call_id"):
            return TOKENS_PER_TOOL_CALL + estimate_tokens(_as_text(part.content))
        case _:
            return estimate_tokens(_as_text(getattr(part, "content", "") or ""))


def _content_tokens(content: Sequence[UserContent]) -> int:
    total = 0
    for item in content:
        match item:
            case str():
                total += estimate_tokens(item)
            case TextContent(content=text):
                total += estimate_tokens(text)
            case BinaryContent() if item.media_type.startswith("text/"):
                total += estimate_tokens(item.data.decode(errors="replace"))
            case _:
                total += TOKENS_PER_FILE
    return total


def _as_text(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)
