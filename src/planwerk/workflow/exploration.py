"""Whether a workflow can stall: its abstract runs, explored with the very schedule that runs them (E6.4).

Events have no content here. Each scope is explored on its own: a call it opens is a box that answers with any of the
outcomes found for its capability, which is exact, since scopes share nothing but the start event. Of a list there are
two of each class it names; an execution returns any of its declared alternatives, a step that may fail also nothing.
Executions commute where no cycle of waits is met, so one of those in flight is ended at a time; where a cycle is met,
every order is explored.

States are found by replaying their shortest path, breadth first, so that a problem is printed as the shortest one.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from planwerk.workflow import entries as journal
from planwerk.workflow.errors import PlanwerkError, Problem
from planwerk.workflow.events import ControlEvent, Event
from planwerk.workflow.ids import EventId
from planwerk.workflow.pairing import pair_warnings
from planwerk.workflow.plan import ClassPlan, Composition, ParameterPlan, ScopePlan
from planwerk.workflow.schedule import Decision, RunSchedule
from planwerk.workflow.scope import Scope
from planwerk.workflow.seen import Execution
from planwerk.workflow.stalling import TooManyExecutions

MAX_STATES: Final = 20_000
MAX_ROUNDS: Final = 3
"""How often a step of a loop is followed; what lies beyond is not proven."""
OF_A_LIST: Final = 2

Move = tuple[str, int, tuple[type[Event], ...]]
"""What happened: `("end", execution, outputs)`, `("answer", request, (cls,))` or `("verdict", ask, ())` with 1 or 0."""


@dataclass(frozen=True, slots=True)
class _Mode:
    """Errors are found with full lists and preconditions saying yes; warnings with everything else."""

    severity: str
    partial_lists: bool
    refusing_preconditions: bool


ERRORS: Final = _Mode("error", partial_lists=False, refusing_preconditions=False)
WARNINGS: Final = _Mode("warning", partial_lists=True, refusing_preconditions=True)


def explore(composition: Composition) -> list[Problem]:
    """The stalls, unreachable ends and double answers of every scope of a composed workflow."""
    problems: list[Problem] = []
    for plan in composition.scopes:
        found = _Explorer(composition, plan, ERRORS).explore()
        if not found:
            found = _Explorer(composition, plan, WARNINGS).explore()
        problems += found
        problems += pair_warnings(plan, plan.name or composition.blueprint.__name__)
    return problems


class _Explorer:
    """Explores one scope in one mode."""

    def __init__(self, composition: Composition, plan: ScopePlan, mode: _Mode) -> None:
        self._composition = composition
        self._plan = plan
        self._mode = mode
        self._boxed = _with_boxes(plan)
        self._owner = plan.name or composition.blueprint.__name__
        self._ends_seen = False
        self._cut = False
        self._all_orders = False
        self._cycles: dict[str, None] = {}

    def explore(self) -> list[Problem]:
        problem = self._search()
        if self._cycles and not self._all_orders:
            self._all_orders = True
            problem = self._search() or problem
        if problem is not None:
            return [problem]
        if self._mode is ERRORS and not self._ends_seen and self._must_end():
            return [self._no_end()]
        if self._mode is WARNINGS:
            return [*self._cycle_warnings(), *self._not_proven()]
        return []

    def _search(self) -> Problem | None:
        seen: set[Hashable] = set()
        frontier: deque[tuple[Move, ...]] = deque([()])
        while frontier:
            path = frontier.popleft()
            try:
                play = self._replay(path)
            except TooManyExecutions:
                continue
            if play.fault is not None:
                return None if isinstance(play.fault, TooManyExecutions) else self._problem(path, play.fault)
            self._cycles.update(dict.fromkeys(play.schedule.cycles))
            if play.is_over:
                self._ends_seen = True
            if play.has_stopped:
                continue
            key = play.key()
            if key in seen:
                continue
            seen.add(key)
            if len(seen) > MAX_STATES:
                self._cut = True
                return None
            frontier.extend((*path, move) for move in self._moves(play))
        return None

    def _replay(self, path: tuple[Move, ...]) -> _AbstractRun:
        play = _AbstractRun(self._composition, self._plan, self._boxed)
        for move in path:
            play.make(move)
        return play

    def _moves(self, play: _AbstractRun) -> Iterator[Move]:
        for number, _ in enumerate(play.asks):
            yield ("verdict", number, (Event,))
            if self._mode.refusing_preconditions:
                yield ("verdict", number, ())
            return
        executions = play.in_flight()
        for execution in executions if self._all_orders else executions[-1:]:
            if play.rounds(execution) > MAX_ROUNDS:
                self._cut = True
                continue
            for outputs in self._outputs(execution):
                yield ("end", play.number(execution), outputs)
        if executions and not self._all_orders:
            return
        for number, opened in enumerate(play.schedule.requests.values()):
            for cls in _classes(opened.scope.plan, opened.asked.kind):
                yield ("answer", number, (cls,))
            if not self._all_orders:
                return

    def _outputs(self, execution: Execution) -> Iterator[tuple[type[Event], ...]]:
        step = execution.step
        for alternative in step.returns.alternatives:
            control = [output for output in alternative if issubclass(output.cls, ControlEvent)]
            full = tuple(output.cls for output in control for _ in range(OF_A_LIST if output.many else 1))
            yield full
            if self._mode.partial_lists and any(output.many for output in control):
                fixed = tuple(output.cls for output in control if not output.many)
                many = [output.cls for output in control if output.many]
                for size in range(len(many)):
                    for chosen in itertools.combinations(many, size):
                        yield (*fixed, *(cls for cls in chosen for _ in range(OF_A_LIST)))
        if not step.spec.stop_on_error:
            yield ()

    # What is said --------------------------------------------------------------------------------------------------

    def _must_end(self) -> bool:
        return self._plan.request is None or self._plan.owes_outcome

    def _problem(self, path: tuple[Move, ...], fault: PlanwerkError) -> Problem:
        remedy = fault.what_to_do or "Let each path end in a stop."
        return Problem(
            self._owner, "E6.4", f"{self._describe(path)}: {fault.message}", remedy, severity=self._mode.severity
        )

    def _no_end(self) -> Problem:
        what = "stop" if self._plan.request is None else "outcome"
        return Problem(
            self._owner,
            "E6.4",
            f"no {what} can be reached from {(self._plan.request or self._plan.start).__name__}.",
            f"Let a step return a {what}.",
        )

    def _cycle_warnings(self) -> list[Problem]:
        return [
            Problem(
                f"{self._owner}.{name.rpartition('.')[2]}",
                "E3.4",
                "steps wait for each other's optional events in a cycle, and this one is started first.",
                "Make one of the inputs required, or take it out.",
                severity="warning",
            )
            for name in self._cycles
        ]

    def _not_proven(self) -> list[Problem]:
        if not self._cut:
            return []
        return [
            Problem(
                self._owner,
                "E6.4",
                f"freedom from stalls is not proven beyond {MAX_ROUNDS} rounds of its loops or {MAX_STATES} states.",
                "Nothing is refused for it; tests have to show the rest.",
                severity="note",
            )
        ]

    def _describe(self, path: tuple[Move, ...]) -> str:
        """The path as people read it: `begin → guard → ContextInsufficientEvent`."""
        play = _AbstractRun(self._composition, self._plan, self._boxed)
        words: list[str] = []
        for move in path:
            kind, number, outputs = move
            names = " ".join(dict.fromkeys(cls.__name__ for cls in outputs)) or "nothing"
            if kind == "end":
                words.append(f"{play.by_number(number).step.spec.name} → {names}")
            elif kind == "answer":
                words.append(names)
            else:
                words.append(f"{play.asks[number].step.spec.name}'s precondition says {'yes' if outputs else 'no'}")
            play.make(move)
        return ", ".join(words) or (self._plan.request or self._plan.start).__name__


class _AbstractRun:
    """One abstract run of one scope, driven move by move."""

    def __init__(self, composition: Composition, plan: ScopePlan, boxed: ScopePlan) -> None:
        root = boxed if plan.request is None else _around(plan, boxed)
        self.schedule = RunSchedule(replace(composition, root=root))
        self.fault: PlanwerkError | None = None
        self.asks: list[Execution] = []
        self._executions: list[Execution] = []
        self._counts: dict[str, int] = {}
        self._ids = itertools.count(1)
        self._plan = plan
        self.schedule.apply(journal.EventPublished(plan.start.model_construct(), EventId(""), 0))
        self.call: Scope | None = None
        if plan.request is not None:
            self.call = self.schedule.open_from_outside(plan.request.model_construct())
        self._decide()

    @property
    def has_stopped(self) -> bool:
        return self.schedule.stop is not None

    @property
    def is_over(self) -> bool:
        """The scope has reached what it owes: a stop, or for a call an outcome."""
        return self.has_stopped or (self.call is not None and self.call.answered)

    def in_flight(self) -> list[Execution]:
        return list(self.schedule.in_flight.values())

    def number(self, execution: Execution) -> int:
        return self._executions.index(execution)

    def by_number(self, number: int) -> Execution:
        return self._executions[number]

    def rounds(self, execution: Execution) -> int:
        return self._counts.get(execution.step.name, 0) // OF_A_LIST

    def make(self, move: Move) -> None:
        kind, number, outputs = move
        if kind == "end":
            self._end(self._executions[number], outputs)
        elif kind == "answer":
            position = list(self.schedule.requests)[number]
            event = outputs[0].model_construct()
            self.schedule.apply(journal.EventPublished(event, EventId(""), 0, answers=position))
        else:
            asked = self.asks.pop(number)
            answer = journal.PreconditionAnswered(
                asked.step.name, asked.scope.position, asked.positions, bool(outputs), 0
            )
            self.schedule.apply(answer)
        self._decide()

    def _end(self, execution: Execution, outputs: tuple[type[Event], ...]) -> None:
        positions: list[int] = []
        for cls in outputs:
            entry = journal.EventPublished(cls.model_construct(), EventId(""), 0, execution=execution.id)
            self.schedule.apply(entry)
            positions.append(self.schedule.position)
        self.schedule.apply(journal.ExecutionFinished(execution.id, 0, 1, tuple(positions)))

    def _decide(self) -> None:
        decision: Decision = self.schedule.decide(lambda: f"x{next(self._ids)}")
        self._executions += decision.due
        for execution in decision.due:
            self._counts[execution.step.name] = self._counts.get(execution.step.name, 0) + 1
        self.asks += decision.asks
        fault = decision.fault
        finished_call = self.call is not None and self.call.answered and not self.schedule.in_flight
        if fault is not None and not (finished_call and fault.code == "run_stalled"):
            self.fault = fault

    def key(self) -> Hashable:
        """What distinguishes this state from others; two of a kind count as many."""
        schedule = self.schedule
        flight = sorted((execution.step.name, execution.rounds) for execution in schedule.in_flight.values())
        scopes = tuple(_scope_key(scope) for scope in schedule.open_scopes())
        requests = tuple(sorted(opened.asked.kind.index for opened in schedule.requests.values()))
        return (tuple(flight), scopes, requests, tuple(asked.step.name for asked in self.asks))


def _scope_key(scope: Scope) -> Hashable:
    cells = tuple(
        sorted(
            (key, min(len(cell.new), OF_A_LIST), min(len(cell.all), OF_A_LIST), cell.last is not None)
            for key, cell in scope.cells.items()
            if _matters(scope.plan.steps[key[0]].parameters[key[1]])
        )
    )
    return (
        scope.plan.name,
        cells,
        tuple(sorted(scope.waiting.items())),
        scope.empty_starts,
        scope.started if scope.plan.lone else 0,
        scope.answered,
        tuple(held.step.name for held in scope.held),
    )


def _matters(parameter: ParameterPlan) -> bool:
    """Whether a step can stall on it: what is optional and starts nothing cannot."""
    return parameter.starting or parameter.is_single


def _classes(plan: ScopePlan, kind: ClassPlan) -> list[type[Event]]:
    return [candidate.cls for candidate in plan.classes if candidate.bit & kind.answers]


def _with_boxes(plan: ScopePlan) -> ScopePlan:
    """The plan with each call as a request that one of its outcomes or stops answers."""
    classes = [replace(kind, call=None) for kind in plan.classes]
    by_class = {kind.cls: kind for kind in classes}
    for original in plan.classes:
        for stop in original.call.stops if original.call is not None else ():
            if stop not in by_class:
                kind = ClassPlan(len(classes), 1 << len(classes), stop, is_stop=True)
                classes.append(kind)
                by_class[stop] = kind
            by_class[original.cls].answers |= by_class[stop].bit
    return replace(plan, classes=classes, by_class=by_class, possible_memo={})


def _around(plan: ScopePlan, boxed: ScopePlan) -> ScopePlan:
    """A caller for a call that is explored on its own: it opens it, and takes none of its outcomes."""
    assert plan.request is not None
    named = dict.fromkeys([plan.start, plan.request, *plan.outcomes])
    classes = [ClassPlan(index, 1 << index, cls) for index, cls in enumerate(named)]
    by_class = {kind.cls: kind for kind in classes}
    request = by_class[plan.request]
    request.call = boxed
    for outcome in plan.outcomes:
        request.answers |= by_class[outcome].bit
    return ScopePlan("", plan.start, classes=classes, by_class=by_class)
