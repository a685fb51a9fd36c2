"""The demo model itself: what it is asked decides which of its rules answers."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from typing import Final

from planwerk.messages.prompts import system_text
from planwerk.models.demo import facts
from planwerk.models.demo.answers import answer, draft, is_draft_request
from planwerk.models.demo.language import topic_of
from planwerk.models.demo.schemas import Texts, instance
from planwerk.models.demo.tasks import do_task
from planwerk.models.demo.tools import arguments, choose_tool, report, results_in_turn, used_in_turn
from planwerk.models.played import Call, Piece, PlayedModel, PlayedRequest, Words

PROVIDER: Final = "demo"
NAME: Final = "planwerk"
_WORD: Final = re.compile(r"\S*\s*")


class DemoModel(PlayedModel):
    """Answers without a key and without a network; the same question gets the same answer.

    Args:
        pace_seconds: Pause between two words of a streamed answer; 0 never waits.
    """

    def __init__(self, *, pace_seconds: float = 0.0) -> None:
        super().__init__(PROVIDER, NAME)
        self._pace_seconds = pace_seconds

    async def play(self, request: PlayedRequest) -> AsyncGenerator[Piece, None]:
        for piece in reply(request):
            if isinstance(piece, Call):
                yield piece
                continue
            for word in _WORD.findall(piece.text):
                if word:
                    yield Words(word)
                    if request.streamed:
                        await asyncio.sleep(self._pace_seconds)


def reply(request: PlayedRequest) -> list[Words | Call]:
    """What the demo model says to a request: data, a tool call, the result of a task, or an answer."""
    prompts = request.prompts()
    question, given = _question_and_material(prompts)
    if request.output_schema is not None:
        return [_data(request, question)]
    if request.purpose is not None:
        done = do_task(request.purpose, prompts[-1] if prompts else "")
        if done is not None:
            return [Words(done)]
    tool = choose_tool(question, request.parameters.function_tools, used_in_turn(request.messages))
    if tool is not None:
        return [Call(tool.name, arguments(question, tool), f"demo_{len(request.messages)}")]
    results = results_in_turn(request.messages)
    if results:
        return [Words(report(question, results))]
    earlier = [prompt for prompt in prompts[:-1] if not _is_framed(prompt)]
    return [Words(answer(question, earlier=earlier, given=given, system=system_text(request.messages)))]


def _data(request: PlayedRequest, question: str) -> Words | Call:
    prose = draft(question) if is_draft_request(question) else answer(question)
    schema = request.output_schema or {}
    remembers = request.output_name == facts.TASK_TYPE
    data = facts.changes(question) if remembers else instance(schema, Texts(question, topic_of(question), prose))
    text = json.dumps(data, ensure_ascii=False)
    if request.parameters.output_tools:
        return Call(request.parameters.output_tools[0].name, text, f"demo_{len(request.messages)}")
    return Words(text)


def _question_and_material(prompts: list[str]) -> tuple[str, str]:
    """The last prompt is the question; framed prompts directly before it are material."""
    if not prompts:
        return "", ""
    material = [prompt for prompt in prompts[-3:-1] if _is_framed(prompt)]
    return prompts[-1], "\n\n".join(material)


def _is_framed(prompt: str) -> bool:
    return re.match(r"\s*<[a-z_]+[^<>]*>", prompt) is not None
