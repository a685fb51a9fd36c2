"""The small tasks around a turn, done by rules: the gate's label, a title, follow-ups, a condensed question (C1)."""

from __future__ import annotations

import re
from typing import Final

from planwerk.models.demo.language import is_small_talk, language_of, meta_kind, subject_of, topic_of
from planwerk.models.demo.phrases import say

_MESSAGE: Final = re.compile(r"<message[^<>]*>\n?(.*?)\n?</message>", re.DOTALL)
_ANSWER: Final = re.compile(r"<answer[^<>]*>\n?(.*?)\n?</answer>", re.DOTALL)
_PERSON: Final = re.compile(r"^Person: (.+)$", re.MULTILINE)
_POINTS_BACK: Final = re.compile(
    r"\b(?:it|its|that|this|they|them|there|he|she|es|das|dies\w*|sie|dort|davon|damit|ça|cela|celui|elle|il|y|lo|questo|quello)\b"
    r"|\A(?:and|und|et|e)\b",
    re.IGNORECASE,
)


def do_task(purpose: str, prompt: str) -> str | None:
    """What the demo model writes for a task of this purpose; None for a purpose it has no rule for."""
    found = _MESSAGE.search(prompt)
    message = (found[1] if found else prompt).strip()
    match purpose:
        case "gate":
            return _label(message)
        case "title":
            return _title(message)
        case "follow_ups":
            return _follow_ups(message, prompt)
        case "condense":
            return _condensed(message, prompt)
        case _:
            return None


def _label(message: str) -> str:
    return "small_talk" if is_small_talk(message) else meta_kind(message) or "normal"


def _title(message: str) -> str:
    return topic_of(message, most_words=8)


def _follow_ups(message: str, prompt: str) -> str:
    answer = _ANSWER.search(prompt)
    if is_small_talk(message) or not message:
        return "-"
    language = language_of(answer[1] if answer else message)
    return say("follow_ups", language, topic=subject_of(message))


def _condensed(message: str, prompt: str) -> str:
    """The message itself, or, where it points back, with what was talked about last."""
    asked = [line for line in _PERSON.findall(prompt) if not is_small_talk(line)]
    if not asked or not _POINTS_BACK.search(message):
        return message
    return f"{message.rstrip(' ?.!')} ({subject_of(asked[-1])})?"
