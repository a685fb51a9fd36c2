"""Workflows and runs in a few words, for conformance cases and properties: `"Start, list[D]|None -> Sum"`.

`Notation(given)` makes a real blueprint of such lines; `Play` drives its schedule by the names of executions.
"""

from __future__ import annotations

import itertools
import re
import types
from collections.abc import Callable, Mapping
from typing import Any

from planwerk.workflow import entries as journal
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.capability import Capability
from planwerk.workflow.composition import Composition, compose
from planwerk.workflow.events import ControlAndDisplayEvent, Event, StartEvent, StopEvent
from planwerk.workflow.ids import EventId
from planwerk.workflow.locale_string import LocaleString
from planwerk.workflow.schedule import Decision, RunSchedule, entry_of
from planwerk.workflow.seen import Execution
from planwerk.workflow.steps import EventParameter, Output, Retry, Returns, Shape, Signature, StepSpec

_serial = itertools.count(1)
ORDINALS = {"first": 1, "second": 2, "third": 3}


async def _body() -> None:
    """Steps of a notation are never executed; the play says what they return."""


class Notation:
    """A blueprint made of lines `step -> "inputs -> outputs"`; `call Q -> O` nests a capability, `request R` names its
    answers."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._prefix = f"Play{next(_serial)}"
        self.classes: dict[str, type[Event]] = {}
        answers = {key.removeprefix("request ").strip(): value for key, value in given.items() if key[:8] == "request "}
        for name, answered_by in answers.items():
            request = self.cls(name)
            request.answered_by = tuple(self.cls(part) for part in _split(answered_by, "|"))
        self.capabilities: dict[str, type[Capability]] = {}
        self._keep: list[Any] = []
        for key, value in given.items():
            if key.startswith("call "):
                self._capability(key.removeprefix("call "), value)
        body = {
            name: self._step(name, line) for name, line in given.items() if isinstance(line, str) and " " not in name
        }
        self.blueprint: type[Agent] = types.new_class(
            self._prefix, (Agent,), {}, lambda namespace: namespace.update(body)
        )

    def compose(self, start: str = "Start") -> Composition:
        return compose(self.blueprint, self.cls(start))

    def cls(self, name: str) -> type[Event]:
        """The event class of this name, made when first named."""
        name = name.strip()
        if name not in self.classes:
            base: type[Event] = ControlAndDisplayEvent
            if name.startswith("Start"):
                base = StartEvent
            elif name.startswith("Stop"):
                base = StopEvent
            python_name = f"{self._prefix}{name.replace('?', 'Asked')}"
            self.classes[name] = types.new_class(
                python_name, (base,), {}, lambda body: body.update(__module__=__name__)
            )
        return self.classes[name]

    def name(self, event: Event | type[Event]) -> str:
        """The short name of an event's class."""
        cls = event if isinstance(event, type) else type(event)
        return next(name for name, known in self.classes.items() if known is cls)

    def _capability(self, header: str, lines: Mapping[str, str]) -> None:
        request, _, outcomes = header.partition("->")
        body: dict[str, Any] = {name: self._step(name, line) for name, line in lines.items()}
        for part in _split(request, "|"):
            body[f"{part.strip()}Request"] = self.cls(part)
        for part in _split(outcomes, "|"):
            if part.strip():
                body[part.strip()] = self.cls(part)
        name = f"Call{request.strip()}"
        made = types.new_class(f"{self._prefix}{name}", (Capability,), {}, lambda namespace: namespace.update(body))
        self.capabilities[request.strip()] = made

    def _step(self, name: str, line: str) -> Callable[..., Any]:
        line, _, condition = line.partition(", if ")
        inputs, _, outputs = line.partition("->")
        stop_on_error = "stop_on_error=False" not in outputs
        outputs = re.sub(r"\(stop_on_error=\w+\)", "", outputs)
        parameters = tuple(self._parameter(index, part) for index, part in enumerate(_split(inputs, ",")))
        alternatives = tuple(self._alternative(part) for part in _split(outputs, "|"))
        function = types.FunctionType(_body.__code__, globals(), name)
        spec = StepSpec(function, name, LocaleString(name), None, None, None, None, stop_on_error, Retry(), None)
        spec._signature = Signature(parameters, (), Returns(alternatives), takes_self=True)  # pyright: ignore[reportPrivateUsage] - no code stands behind it
        if condition:
            spec.precondition = _ordinal(condition)
            spec._precondition_signature = Signature(parameters[:1], (), Returns(((),)), takes_self=False)  # pyright: ignore[reportPrivateUsage] - as above
        function.__planwerk_step__ = spec  # pyright: ignore[reportFunctionMemberAccess] - what @step does
        return function

    def _parameter(self, index: int, text: str) -> EventParameter:
        text = text.strip()
        optional = text.endswith("|None")
        text = text.removesuffix("|None").strip()
        listed = re.fullmatch(r"list\[(.*)\]", text)
        shape = {
            (False, False): Shape.SINGLE,
            (False, True): Shape.OPTIONAL,
            (True, False): Shape.LIST,
            (True, True): Shape.OPTIONAL_LIST,
        }[(listed is not None, optional)]
        names = (listed.group(1) if listed else text).split("|")
        return EventParameter(f"p{index}", tuple(self.cls(name) for name in names), shape)

    def _alternative(self, text: str) -> tuple[Output, ...]:
        text = text.strip()
        if text in {"None", ""}:
            return ()
        if text.startswith("("):
            return tuple(output for part in _split(text[1:-1], ",") for output in self._alternative(part))
        listed = re.fullmatch(r"list\[(.*)\]", text)
        if listed:
            return tuple(Output(self.cls(name), many=True) for name in listed.group(1).split("|"))
        return (Output(self.cls(text)),)


