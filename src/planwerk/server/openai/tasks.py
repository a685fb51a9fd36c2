"""Open WebUI's small tasks around a chat (W2): answered by the task model, never by a run.

A task is told by the header that its admin adds to the connection, `X-OpenWebUI-Task: {{TASK}}`; without it by its
prompt: a frame that begins with the task, names the JSON it wants, and quotes the chat. The frame that Open WebUI puts
around a question about documents begins alike; it quotes no chat and is no task.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from pydantic_ai.messages import ModelMessage

from planwerk.messages.prompts import system_prompt, user_prompt
from planwerk.models.calls import ModelCallRecord
from planwerk.models.predicting import Predicting
from planwerk.runtime.profiles import Profile
from planwerk.server.openai.history import text_of
from planwerk.server.openai.requests import ChatRequest
from planwerk.server.openai.turns import Usage
from planwerk.server.parts import Parts

HEADER: Final = "x-openwebui-task"
KEYS: Final[Mapping[str, str]] = {
    "title_generation": "title",
    "tags_generation": "tags",
    "follow_up_generation": "follow_ups",
    "query_generation": "queries",
    "autocomplete_generation": "text",
    "image_prompt_generation": "prompt",
}
"""The key of the JSON that a task wants; the other tasks want plain text."""
LISTS: Final = frozenset(("tags", "follow_ups", "queries"))
MOST_ITEMS: Final = 5

_FRAME: Final = re.compile(r"\A\s*###\s*Task:", re.IGNORECASE)
_HISTORY: Final = re.compile(r"<chat_history>\n?(.*?)\n?</chat_history>", re.DOTALL)
_WANTED: Final = re.compile(r"\{\s*\"(title|tags|follow_ups|queries|text|prompt)\"\s*:")
_PERSON: Final = re.compile(r"^USER: (.*?)(?=^ASSISTANT: |\Z)", re.MULTILINE | re.DOTALL)
_ITEM: Final = re.compile(r"\A\s*(?:[-*•]|\d+[.)])?\s*[\"'“]?(.*?)[\"'”]?,?\s*\Z")


@dataclass(frozen=True, slots=True)
class Task:
    """A task; `key` names the JSON it wants, None wants plain text."""

    key: str | None
    prompt: str


def task_of(request: ChatRequest, headers: Mapping[str, str]) -> Task | None:
    """The task that a request is, None for what is no task."""
    named = headers.get(HEADER, "").strip().lower()
    last = len(request.messages) - 1
    prompt = text_of(request.messages[last].get("content"), f"messages[{last}]")
    if named and not named.startswith("{{"):
        return Task(KEYS.get(named), prompt)
    quoted = _HISTORY.search(prompt)
    if last > 0 or quoted is None or _FRAME.match(prompt) is None:
        return None
    wanted = _WANTED.search(prompt[: quoted.start()] + prompt[quoted.end() :])
    return Task(wanted[1], prompt) if wanted is not None else None


async def do_task(parts: Parts, profile: Profile, task: Task, usage: Usage) -> str:
    """The task's answer, as the JSON that Open WebUI reads where it wants JSON.

    Raises:
        ModelError: The task model failed.
    """
    named = getattr(profile.config, "task_llm", None) or getattr(profile.config, "llm", None)

    def count(record: ModelCallRecord) -> None:
        usage.add(record.usage.model_dump())

    predicting = Predicting(parts.models.resolve(named), on_call=count)
    said = await predicting.text(_prompt(task), purpose=task.key or "text")
    return said if task.key is None else as_json(said, task.key)


def _prompt(task: Task) -> list[ModelMessage]:
    """The task as it came; with the message it is about in the frame of our own tasks, which our models look for."""
    if task.key is None:
        return [user_prompt(task.prompt)]
    quoted = _HISTORY.search(task.prompt)
    asked = _PERSON.findall(quoted[1]) if quoted is not None else []
    about = f"\n\n<message>\n{asked[0 if task.key == 'title' else -1].strip()}\n</message>" if asked else ""
    instructions = f'Answer with a JSON object with the key "{task.key}", and nothing else.'
    return [system_prompt(instructions), user_prompt(task.prompt + about)]


def as_json(said: str, key: str) -> str:
    """JSON with this key; words that are no such JSON become its value."""
    start, end = said.find("{"), said.rfind("}")
    if 0 <= start < end:
        try:
            found: Any = json.loads(said[start : end + 1])
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict) and key in found:
            return json.dumps({key: cast("dict[str, Any]", found)[key]}, ensure_ascii=False)
    items = [item for line in said.splitlines() if (item := _item(line))]
    value: Any = items[:MOST_ITEMS] if key in LISTS else said.strip() if key != "title" else "".join(items[:1])
    return json.dumps({key: value}, ensure_ascii=False)


def _item(line: str) -> str:
    found = _ITEM.match(line)
    return found[1].strip() if found is not None else ""
