"""A run as the source of a test that plays it again: no model is called, nobody is asked (U8).

What came from outside is taken from the journal: the start event, what models said, what people and other runs
answered. The test runs the blueprint on that and asserts that it ends as it did. Who changes the blueprint sees what
becomes of a conversation that really took place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ThinkingPart, ToolCallPart

from planwerk.messages.events import LLMEvent, ModelExchangeEvent
from planwerk.runtime.closing import DeadlineExceeded, PoisonStep
from planwerk.runtime.errors import RuntimeFault
from planwerk.runtime.profiles import UnknownBlueprint
from planwerk.workflow import entries as journal
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.codec import write_fields
from planwerk.workflow.events import Event, ExceptionEvent, StopEvent
from planwerk.workflow.fitting import CodeChanged
from planwerk.workflow.ids import ExecutionId
from planwerk.workflow.requests import OutsideRequest

INDENT: Final = "    "
LINE: Final = 100


class NoTestOfRun(RuntimeFault):
    """A run cannot be played again as a test: what it ended with does not come from its code, or was not kept."""

    code = "no_test_of_run"
    http_status = 422

    def __init__(self, run: str, why: str) -> None:
        super().__init__(
            f"no test can play run {run} again: {why} (U8).",
            what_to_do="Take a run that went to its end by itself, or write the test by hand with run_workflow.",
        )


def as_test(entries: Sequence[journal.Entry], blueprint: type[Agent]) -> str:
    """The source of a test module for pytest, with pytest-asyncio in its automatic mode.

    Args:
        entries: The whole journal of a run that has ended.

    Raises:
        NoTestOfRun: It was stopped from outside, or its journal is of a time when models' answers were not kept.
    """
    opened, end = cast("journal.RunOpened", entries[0]), entries[-1]
    stop = next(e.event for e in entries if isinstance(e, journal.EventPublished) and isinstance(e.event, StopEvent))
    if isinstance(end, journal.RunEnded) and end.status == "stopped":
        raise NoTestOfRun(opened.run, "it was stopped by hand")
    if isinstance(stop, ExceptionEvent) and stop.code in _FROM_OUTSIDE:
        raise NoTestOfRun(opened.run, f"it ended with {stop.code}, which its code does not say")
    if opened.forked_from is not None:
        raise NoTestOfRun(opened.run, f"it is a fork, and its beginning was played in run {opened.forked_from}")
    if any(isinstance(entry, journal.ModelCalled) and entry.exchange is None for entry in entries):
        raise NoTestOfRun(opened.run, "what its models answered was not kept by the version that recorded it")
    return _Source(opened, blueprint, stop).write(entries)


_FROM_OUTSIDE: Final = frozenset({DeadlineExceeded.code, PoisonStep.code, CodeChanged.code, UnknownBlueprint.code})


@dataclass
class _Source:
    opened: journal.RunOpened
    blueprint: type[Agent]
    stop: StopEvent
    imports: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def write(self, entries: Sequence[journal.Entry]) -> str:
        start = cast("journal.EventPublished", entries[1]).event
        name = self.named(self.blueprint)
        arguments = [name, self.event(start)]
        if self.opened.config:
            arguments.append(f"config={self.config()}")
        lines = [f"async def test_{_snake(name)}_{self.opened.run[-12:]}() -> None:"]
        model = self.model(_calls_that_count(entries))
        if model:
            lines += [f"{INDENT}model = {model}"]
            arguments.append("model=model")
        answers = list(self.answers(entries))
        if answers:
            lines += [f"{INDENT}answers = {self.dictionary(answers)}"]
            arguments.append("respond=lambda request: (answers.get(type(request)) or [None]).pop(0)")
        self.imported("planwerk.testing", "run_workflow")
        lines += [f"{INDENT}result = await run_workflow({_joined(arguments)})", "", *self.asserted()]
        head = f'"""Plays run {self.opened.run} again, as it was recorded: no model is called."""'
        return "\n".join([head, "# ruff: noqa: E501", "", *self.import_lines(), "", "", *lines, ""])

    # What came from outside ------------------------------------------------------------------------------------------

    def model(self, calls: Sequence[journal.ModelCalled]) -> str:
        """What models said: answers in order, small tasks by what they were for."""
        said: list[str] = []
        tasks: dict[str, list[str]] = {}
        for call in calls:
            exchange = cast("ModelExchangeEvent", call.exchange)
            of_task = tasks.setdefault(exchange.task, []) if exchange.task else said
            of_task.append(self.answer(exchange.messages, is_data=call.purpose == "prediction"))
        if not said and not tasks:
            return ""
        self.imported("planwerk.testing", "ScriptedModel")
        script = _list(said)
        if not tasks:
            return f"ScriptedModel({script})"
        items = [f"{task!r}: {found[0] if len(found) == 1 else _list(found, 2)}" for task, found in tasks.items()]
        return f"ScriptedModel({script}, tasks={{{_joined(items)}}})"

    def answer(self, messages: Sequence[ModelMessage], *, is_data: bool = False) -> str:
        """The last thing the model said, as an item of a script; what failed fails again."""
        last = messages[-1] if messages else None
        if not isinstance(last, ModelResponse):
            return 'ConnectionError("this call failed when the run was recorded")'
        pieces = [piece for part in last.parts if (piece := self.piece(part)) is not None]
        calls = [part for part in last.parts if isinstance(part, ToolCallPart)]
        if is_data:
            return repr(calls[0].args_as_dict() if calls else json.loads(last.text or "null"))
        if len(calls) == len(pieces) > 0:
            return pieces[0] if len(pieces) == 1 else _list(pieces, 2)
        if len(pieces) == 1 and not calls and last.text:
            return pieces[0]
        self.imported("planwerk.testing", "Stream")
        return f"Stream({_joined(pieces, 2)})"

    def piece(self, part: object) -> str | None:
        match part:
            case TextPart(content=text):
                return repr(text)
            case ThinkingPart(content=text):
                self.imported("planwerk.testing", "Thought")
                return f"Thought({text!r})"
            case ToolCallPart():
                self.imported("planwerk.testing", "ScriptedCall")
                arguments, identity = part.args_as_dict(), part.tool_call_id
                return f"ScriptedCall({part.tool_name!r}, {arguments!r}, call_id={identity!r})"
            case _:
                return None

    def answers(self, entries: Sequence[journal.Entry]) -> Iterator[tuple[type[Event], str]]:
        """What was answered, by class of request, in the order of the requests; None for what nobody answered."""
        published = {at: e for at, e in enumerate(entries, 1) if isinstance(e, journal.EventPublished)}
        given = {e.answers: e.event for e in published.values() if e.answers is not None and not e.discarded}
        for position, entry in published.items():
            request = entry.event
            if request.answered_by and not entry.discarded:
                answer = given.get(position)
                yield (
                    type(request),
                    "None" if answer is None or _came_by_itself(request, answer) else self.event(answer),
                )

    def dictionary(self, answers: Iterable[tuple[type[Event], str]]) -> str:
        by_class: dict[type[Event], list[str]] = {}
        for cls, answer in answers:
            by_class.setdefault(cls, []).append(answer)
        return f"{{{_joined([f'{self.named(cls)}: {_list(found, 2)}' for cls, found in by_class.items()])}}}"

    # What came of it -------------------------------------------------------------------------------------------------

    def asserted(self) -> list[str]:
        stop = self.stop
        if isinstance(stop, ExceptionEvent):
            return [f"{INDENT}assert result.error is not None", f"{INDENT}assert result.error.code == {stop.code!r}"]
        lines = [f"{INDENT}assert result.error is None"]
        said = {name: value for name in type(stop).model_fields if isinstance(value := getattr(stop, name), LLMEvent)}
        if not said:
            return [*lines, f"{INDENT}assert result.stop.same_as({self.event(stop)})"]
        lines.append(f"{INDENT}assert isinstance(result.stop, {self.named(type(stop))})")
        return lines + [f"{INDENT}assert result.stop.{name}.text == {value.text!r}" for name, value in said.items()]

    # Python ----------------------------------------------------------------------------------------------------------

    def event(self, event: Event) -> str:
        return f"{self.named(type(event))}.model_validate_json({_raw(write_fields(event))})"

    def config(self) -> str:
        text = json.dumps(self.opened.config, ensure_ascii=False)
        return f"{self.named(self.blueprint.config)}.model_validate_json({_raw(text)})"

    def named(self, cls: type[Any]) -> str:
        """How the class is called in the test, once it is imported."""
        self.imported(cls.__module__, cls.__qualname__.partition(".")[0])
        return cls.__qualname__

    def imported(self, module: str, name: str) -> None:
        self.imports.setdefault(module, set()).add(name)

    def import_lines(self) -> list[str]:
        return [f"from {module} import {', '.join(sorted(self.imports[module]))}" for module in sorted(self.imports)]


def _calls_that_count(entries: Sequence[journal.Entry]) -> list[journal.ModelCalled]:
    """Model calls in order, without those of attempts under which a worker died: a test begins them once."""
    kept: list[journal.ModelCalled] = []
    failed: set[ExecutionId] = set()
    for entry in entries:
        match entry:
            case journal.ModelCalled():
                kept.append(entry)
            case journal.AttemptFailed(execution):
                failed.add(execution)
            case journal.ExecutionStarted(execution) if execution in failed:
                failed.discard(execution)
            case journal.ExecutionStarted(execution):
                kept = [call for call in kept if call.execution != execution]
            case _:
                pass
    return kept


def _came_by_itself(request: Event, answer: Event) -> bool:
    """Whether it says that the time was over, which it will be again."""
    if not isinstance(request, OutsideRequest) or request.due_microseconds(0) is None:
        return False
    return type(answer) is type(request.overdue_answer())


def _raw(text: str) -> str:
    """JSON text as a raw string of Python: no apostrophe ends it, and a back-slash is one."""
    escaped = text.replace("'", "\\u0027")
    return f"r'''{escaped}'''"


def _list(items: Sequence[str], depth: int = 1) -> str:
    return f"[{_joined(items, depth)}]"


def _joined(items: Sequence[str], depth: int = 1) -> str:
    """On one line where that is short, else one below the other."""
    line = ", ".join(items)
    if len(line) <= LINE - (depth + 1) * len(INDENT) and "\n" not in line:
        return line
    below = "".join(f"{INDENT * (depth + 1)}{item},\n" for item in items)
    return f"\n{below}{INDENT * depth}"


def _snake(name: str) -> str:
    """`LLMWrappingAgent` as `llm_wrapping_agent`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).replace(".", "_").lower()
