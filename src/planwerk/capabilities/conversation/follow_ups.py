"""Questions a person might ask next, read from what a model wrote when asked for some."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final, cast

from planwerk.messages.prompts import visible_text
from planwerk.messages.sanitise import sanitise_text

MOST: Final = 3
LONGEST: Final = 160

_FENCE: Final = re.compile(r"\A```\w*\s*|\s*```\Z")
_MARKER: Final = re.compile(r"\A\s*(?:[-*+•–]|\d{1,2}[.):])\s+")
_AROUND: Final = " \t\"'“”„«»‘’`*_"
_QUESTION_MARKS: Final = ("?", "？", "؟", ";")


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
        data = next((value for value in cast("dict[str, Any]", data).values() if isinstance(value, list)), [])
    items = cast("list[Any]", data) if isinstance(data, list) else []
    return [item for item in items if isinstance(item, str)]


def _is_question(line: str) -> bool:
    return line.rstrip(_AROUND).endswith(_QUESTION_MARKS)
