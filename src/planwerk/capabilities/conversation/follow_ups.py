"""Questions a person might ask next, made from the answer as well as it goes (C1.3)."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable
from typing import Any, Final, Literal, cast

from planwerk.capabilities.conversation.degrading import TASK_SECONDS, degraded
from planwerk.capabilities.conversation.prompts import PROMPTS
from planwerk.capabilities.conversation.quoting import quoted_answer, task_prompt
from planwerk.messages.events import FollowUpsSuggestedEvent, LLMEvent, UserMessageEvent
from planwerk.messages.prompts import last_user_prompt, visible_text
from planwerk.messages.sanitise import sanitise_text
from planwerk.models.errors import ModelEmpty, ModelError
from planwerk.models.predicting import Predicting
from planwerk.runtime.displayer import EventDisplayer
from planwerk.runtime.locale_handler import LocaleHandler

MOST: Final = 3
LONGEST: Final = 160

_FENCE: Final = re.compile(r"\A```\w*\s*|\s*```\Z")
_MARKER: Final = re.compile(r"\A\s*(?:[-*+•–]|\d{1,2}[.):])\s+")
_AROUND: Final = " \t\"'“”„«»‘’`*_"
_QUESTION_MARKS: Final = ("?", "？", "؟", ";")


async def suggest_follow_ups(
    step: Literal["conclude", "end_turn"],
    answer: LLMEvent,
    start: UserMessageEvent | None,
    predicting: Predicting,
    locale: LocaleHandler,
    display: EventDisplayer,
) -> None:
    """Show questions that follow from the answer; whatever goes wrong, the turn ends all the same."""
    said = visible_text(answer.text)
    if not said:
        return
    quoted = quoted_answer(last_user_prompt(start.messages) if start is not None else "", said)
    prompt = task_prompt(PROMPTS.text("follow_ups", locale.locale), quoted)
    try:
        async with asyncio.timeout(TASK_SECONDS):
            questions = read_questions(await predicting.text(prompt, purpose="follow_ups"))
    except ModelEmpty:
        return
    except (ModelError, TimeoutError) as error:
        await display.show(degraded(step, error, locale))
        return
    if questions:
        await display.show(FollowUpsSuggestedEvent(questions=questions))


def read_questions(answer: str) -> tuple[str, ...]:
    """At most three questions, each once and in one line; lines that are neither listed nor questions are left out."""
    bare = _FENCE.sub("", visible_text(answer).strip())
    found: dict[str, str] = {}
    for line in _lines(bare):
        question = " ".join(sanitise_text(line).strip(_AROUND).split())
        if 1 < len(question) <= LONGEST:
            found.setdefault(question.casefold(), question)
    return tuple(found.values())[:MOST]


def _lines(text: str) -> Iterable[str]:
    try:
        data: Any = json.loads(text)
    except ValueError:
        listed = (line for line in text.splitlines() if line.strip())
        return [_MARKER.sub("", line) for line in listed if _MARKER.match(line) or _is_question(line)]
    if isinstance(data, dict):
        values = cast("dict[str, Any]", data).values()
        data = next((cast("list[Any]", value) for value in values if isinstance(value, list)), None)
    items = cast("list[Any]", data) if isinstance(data, list) else []
    return [item for item in items if isinstance(item, str)]


def _is_question(line: str) -> bool:
    return line.rstrip(_AROUND).endswith(_QUESTION_MARKS)
