"""Open WebUI's small tasks around a chat (W2): answered by the task model, never by a run."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from planwerk.messages.prompts import system_prompt, user_prompt
from planwerk.models.predicting import Predicting
from planwerk.runtime.profiles import Profile
from planwerk.server.openai.requests import ChatRequest, last_question
from planwerk.server.openai.turns import Usage
from planwerk.server.parts import Parts

HEADER: Final = "x-openwebui-task"
FRAME: Final = re.compile(r"\A###\s*Task:\s*\n", re.IGNORECASE)
KEYS: Final = (("follow_up", "follow_ups"), ("title", "title"), ("tag", "tags"), ("quer", "queries"))


def task_key(request: ChatRequest, headers: Mapping[str, str]) -> str | None:
    """The key of the JSON that a task wants, None for what is no task."""
    named = headers.get(HEADER, "").lower()
    if not named:
        content = request.messages[-1].get("content")
        if len(request.messages) != 1 or not isinstance(content, str) or not FRAME.match(content):
            return None
        named = content[:2000].lower()
    return next((key for mark, key in KEYS if mark in named), "text")


async def answer_task(parts: Parts, profile: Profile, request: ChatRequest, key: str, usage: Usage) -> str:
    """The task's answer as the JSON that Open WebUI reads."""
    named = getattr(profile.config, "task_llm", None) or getattr(profile.config, "llm", None)

    def count(record: Any) -> None:
        usage.add(record.usage.model_dump())

    predicting = Predicting(parts.models.resolve(named), on_call=count)
    purpose = {"title": "title", "follow_ups": "follow_ups"}.get(key, "text")
    words = last_question(request.messages)
    history = [system_prompt("Answer with the JSON that is asked for, and nothing else."), user_prompt(words)]
    said = await predicting.text(history, purpose=purpose)
    return _as_json(said, key)


def _as_json(said: str, key: str) -> str:
    """JSON of the expected key; words that are no JSON become its value."""
    start, end = said.find("{"), said.rfind("}")
    if 0 <= start < end:
        try:
            found: Any = json.loads(said[start : end + 1])
        except json.JSONDecodeError:
            found = None
        if isinstance(found, dict):
            return json.dumps(found, ensure_ascii=False)
    lines = [line.strip(" -*•\"'") for line in said.splitlines() if line.strip()]
    value: Any = lines[0] if key in {"title", "text"} and lines else "" if key in {"title", "text"} else lines[:5]
    return json.dumps({key: value}, ensure_ascii=False)
