"""Which of the offered tools the demo model calls for a question, and what it says about their results."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Any, Final

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.tools import ToolDefinition

from planwerk.models.demo.answers import draft, is_draft_request
from planwerk.models.demo.language import language_of, significant_words, topic_of
from planwerk.models.demo.phrases import say
from planwerk.models.demo.schemas import Texts, instance

LONGEST_RESULT: Final = 600
_DRAFTING: Final = re.compile(r"artifact|document|draft|write|create", re.IGNORECASE)
_SEARCHING: Final = re.compile(r"search|recall|lookup|find|knowledge|memory|retrieve", re.IGNORECASE)


def choose_tool(question: str, tools: Sequence[ToolDefinition], used: Collection[str]) -> ToolDefinition | None:
    """The tool that fits the question best and was not used in this turn; None if none fits."""
    offered = [tool for tool in tools if tool.name not in used]
    named = next((tool for tool in offered if re.search(rf"\b{re.escape(tool.name)}\b", question)), None)
    if named is not None:
        return named
    if is_draft_request(question):
        drafting = [tool for tool in offered if _DRAFTING.search(tool.name)]
        if drafting:
            return max(drafting, key=lambda tool: tool.name.startswith(("create", "write", "draft")))
    ranked = sorted(((_fit(question, tool), -place) for place, tool in enumerate(offered)), reverse=True)
    if not ranked or ranked[0][0] < 2:
        return None
    return offered[-ranked[0][1]]


def _fit(question: str, tool: ToolDefinition) -> int:
    """Two for a word of the tool's name, one for a word of its description; searching tools suit any question."""
    words = _stems(significant_words(question))
    name = _stems(set(re.split(r"[\W_]+", tool.name.lower())) - {""})
    described = _stems(significant_words(tool.description or ""))
    score = 2 * len(words & name) + len(words & (described - name))
    return score + (2 if _SEARCHING.search(tool.name) and "?" in question else 0)


def _stems(words: Collection[str]) -> set[str]:
    return {word[:6].removesuffix("s") for word in words if len(word) > 2}


def arguments(question: str, tool: ToolDefinition) -> str:
    """Arguments for the tool, as JSON: valid for its schema, filled from the question."""
    prose = draft(question) if is_draft_request(question) else question
    filled: Any = instance(tool.parameters_json_schema, Texts(question, topic_of(question), prose))
    numbers = re.findall(r"-?\d+(?:\.\d+)?", question)
    return json.dumps(_with_numbers(filled, tool.parameters_json_schema, numbers), ensure_ascii=False)


def _with_numbers(filled: Any, schema: dict[str, Any], numbers: list[str]) -> Any:
    """The question's numbers in the places of numbers, in order, where they are allowed."""
    if not isinstance(filled, dict):
        return filled
    waiting = list(numbers)
    for name, inner in schema.get("properties", {}).items():
        bounded = inner.keys() & {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "enum"}
        if not waiting or name not in filled or bounded:
            continue
        if inner.get("type") == "number":
            filled[name] = float(waiting.pop(0))
        elif inner.get("type") == "integer" and "." not in waiting[0]:
            filled[name] = int(waiting.pop(0))
    return filled  # pyright: ignore[reportUnknownVariableType] - JSON


def used_in_turn(messages: Sequence[ModelMessage]) -> list[str]:
    """Names of the tools called since the last question."""
    return [part.tool_name for message in _turn(messages) for part in message.parts if isinstance(part, ToolCallPart)]


def results_in_turn(messages: Sequence[ModelMessage]) -> list[ToolReturnPart]:
    """What tools returned since the last question."""
    return [part for message in _turn(messages) for part in message.parts if isinstance(part, ToolReturnPart)]


def report(question: str, results: Sequence[ToolReturnPart]) -> str:
    """What the tools said, as an answer."""
    language = language_of(question)
    parts = [f"{say('tool', language, tool=result.tool_name)}\n\n{_shown(result)}" for result in results]
    return "\n\n".join(parts)


def _shown(result: ToolReturnPart) -> str:
    text = result.model_response_str().strip()
    text = text if len(text) <= LONGEST_RESULT else f"{text[: LONGEST_RESULT - 1]}…"
    return "\n".join(f"> {line}" for line in text.splitlines()) or "> –"


def _turn(messages: Sequence[ModelMessage]) -> Sequence[ModelRequest | ModelResponse]:
    for place in range(len(messages) - 1, -1, -1):
        if any(isinstance(part, UserPromptPart) for part in messages[place].parts):
            return messages[place:]
    return messages
