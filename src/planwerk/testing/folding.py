"""A schedule's whole state as a value, to compare a live one with one folded from its journal (E7.2)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from planwerk.workflow import entries as journal
from planwerk.workflow.plan import Composition
from planwerk.workflow.schedule import RunSchedule
from planwerk.workflow.scope import Scope
from planwerk.workflow.seen import Execution, Seen


def fold(composition: Composition, entries: Iterable[journal.Entry]) -> RunSchedule:
    """The schedule these entries lead to; nothing is decided yet."""
    schedule = RunSchedule(composition)
    for entry in entries:
        schedule.apply(entry)
    return schedule


def state_of(schedule: RunSchedule) -> Hashable:
    """Everything that later decisions depend on; once a stop is reached, only what is still in flight."""
    flight = tuple(
        sorted((made.id, made.step.name, made.positions, made.rounds) for made in schedule.in_flight.values())
    )
    if schedule.stop is not None:
        return ("stopped", flight, schedule.left_over())
    return (
        flight,
        tuple(sorted((name, scope, positions) for name, scope, positions in schedule.asked)),
        tuple(sorted(schedule.requests)),
        schedule.left_over(),
        tuple(_scope(scope) for scope in sorted(schedule.open_scopes(), key=lambda scope: scope.position)),
    )


def _scope(scope: Scope) -> Hashable:
    return (
        scope.position,
        _cells(scope),
        tuple(sorted(scope.waiting.items())),
        tuple(scope.counts),
        tuple(sorted(_held(held) for held in scope.held)),
        tuple(sorted((number, count) for number, count in scope.arriving_counts.items() if count)),
        tuple(sorted(scope.made_due.items())),
        scope.started,
        scope.empty_starts,
        scope.open_calls,
        scope.answered,
        scope.possible,
        tuple(sorted((key, _positions(seen)) for key, seen in scope.latest.items())),
    )


def _cells(scope: Scope) -> Hashable:
    return tuple(
        sorted(
            (key, _positions(cell.new), _positions(cell.all), cell.last.position if cell.last is not None else 0)
            for key, cell in scope.cells.items()
            if cell.new or cell.all or cell.last is not None
        )
    )


def _held(execution: Execution) -> tuple[str, tuple[tuple[int, ...], ...]]:
    return execution.step.name, execution.positions


def _positions(events: Iterable[Seen]) -> tuple[int, ...]:
    return tuple(sorted(seen.position for seen in events))
