"""A model that plays a script: what tests of blueprints talk to (E10.1)."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from pydantic import BaseModel
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.profiles import ModelProfile

from planwerk.models.demo.model import reply
from planwerk.models.played import Call, Piece, PlayedModel, PlayedRequest, Thought, Words
from planwerk.models.resolved import ResolvedModel
from planwerk.workflow.errors import PlanwerkError

_WORD: Final = re.compile(r"\S+\s*|\s+")


@dataclass(frozen=True)
class ScriptedCall:
    """A tool call as one item of a script: `ScriptedCall("search", query="refunds")`."""

    tool: str
    arguments: Mapping[str, Any]
    call_id: str | None = None

    def __init__(
        self, tool: str, arguments: Mapping[str, Any] | None = None, /, *, call_id: str | None = None, **named: Any
    ):
        object.__setattr__(self, "tool", tool)
        object.__setattr__(self, "arguments", {**(arguments or {}), **named})
        object.__setattr__(self, "call_id", call_id)


@dataclass(frozen=True)
class Stream:
    """An answer streamed in exactly these pieces: texts, pauses in seconds, calls, and what it breaks off with.

    `Stream("A", "B", ConnectionError("cut"))` says "A", "B" and then raises; `Stream("A", 3.0, "B")` pauses.
    """

    pieces: tuple[str | float | ScriptedCall | Thought | BaseException, ...]

    def __init__(self, *pieces: str | float | ScriptedCall | Thought | BaseException) -> None:
        object.__setattr__(self, "pieces", pieces)


Item: TypeAlias = (
    str | ScriptedCall | Stream | Mapping[str, Any] | BaseModel | ModelResponse | BaseException | Sequence[ScriptedCall]
)
"""One answer of the script: text, a tool call or several, data for a structured call, a stream, or an error."""

TaskItem: TypeAlias = str | Mapping[str, Any] | BaseModel | BaseException
TaskItems: TypeAlias = TaskItem | Sequence[TaskItem]
"""The answer to a task each time, or a list of answers, one for each time."""


class ScriptExhausted(PlanwerkError, AssertionError):
    """The model was asked more often than the script has answers."""

    code = "script_exhausted"

    def __init__(self, answers: int, question: str) -> None:
        super().__init__(
            f"the script has {answers} answers and the model was asked once more: {question[:200]!r}.",
            what_to_do="Add an answer to ScriptedModel([...]), or find out why the model is asked again.",
        )


class ScriptedModel(PlayedModel):
    """Plays its script in order, streamed word by word, and records what it was asked.

    Args:
        script: One item per answer.
        tasks: Answers to the small tasks around a turn, by purpose (`"gate"`, `"title"`, `"follow_ups"`,
            `"condense"`) or by the name of the output type; a list is played in order, an answer each time. Task calls
            for which nothing is given here are answered as the demo model does, so that a script lists the answers of
            the conversation only.
        all_from_script: Take the answers to tasks from the script too, in the order the calls come.
        profile: What the model can do; by default tools and JSON schemas.
    """

    def __init__(
        self,
        script: Iterable[Item] = (),
        *,
        tasks: Mapping[str, TaskItems] | None = None,
        all_from_script: bool = False,
        profile: ModelProfile | None = None,
    ) -> None:
        super().__init__("scripted", "script", profile=profile)
        self._script = list(script)
        self._tasks: dict[str, TaskItem | list[TaskItem]] = {}
        for task, given in (tasks or {}).items():
            self._tasks[task] = given if isinstance(given, str) or not isinstance(given, Sequence) else list(given)
        self._all_from_script = all_from_script
        self._played = 0
        self.requests: list[PlayedRequest] = []
        """Every request, tasks included, in order."""
        self.answer_requests: list[PlayedRequest] = []
        """The requests that were answered from the script."""
        self.open_streams = 0
        """Answers being streamed right now; 0 once whoever read them has left."""
        self.asked = asyncio.Event()
        """Set once anything has been asked."""

    @property
    def remaining(self) -> int:
        """Answers that have not been played yet."""
        return len(self._script) - self._played

    def resolved(self) -> ResolvedModel:
        """The model as `Answering` and `Predicting` take it."""
        return ResolvedModel.of(self)

    async def play(self, request: PlayedRequest) -> AsyncGenerator[Piece, None]:
        self.requests.append(request)
        self.open_streams += 1
        self.asked.set()
        try:
            async for piece in self._pieces(request, self._item(request)):
                yield piece
                await asyncio.sleep(0)
        finally:
            self.open_streams -= 1

    def _item(self, request: PlayedRequest) -> Item:
        task = request.purpose or request.output_name
        if task is not None and task in self._tasks:
            return self._of_task(task, request)
        if self._is_task(request):
            played = reply(request)[0]
            return played.text if isinstance(played, Words) else ScriptedCall(played.tool, json.loads(played.arguments))
        if not self.remaining:
            raise ScriptExhausted(len(self._script), (request.prompts() or [""])[-1])
        self.answer_requests.append(request)
        self._played += 1
        return self._script[self._played - 1]

    def _of_task(self, task: str, request: PlayedRequest) -> TaskItem:
        given = self._tasks[task]
        if not isinstance(given, list):
            return given
        if not given:
            raise ScriptExhausted(0, f"{task}: {(request.prompts() or [''])[-1]}")
        return given.pop(0)

    def _is_task(self, request: PlayedRequest) -> bool:
        """Whether the demo model's rules answer: tasks by purpose, and data where the script has none next."""
        if self._all_from_script:
            return False
        if request.purpose is not None:
            return True
        upcoming = self._script[self._played] if self.remaining else None
        return request.output_schema is not None and not isinstance(upcoming, Mapping | BaseModel | BaseException)

    async def _pieces(self, request: PlayedRequest, item: Item) -> AsyncGenerator[Piece, None]:
        match item:
            case BaseException():
                raise item
            case str():
                for word in _WORD.findall(item):
                    yield Words(word)
            case Stream(pieces=pieces):
                async for piece in self._cut(pieces):
                    yield piece
            case ModelResponse():
                for piece in _pieces_of(item):
                    yield piece
            case ScriptedCall():
                yield self._call(item, 0)
            case BaseModel():
                yield self._data(request, item.model_dump(mode="json"))
            case Mapping():
                yield self._data(request, item)
            case _:
                for place, call in enumerate(item):
                    yield self._call(call, place)

    async def _cut(
        self, pieces: Sequence[str | float | ScriptedCall | Thought | BaseException]
    ) -> AsyncGenerator[Piece, None]:
        for place, piece in enumerate(pieces):
            match piece:
                case BaseException():
                    raise piece
                case str():
                    yield Words(piece)
                case Thought():
                    yield piece
                case ScriptedCall():
                    yield self._call(piece, place)
                case _:
                    await asyncio.sleep(piece)

    def _call(self, call: ScriptedCall, place: int) -> Call:
        arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
        return Call(call.tool, arguments, call.call_id or f"call_{self._played}_{place}")

    def _data(self, request: PlayedRequest, data: Mapping[str, Any]) -> Piece:
        """Data goes back in the form that was asked for: a call of the output tool, or JSON text."""
        text = json.dumps(dict(data), ensure_ascii=False)
        if request.parameters.output_tools:
            return Call(request.parameters.output_tools[0].name, text, f"call_{self._played}")
        return Words(text)


def _pieces_of(response: ModelResponse) -> list[Piece]:
    pieces: list[Piece] = []
    for part in response.parts:
        match part:
            case TextPart(content=text):
                pieces += [Words(word) for word in _WORD.findall(text)]
            case ThinkingPart(content=text):
                pieces.append(Thought(text))
            case ToolCallPart():
                pieces.append(Call(part.tool_name, part.args_as_json_str(), part.tool_call_id))
            case _:
                raise TypeError(f"a script cannot play a {type(part).__name__}")
    return pieces
