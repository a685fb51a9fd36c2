"""Events into the cells of parameters, and out of them into executions (E3.5); recorded bindings back (E7.2)."""

from __future__ import annotations

from planwerk.workflow.errors import ScheduleError
from planwerk.workflow.plan import ParameterPlan, StepPlan
from planwerk.workflow.scope import OUTSIDE, Cell, Scope
from planwerk.workflow.seen import Bound, Execution, Seen, in_fan_out_order, one_more
from planwerk.workflow.waiting import latest_complete


def lay_in(scope: Scope, step: StepPlan, parameter: ParameterPlan, seen: Seen) -> None:
    round_number = seen.rounds[step.tracked] if step.tracked >= 0 and parameter.of_loop else OUTSIDE
    cell = scope.cell(step, parameter.index, round_number)
    if seen.rounds:
        cell.note_rounds(seen.rounds)
    cell.new.append(seen)
    if parameter.is_list:
        cell.all.append(seen)
    if step.index in scope.waiting:
        if seen.rounds or step.may_repeat:
            scope.candidates |= step.bit
    elif parameter.starting:
        scope.candidates |= step.bit
    if step.tracked >= 0 and parameter.of_loop:
        scope.note_new(step, round_number, 1 if parameter.starting else 0)


def round_of(scope: Scope, step: StepPlan, binding: tuple[tuple[int, ...], ...]) -> int:
    """The round a recorded binding took: that of its first event of the loop, the latest rounds tried first."""
    if step.tracked < 0:
        return OUTSIDE
    for parameter, positions in zip(step.parameters, binding, strict=True):
        if parameter.of_loop and positions:
            for round_number in range(scope.top.get(step.index, OUTSIDE), OUTSIDE - 1, -1):
                cell = scope.cells.get((step.index, parameter.index, round_number))
                if cell is not None and cell.find(positions[0]) is not None:
                    return round_number
    return latest_complete(scope, step)


def take_recorded(
    scope: Scope, step: StepPlan, parameter: ParameterPlan, cell: Cell, positions: tuple[int, ...]
) -> Bound:
    found = {position: cell.find(position) for position in positions} if len(positions) < 2 else cell.known()
    known = {position: seen for position, seen in found.items() if seen is not None}
    missing = [position for position in positions if position not in known]
    if missing:
        raise ScheduleError(
            f"{step.name} took the event at position {missing[0]} as {parameter.name}, which does not fit (E7.6).",
            what_to_do="Run it with the code it was started with.",
        )
    taken = [known[position] for position in positions]
    if parameter.is_list:
        _forget_until(scope, step, parameter, cell, max(positions, default=0))
        return taken
    if not taken:
        return None
    if parameter.is_single:
        if taken[0] in cell.new:
            cell.new.remove(taken[0])
            note_taken(scope, step, parameter, taken[0])
    else:
        _forget_until(scope, step, parameter, cell, taken[0].position)
    # Verdicts come in any order, so the binding recorded last need not hold the event that was taken last.
    if cell.last is None or cell.last.position < taken[0].position:
        cell.last = taken[0]
    return taken[0]


def _forget_until(scope: Scope, step: StepPlan, parameter: ParameterPlan, cell: Cell, position: int) -> None:
    """What was new when the binding was made is taken; what came while its precondition was asked still is new."""
    while cell.new and cell.new[0].position <= position:
        seen = cell.new.popleft()
        note_taken(scope, step, parameter, seen)


def take(scope: Scope, step: StepPlan, round_number: int) -> Execution:
    bound: list[Bound] = []
    fresh = _with_new(scope, step, round_number) if step.has_precondition else 0
    for parameter in step.parameters:
        cell = scope.cell(step, parameter.index, round_number)
        if parameter.is_list:
            bound.append(in_fan_out_order(cell.all))
            forget_new(scope, step, parameter, cell)
        elif parameter.is_single:
            if cell.new:
                seen = cell.new.popleft()
                note_taken(scope, step, parameter, seen)
                if cell.last is None or cell.last.position < seen.position:
                    cell.last = seen
                bound.append(seen)
            else:
                bound.append(cell.last)
        else:
            if cell.new:
                cell.last = cell.new[-1]
                forget_new(scope, step, parameter, cell)
            bound.append(cell.last)
    execution = make_execution(scope, step, tuple(bound))
    execution.fresh = fresh
    return execution


def _with_new(scope: Scope, step: StepPlan, round_number: int) -> int:
    """The parameters that have new events, as a mask."""
    return sum(1 << p.index for p in step.parameters if scope.cell(step, p.index, round_number).new)


def forget_new(scope: Scope, step: StepPlan, parameter: ParameterPlan, cell: Cell) -> None:
    if parameter.starting and parameter.of_loop and step.tracked >= 0:
        for seen in cell.new:
            scope.note_new(step, seen.rounds[step.tracked], -1)
    cell.new.clear()


def note_taken(scope: Scope, step: StepPlan, parameter: ParameterPlan, seen: Seen) -> None:
    if parameter.starting and parameter.of_loop and step.tracked >= 0:
        scope.note_new(step, seen.rounds[step.tracked], -1)


def make_execution(scope: Scope, step: StepPlan, bound: tuple[Bound, ...]) -> Execution:
    """The execution of what a step takes; its source is the first starting event among that (E3.10)."""
    source: Seen | None = None
    rounds = scope.no_rounds()
    for parameter, taken in zip(step.parameters, bound, strict=True):
        if parameter.starting and source is None:
            source = taken if isinstance(taken, Seen) else taken[0] if taken else None
        if rounds and not parameter.read_only:
            for seen in (taken,) if isinstance(taken, Seen) else taken or ():
                rounds = tuple(map(max, rounds, seen.rounds))
    if source is None:
        source = next((taken for taken in bound if isinstance(taken, Seen)), scope.request)
    return Execution(step, scope, bound, source, one_more(rounds, step))


def execution_of_one(scope: Scope, step: StepPlan, seen: Seen) -> Execution:
    """The execution of a direct step, which takes one event and waits for nothing."""
    rounds = one_more(seen.rounds, step) if seen.rounds else seen.rounds
    return Execution(step, scope, (seen,), seen, rounds)


def rebuild(scope: Scope, step: StepPlan, binding: tuple[tuple[int, ...], ...]) -> Execution:
    """The execution of a recorded binding, its events taken out of the cells."""
    if step.is_direct:
        position = binding[0][0]
        for index, (candidate, seen) in enumerate(scope.direct):
            if candidate is step and seen.position == position:
                del scope.direct[index]
                return execution_of_one(scope, step, seen)
        raise ScheduleError(f"the event at position {position} is not new for {step.name} (E7.6).")
    round_number = round_of(scope, step, binding)
    fresh = _with_new(scope, step, round_number) if step.has_precondition else 0
    bound: list[Bound] = []
    for parameter, positions in zip(step.parameters, binding, strict=True):
        cell = scope.cell(step, parameter.index, round_number)
        bound.append(take_recorded(scope, step, parameter, cell, positions))
    execution = make_execution(scope, step, tuple(bound))
    execution.fresh = fresh
    return execution
