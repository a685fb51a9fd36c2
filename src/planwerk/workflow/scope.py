"""The state of one scope: what is active in it, which events its steps have not taken yet, who waits (E3).

Nothing here decides; `schedule.py` does.
"""

from __future__ import annotations

from collections import deque
from typing import Any, cast

from planwerk.workflow.plan import Mask, ScopePlan, StepPlan
from planwerk.workflow.seen import NO_ROUNDS, Execution, Rounds, Seen

OUTSIDE = 0
"""The round under which events from outside a step's loops are kept: every round sees them."""


class Cell:
    """What one parameter of one step has seen, in one round."""

    __slots__ = ("all", "high", "last", "low", "new")

    def __init__(self) -> None:
        self.low: Rounds = NO_ROUNDS
        """Of its new events, the earliest round of each tracked step."""
        self.high: Rounds = NO_ROUNDS
        """Of all its events, the latest."""
        self.new: deque[Seen] = deque()
        self.all: list[Seen] = []
        """Kept for lists only."""
        self.last: Seen | None = None
        """The event bound last; for an optional parameter, the last one that came."""

    def note_rounds(self, rounds: Rounds) -> None:
        """Called before an event is added to the new ones."""
        self.low = tuple(map(min, self.low, rounds)) if self.new else rounds
        self.high = tuple(map(max, self.high, rounds)) if self.high else rounds

    def find(self, position: int) -> Seen | None:
        """The event at this position, if the parameter has seen it and may still take it."""
        if self.last is not None and self.last.position == position:
            return self.last
        if self.new and self.new[0].position == position:
            return self.new[0]
        return next((seen for seen in (*self.new, *self.all) if seen.position == position), None)

    def known(self) -> dict[int, Seen | None]:
        """All its events by position."""
        return {seen.position: seen for seen in (*self.all, *self.new)}

    def fork(self) -> Cell:
        """An independent cell with the same events."""
        twin = Cell()
        twin.low, twin.high, twin.last = self.low, self.high, self.last
        twin.new, twin.all = deque(self.new), list(self.all)
        return twin