def _ordinal(condition: str) -> Callable[..., Any]:
    found = re.fullmatch(r"it is the (\w+) \w+", condition)
    assert found is not None

    def wanted(event: Event) -> int:
        return ORDINALS[found.group(1)]

    return wanted


def _split(text: str, separator: str) -> list[str]:
    """Split where no bracket is open."""
    parts, depth, current = list[str](), 0, ""
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == separator and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += letter
    parts.append(current)
    return [part for part in (piece.strip() for piece in parts) if part]


class Play:
    """Drives a schedule: `begin()`, `end("work.2", "D")`, `answer(1, "Confirmed")`; says what became due."""

    def __init__(self, notation: Notation, start: str = "Start", composition: Composition | None = None) -> None:
        self.notation = notation
        self.composition = composition or notation.compose(start)
        self.schedule = RunSchedule(self.composition)
        self.start = start
        self.journal: list[journal.Entry] = []
        self.executions: dict[str, Execution] = {}
        self.labels: dict[int, set[str]] = {}
        self.asks: list[Execution] = []
        self.fault: Exception | None = None
        self._names: dict[int, str] = {}
        self._step_counts: dict[str, int] = {}
        self._class_counts: dict[str, int] = {}
        self._requests: list[int] = []
        self._calls: dict[int, tuple[str, int]] = {}

    def begin(self) -> list[str]:
        self._publish(self.notation.cls(self.start)(), None)
        return self._decide()

    def end(self, execution: str, outputs: str = "", *, failed: bool = False) -> list[str]:
        """The execution of this name ends with these events."""
        found = self.executions.get(execution) or self.executions[f"{execution}.1"]
        positions = [self._publish(self.notation.cls(name)(), found) for name in outputs.split()]
        if failed:
            error = journal.ErrorInfo("step_failed", "boom")
            self._record(journal.ExecutionFailed(found.id, 0, error))
        else:
            self._record(journal.ExecutionFinished(found.id, 0, 1, tuple(positions)))
        return self._decide()

    def answer(self, number: int, name: str) -> list[str]:
        """A person answers the request of this number, counted from 1 as they were asked."""
        event = self.notation.cls(name)()
        self._record(journal.EventPublished(event, EventId(""), 0, answers=self._requests[number - 1]))
        self.labels[self.schedule.position] = {name}
        return self._decide()

    def verdict(self, execution: Execution, verdict: bool) -> list[str]:
        """A precondition gives its verdict."""
        self._record(
            journal.PreconditionAnswered(execution.step.name, execution.scope.position, execution.positions, verdict, 0)
        )
        return self._decide()

    def running(self) -> list[str]:
        """Names of the executions in flight."""
        return [name for name, execution in self.executions.items() if execution.id in self.schedule.in_flight]

    def describe(self, execution: Execution) -> str:
        bound: list[str] = []
        for positions, parameter in zip(execution.positions, execution.step.parameters, strict=True):
            names = [f"{{{position}}}" for position in positions]
            bound.append(f"[{' '.join(names)}]" if parameter.is_list else names[0] if names else "None")
        return f"{self.name_of(execution)}({', '.join(bound)})"

    def name_of(self, execution: Execution) -> str:
        return self._names[id(execution)]

    def _publish(self, event: Event, execution: Execution | None) -> int:
        entry = journal.EventPublished(event, EventId(""), 0, execution=execution.id if execution else None)
        name = self.notation.name(event)
        self._record(entry)
        position = self.schedule.position
        self._class_counts[name] = number = self._class_counts.get(name, 0) + 1
        labels = {name, f"{name}.{number}"}
        if execution is not None:
            step = execution.step.spec.name
            labels |= {f"{name}.{step}", f"{name}.{self.name_of(execution)}"}
            if execution.scope.position:
                request, call = self._calls[execution.scope.position]
                labels.add(f"{name}.{request}.{call}")
            siblings = execution.published
            labels.add(f"{name}.{siblings}")
            kind = execution.scope.plan.by_class.get(type(event))
            if kind is not None and kind.call is not None:
                self._calls[position] = (name, sum(1 for known, _ in self._calls.values() if known == name) + 1)
            elif kind is not None and kind.answers:
                self._requests.append(position)
        self.labels[position] = labels
        return position

    def _record(self, entry: journal.Entry) -> None:
        self.journal.append(entry)
        self.schedule.apply(entry)

    def _decide(self) -> list[str]:
        decision = self.schedule.decide()
        due = self._take(decision)
        while self.asks:
            asked = self.asks.pop(0)
            wanted = asked.step.spec.precondition
            assert wanted is not None
            first = asked.binding[0]
            assert first is not None
            assert not isinstance(first, list)
            due += self.verdict(asked, first.place + 1 == wanted(first.event))
        return due

    def _take(self, decision: Decision) -> list[str]:
        self.fault = self.fault or decision.fault
        for execution in decision.due:
            self.journal.append(entry_of(execution))
            step = execution.step.spec.name
            self._step_counts[step] = number = self._step_counts.get(step, 0) + 1
            self.executions[f"{step}.{number}"] = execution
            self._names[id(execution)] = f"{step}.{number}"
        self.asks += decision.asks
        return [self.describe(execution) for execution in decision.due]

    def matches(self, described: str, expected: str) -> bool:
        """Whether `work.2({17}, [{4} {9}])` is what a case calls `work.2(W.2, [D.a D.b])`."""
        got_name, got = _parts(described)
        wanted_name, wanted = _parts(expected)
        if wanted_name not in {got_name, got_name.removesuffix(".1")} or len(got) != len(wanted):
            return False
        return all(self._token_matches(mine, theirs) for mine, theirs in zip(got, wanted, strict=True))

    def _token_matches(self, mine: str, theirs: str) -> bool:
        if mine.startswith("["):
            left, right = mine[1:-1].split(), theirs[1:-1].split()
            return len(left) == len(right) and all(map(self._token_matches, left, right))
        if mine == "None":
            return theirs == "None"
        return theirs in self.labels[int(mine[1:-1])]


def _parts(text: str) -> tuple[str, list[str]]:
    name, _, inside = text.partition("(")
    return name, _split(inside.removesuffix(")"), ",")


def executions_of(text: str) -> list[str]:
    """Split `"a(X) b([Y Z], None)"` into its executions."""
    return re.findall(r"[\w.]+\((?:[^()]*)\)", text)
