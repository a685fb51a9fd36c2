"""Events and executions as the schedule remembers them, and the order of a fan-out (E3.10).

An event a scope has seen knows where it came from: the execution that returned it and, through that execution's first
starting event, the whole way back. Two events are ordered where those ways part.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key
from typing import TYPE_CHECKING, Final

from planwerk.workflow.events import Event
from planwerk.workflow.ids import ExecutionId
from planwerk.workflow.plan import ClassPlan, StepPlan

if TYPE_CHECKING:
    from planwerk.workflow.scope import Scope

Rounds = tuple[int, ...]
NO_ROUNDS: Final[Rounds] = ()
NO_ID: Final = ExecutionId("")


class Seen:
    """An event as one scope sees it."""

    __slots__ = ("depth", "event", "execution", "kind", "place", "position", "rounds", "source")

    def __init__(
        self,
        position: int,
        event: Event,
        kind: ClassPlan,
        execution: Execution | None = None,
        source: Seen | None = None,
        place: int = 0,
        rounds: Rounds = NO_ROUNDS,
    ) -> None:
        self.position = position
        self.event = event
        self.kind = kind
        self.execution = execution
        self.source = source
        """The first starting event of its execution; of an outcome or an answer, the request."""
        self.place = place
        """Its place among what its execution returned."""
        self.rounds = rounds
        self.depth: int = source.depth + 1 if source is not None else 0


Bound = Seen | None | list[Seen]


class Execution:
    """One binding made due: a step, the events it takes, and the scope it works in."""

    __slots__ = ("asked_after", "binding", "fresh", "id", "number", "published", "rounds", "scope", "source", "step")

    def __init__(
        self, step: StepPlan, scope: Scope, binding: tuple[Bound, ...], source: Seen | None, rounds: Rounds
    ) -> None:
        self.step = step
        self.scope = scope
        self.binding = binding
        self.source = source
        self.rounds = rounds
        self.id = NO_ID
        self.published = 0
        self.number = 0
        self.asked_after = 0
        self.fresh = 0
        """Parameters, as a mask, that had new events, which are taken by nobody while a precondition says no."""

    def fork(self, scope: Scope) -> Execution:
        """The same execution in a scope that was forked from its own."""
        twin = Execution(self.step, scope, self.binding, self.source, self.rounds)
        twin.id, twin.published, twin.number, twin.asked_after = self.id, self.published, self.number, self.asked_after
        twin.fresh = self.fresh
        return twin

    @property
    def positions(self) -> tuple[tuple[int, ...], ...]:
        """The binding as the journal holds it."""
        binding = self.binding
        if len(binding) == 1:
            bound = binding[0]
            if isinstance(bound, Seen):
                return ((bound.position,),)
        return tuple(
            () if bound is None else (bound.position,) if isinstance(bound, Seen) else tuple(s.position for s in bound)
            for bound in binding
        )

    def arguments(self) -> list[Event | list[Event] | None]:
        """The events of the binding, per parameter."""
        binding = self.binding
        if len(binding) == 1:
            bound = binding[0]
            if isinstance(bound, Seen):
                return [bound.event]
        return [
            bound.event if isinstance(bound, Seen) else None if bound is None else [seen.event for seen in bound]
            for bound in binding
        ]


def in_fan_out_order(events: Sequence[Seen]) -> list[Seen]:
    """The events sorted by where their histories part (E3.10), whatever finished first."""
    if len(events) < 2:
        return list(events)
    first = events[0]
    if first.execution is not None and all(seen.execution is first.execution for seen in events):
        return sorted(events, key=_place)
    if _are_siblings(events):
        return sorted(events, key=_place_of_source)
    return sorted(events, key=cmp_to_key(_compare))


def _place(seen: Seen) -> int:
    return seen.place


def _place_of_source(seen: Seen) -> tuple[int, int]:
    source = seen.source
    return (source.place if source is not None else 0, seen.place)


def _are_siblings(events: Sequence[Seen]) -> bool:
    """Whether each event comes from its own branch of one fan-out: same step, sources from one execution."""
    first = events[0]
    if first.source is None or first.source.execution is None:
        return False
    fan = first.source.execution
    step = first.execution.step if first.execution is not None else None
    sources: set[int] = set()
    for seen in events:
        source, execution = seen.source, seen.execution
        if source is None or source.execution is not fan or (execution.step if execution else None) is not step:
            return False
        sources.add(id(source))
    return len(sources) == (len({id(seen.execution) for seen in events}) if step is not None else len(events))


def _compare(left: Seen, right: Seen) -> int:
    """Negative if `left` comes first: both ways are walked up to one depth, then to the event they share."""
    if left is right:
        return 0
    one, other = left, right
    while one.depth > other.depth and one.source is not None:
        one = one.source
    while other.depth > one.depth and other.source is not None:
        other = other.source
    if one is other:
        return -1 if left.depth < right.depth else 1
    while one.source is not other.source and one.source is not None and other.source is not None:
        one, other = one.source, other.source
    return _compare_children(one, other)


def _compare_children(one: Seen, other: Seen) -> int:
    """Two events with the same source: by step, by what their executions bound, by place."""
    mine, yours = one.execution, other.execution
    if mine is yours or mine is None or yours is None:
        return _sign(one.place, other.place) or _sign(one.position, other.position)
    if mine.step is not yours.step:
        return _sign(mine.step.index, yours.step.index)
    for left, right in zip(mine.binding, yours.binding, strict=True):
        if isinstance(left, Seen) and isinstance(right, Seen) and left is not right:
            found = _compare(left, right)
            if found:
                return found
    return _sign(mine.number, yours.number)


def _sign(left: int, right: int) -> int:
    return (left > right) - (left < right)


def one_more(rounds: Rounds, step: StepPlan) -> Rounds:
    """The rounds of what a step returns: one more of its own."""
    tracked = step.tracked
    if tracked < 0:
        return rounds
    return (*rounds[:tracked], rounds[tracked] + 1, *rounds[tracked + 1 :])