class Scope:
    """A scope of a run: the blueprint's own, or one open call."""

    __slots__ = (
        "active_by_round",
        "answered",
        "arriving",
        "arriving_by_round",
        "arriving_counts",
        "candidates",
        "cells",
        "counts",
        "depth",
        "direct",
        "empty_starts",
        "fresh",
        "held",
        "latest",
        "made_due",
        "open_calls",
        "parent",
        "plan",
        "position",
        "possible",
        "request",
        "self_rounds",
        "started",
        "top",
        "waiting",
        "waiting_mask",
        "waiting_rounds",
        "working",
    )

    def __init__(self, plan: ScopePlan, position: int, parent: Scope | None, request: Seen | None) -> None:
        self.plan = plan
        self.position = position
        """Position of the request that opened the call; 0 for the blueprint's own scope."""
        self.parent = parent
        self.request = request
        """The request as the caller's scope sees it; of the root, the start event."""
        self.depth: int = parent.depth + 1 if parent is not None else 0
        self.counts = [0] * len(plan.steps)
        """Executions per step that are due, running, waiting for a retry, or being asked."""
        self.working: Mask = 0
        """The steps with such executions."""
        self.waiting_mask: Mask = 0
        """The steps that are eligible and wait for their inputs to settle: active as well."""
        self.arriving_counts: dict[int, int] = {}
        self.arriving: Mask = 0
        """Classes that open requests and calls can still bring."""
        self.active_by_round: dict[tuple[int, int], dict[int, int]] = {}
        """(tracked step, round) -> active executions per other step."""
        self.arriving_by_round: dict[tuple[int, int], dict[int, int]] = {}
        self.self_rounds: dict[int, dict[int, int]] = {}
        """tracked step -> the round its active executions took -> how many."""
        self.cells: dict[tuple[int, int, int], Cell] = {}
        """(step, parameter, round)"""
        self.latest: dict[tuple[int, str], list[Seen]] = {}
        """Events only a precondition reads, by step and parameter."""
        self.direct: list[tuple[StepPlan, Seen]] = []
        """New events of direct steps, due at the next decision."""
        self.candidates: Mask = 0
        """Steps to be looked at by the next decision."""
        self.waiting: dict[int, int] = {}
        """Eligible steps whose inputs are not settled, with the round they wait in."""
        self.waiting_rounds: dict[int, Rounds] = {}
        self.held: list[Execution] = []
        """Bindings whose precondition said no."""
        self.open_calls = 0
        """Calls opened by its steps that are not over."""
        self.made_due: dict[int, int] = {}
        """Bindings made due per step, where something needs to know."""
        self.empty_starts: Mask = 0
        """Lone list steps that an empty fan-out starts (E3.1)."""
        self.started: Mask = 0
        """Steps of which a binding was made due."""
        self.fresh: dict[int, dict[int, int]] = {}
        """step -> round -> new events of its loop that can start it."""
        self.top: dict[int, int] = {}
        """step -> the latest round it has seen an event of."""
        self.answered = False
        self.possible: Mask = 0
        """Outcomes it can still bring its caller, as a mask of its own plan's classes."""

    def fork(self, parent: Scope | None) -> Scope:
        """An independent scope that stands where this one stands, inside this parent; `held` stays to be copied."""
        twin = Scope(self.plan, self.position, parent, self.request)
        for name in Scope.__slots__:
            if name not in {"plan", "position", "parent", "request", "depth"}:
                setattr(twin, name, _copied(getattr(self, name)))
        return twin

    # Activity ------------------------------------------------------------------------------------------------------

    @property
    def active(self) -> Mask:
        """The steps that are active (E3.2)."""
        return self.working | self.waiting_mask

    def activate(self, step: StepPlan, rounds: Rounds, *, own_round: int = 0) -> None:
        """Count one more execution of a step."""
        self.counts[step.index] += 1
        self.working |= step.bit
        if self.plan.tracked:
            self.count_rounds(step, rounds, own_round, 1)

    def deactivate(self, step: StepPlan, rounds: Rounds, *, own_round: int = 0) -> None:
        """Count one less."""
        self.counts[step.index] -= 1
        if not self.counts[step.index]:
            self.working &= ~step.bit
        if self.plan.tracked:
            self.count_rounds(step, rounds, own_round, -1)

    def begin_waiting(self, step: StepPlan, round_number: int, rounds: Rounds) -> None:
        """The step is eligible in a round, and waits for its inputs to settle."""
        self.waiting[step.index] = round_number
        self.waiting_rounds[step.index] = rounds
        self.waiting_mask |= step.bit
        if self.plan.tracked:
            self.count_rounds(step, rounds, round_number, 1)

    def end_waiting(self, step: StepPlan) -> int:
        """It waits no longer; returns the round it waited in."""
        round_number = self.waiting.pop(step.index)
        rounds = self.waiting_rounds.pop(step.index)
        self.waiting_mask &= ~step.bit
        if self.plan.tracked:
            self.count_rounds(step, rounds, round_number, -1)
        return round_number

    def count_rounds(self, step: StepPlan, rounds: Rounds, own_round: int, change: int) -> None:
        """Count what is active by the rounds of the tracked steps."""
        for tracked in self.plan.tracked:
            if tracked is step:
                _count(self.self_rounds.setdefault(tracked.tracked, {}), own_round, change)
            else:
                key = (tracked.tracked, rounds[tracked.tracked])
                _count(self.active_by_round.setdefault(key, {}), step.index, change)
                if not self.active_by_round[key]:
                    del self.active_by_round[key]

    def expect(self, classes: Mask, rounds: Rounds, change: int) -> None:
        """Count classes that a request or call can still bring (`change` +1) or no longer can (-1)."""
        remaining = classes
        while remaining:
            bit = remaining & -remaining
            remaining ^= bit
            number = bit.bit_length() - 1
            count = self.arriving_counts.get(number, 0) + change
            self.arriving_counts[number] = count
            self.arriving = self.arriving | bit if count else self.arriving & ~bit
            for tracked in self.plan.tracked:
                key = (tracked.tracked, rounds[tracked.tracked])
                _count(self.arriving_by_round.setdefault(key, {}), number, change)
                if not self.arriving_by_round[key]:
                    del self.arriving_by_round[key]

    def active_in(self, tracked: int, round_number: int) -> tuple[Mask, Mask]:
        """Steps active in this round of a tracked step, and in earlier ones."""
        return _split(self.active_by_round, tracked, round_number)

    def arriving_in(self, tracked: int, round_number: int) -> tuple[Mask, Mask]:
        """Classes that can arrive in this round of a tracked step, and in earlier ones."""
        return _split(self.arriving_by_round, tracked, round_number)

    def runs_earlier(self, tracked: int, round_number: int) -> bool:
        """Whether the tracked step itself is active with events of an earlier round."""
        return any(own < round_number for own in self.self_rounds.get(tracked, ()))

    @property
    def is_quiet(self) -> bool:
        """Nothing is active in it and nothing can arrive."""
        return not (self.working or self.waiting_mask or self.arriving)

    # Events --------------------------------------------------------------------------------------------------------

    def cell(self, step: StepPlan, parameter: int, round_number: int) -> Cell:
        """The cell of a parameter in a round; for parameters from outside the loops, the one all rounds share."""
        planned = step.parameters[parameter]
        shown = round_number if step.tracked >= 0 and planned.of_loop else OUTSIDE
        key = (step.index, parameter, shown)
        found = self.cells.get(key)
        if found is None:
            found = self.cells[key] = Cell()
            if planned.read_only:
                self._read_start(step, parameter, found)
        return found

    def _read_start(self, step: StepPlan, parameter: int, cell: Cell) -> None:
        """A call may read the run's start event: always there, never new (E5.1)."""
        root = self
        while root.parent is not None:
            root = root.parent
        start = root.request
        if start is not None and type(start.event) in step.parameters[parameter].classes:
            cell.last = start
            cell.all.append(start)

    def note_new(self, step: StepPlan, round_number: int, change: int) -> None:
        """Count new starting events of a step's loop by round, so that the earliest round is found without a scan."""
        _count(self.fresh.setdefault(step.index, {}), round_number, change)
        if round_number > self.top.get(step.index, OUTSIDE):
            self.top[step.index] = round_number

    def path(self) -> str:
        """The call as people read it: `ToolLoop > Knowledge`."""
        if self.parent is None:
            return ""
        around = self.parent.path()
        return f"{around} > {self.plan.name}" if around else self.plan.name

    def no_rounds(self) -> Rounds:
        """Rounds of an event that no execution of this scope has led to."""
        tracked = len(self.plan.tracked)
        return (0,) * tracked if tracked else NO_ROUNDS


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list):
        return list(cast("list[Any]", value))
    return value.fork() if isinstance(value, Cell) else value


def _count(counts: dict[int, int], key: int, change: int) -> None:
    count = counts.get(key, 0) + change
    if count:
        counts[key] = count
    else:
        counts.pop(key, None)


def _split(by_round: dict[tuple[int, int], dict[int, int]], tracked: int, round_number: int) -> tuple[Mask, Mask]:
    same = earlier = 0
    for (step, number), counts in by_round.items():
        if step != tracked or number > round_number:
            continue
        mask = 0
        for key in counts:
            mask |= 1 << key
        if number == round_number:
            same |= mask
        else:
            earlier |= mask
    return same, earlier
