"""What distinguishes one state of an abstract run from another (E6.4); what cannot matter any more is left out.

Left out are: inputs of steps that nothing active can start, optional inputs that start nothing, what a step with one
parameter bound last, and which class of a union it was. Rounds are counted from the lowest active one that can still
reach their step; how far above it is told apart up to `MAX_ROUNDS`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from typing import Final

from planwerk.workflow.exploring.boxes import MANY, Reach
from planwerk.workflow.plan import Mask, StepPlan, bits
from planwerk.workflow.schedule import BEING_ASKED, OVERTAKEN, RunSchedule
from planwerk.workflow.scope import Cell, Scope
from planwerk.workflow.seen import Rounds
from planwerk.workflow.waiting import latest_complete

MAX_ROUNDS: Final = 3
"""How far rounds are told apart above the lowest active one."""

Active = tuple[Mask, Rounds]
"""Classes that a piece of active work leads to, and the rounds of what it returns."""


def state_of(schedule: RunSchedule, scope: Scope, reach: Reach) -> tuple[Hashable, bool]:
    """The state as a value, and whether rounds had to be capped for it."""
    state = _State(schedule, scope, reach)
    return state.value(), state.is_capped


def active_leads(schedule: RunSchedule, scope: Scope, reach: Reach) -> Mask:
    """All classes that active work can still lead to, or what may yet be brought in from outside."""
    leads = reach.from_outside
    for classes, _ in _active(schedule, scope, reach):
        leads |= classes
    return leads


def _active(schedule: RunSchedule, scope: Scope, reach: Reach) -> Iterator[Active]:
    for made in (*schedule.in_flight.values(), *schedule.asked.values(), *scope.held):
        yield reach.from_step[made.step.index], made.rounds
    for index in scope.waiting:
        yield reach.from_step[index], scope.waiting_rounds[index]
    for _, seen, _ in schedule.requests.values():
        yield _answers(reach, seen.kind.answers), seen.rounds


def _answers(reach: Reach, answers: Mask) -> Mask:
    leads = 0
    for number in bits(answers):
        leads |= reach.from_class[number]
    return leads


class _State:
    def __init__(self, schedule: RunSchedule, scope: Scope, reach: Reach) -> None:
        self.is_capped = False
        self._schedule = schedule
        self._scope = scope
        self._reach = reach
        active = list(_active(schedule, scope, reach))
        self._leads = reach.from_outside
        for classes, _ in active:
            self._leads |= classes
        self._lowest = [self._lowest_round(step, active) for step in scope.plan.tracked]

    def value(self) -> Hashable:
        scope, schedule = self._scope, self._schedule
        flight = ((made.step, made.rounds) for made in schedule.in_flight.values())
        asked = (
            (made.step, made.rounds) for made in schedule.asked.values() if made.asked_after in {BEING_ASKED, OVERTAKEN}
        )
        held = ((made.step, made.rounds) for made in scope.held)
        requests = (
            (seen.kind.index, self._relative(seen.rounds, _answers(self._reach, seen.kind.answers)))
            for _, seen, _ in schedule.requests.values()
        )
        waiting = (
            (index, self._round(scope.plan.steps[index], number), self._of_step(index, scope.waiting_rounds[index]))
            for index, number in scope.waiting.items()
        )
        return (
            _counted(self._executions(flight)),
            _counted(self._executions(asked)),
            _counted(self._executions(held)),
            _counted(requests),
            frozenset(waiting),
            frozenset(self._cells()),
            scope.empty_starts,
            self._lone_started(),
            scope.answered,
        )

    def _executions(self, made: Iterable[tuple[StepPlan, Rounds]]) -> Iterator[Hashable]:
        for step, rounds in made:
            yield step.index, self._of_step(step.index, rounds)

    # Rounds --------------------------------------------------------------------------------------------------------

    def _lowest_round(self, step: StepPlan, active: list[Active]) -> int | None:
        tracked, reading = step.tracked, self._reach.reading[step.index]
        found = [rounds[tracked] for classes, rounds in active if classes & reading]
        if step.index in self._scope.waiting:
            found.append(self._scope.waiting[step.index])
        found += [made.rounds[tracked] - 1 for made in self._schedule.in_flight.values() if made.step is step]
        return min(found, default=None)

    def _of_step(self, index: int, rounds: Rounds) -> Hashable:
        step = self._scope.plan.steps[index]
        return self._relative(rounds, self._reach.from_step[index], step.tracked)

    def _relative(self, rounds: Rounds, leads: Mask, own: int = -1) -> Hashable:
        return tuple(
            self._round(step, rounds[step.tracked])
            if step.tracked == own or leads & self._reach.reading[step.index]
            else None
            for step in self._scope.plan.tracked
        )

    def _round(self, step: StepPlan, number: int) -> int:
        lowest = self._lowest[step.tracked] if step.tracked >= 0 else None
        if lowest is None:
            return 0
        if number - lowest > MAX_ROUNDS:
            self.is_capped = True
        return min(number - lowest, MAX_ROUNDS)

    # Inputs --------------------------------------------------------------------------------------------------------

    def _cells(self) -> Iterator[Hashable]:
        scope = self._scope
        complete: dict[int, int] = {}
        for (index, place, number), cell in scope.cells.items():
            step = scope.plan.steps[index]
            parameter = step.parameters[place]
            if not self._can_start(step) or not (parameter.starting or parameter.is_single):
                continue
            is_round = step.tracked >= 0 and parameter.of_loop
            if is_round and number < (self._lowest[step.tracked] or 0):
                complete.setdefault(index, latest_complete(scope, step))
                continue
            new, last = min(len(cell.new), MANY), _is_last_needed(step, cell)
            if new or last:
                yield index, place, self._round(step, number) if is_round else 0, new, last
        for index, number in complete.items():
            yield index, number >= (self._lowest[scope.plan.steps[index].tracked] or 0)

    def _can_start(self, step: StepPlan) -> bool:
        return bool(self._reach.starting[step.index] & self._leads) or step.index in self._scope.waiting

    def _lone_started(self) -> Mask:
        """Lone list steps that an empty fan-out does not start again."""
        lone = 0
        for step in self._scope.plan.lone:
            if self._can_start(step):
                lone |= step.bit
        return self._scope.started & lone


def _is_last_needed(step: StepPlan, cell: Cell) -> bool:
    """Whether the step can be started again with the event it bound last."""
    return cell.last is not None and sum(parameter.is_single for parameter in step.parameters) > 1


def _counted(things: Iterable[Hashable]) -> Hashable:
    return frozenset((thing, min(count, MANY)) for thing, count in Counter(things).items())
