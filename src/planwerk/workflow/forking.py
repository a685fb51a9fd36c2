"""The beginning of a run that goes on from a position of another, with other settings (E7.8).

The new journal has the events, executions and verdicts of the other up to that position, at new places and under new
ids, so that nothing outside takes a repetition in the new run for one of the old. What belongs to owners, attempts and
models stays behind: it was spent there. An execution that had not ended is executed in the new run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from planwerk.workflow import entries as journal
from planwerk.workflow.errors import WorkflowError
from planwerk.workflow.events import StopEvent
from planwerk.workflow.ids import EventId, ExecutionId

FIRST = 2
"""Position of the start event."""


class NoForkHere(WorkflowError):
    """A run cannot be forked from this position (E7.8)."""

    code = "no_fork_here"
    http_status = 422

    def __init__(self, position: int, *, last: int, why: str) -> None:
        super().__init__(
            f"the run cannot be forked from position {position}: {why} (E7.8).",
            what_to_do=f"Take a position from {FIRST} to {last}.",
        )
        self.position, self.last = position, last


@dataclass(frozen=True, slots=True)
class Fork:
    """Entries for a new run, its first one left out.

    Attributes:
        position: The position of the other run that was really forked from: what one execution returned stays
            together, and what the rules made due there they make due again.
        entries: From the start event on.
    """

    position: int
    entries: list[journal.Entry]


def last_position(entries: Sequence[journal.Entry]) -> int:
    """The last position that something can come after: before what led to the run's stop."""
    for position, entry in enumerate(entries, start=1):
        if isinstance(entry, journal.EventPublished) and isinstance(entry.event, StopEvent) and not entry.discarded:
            return _before_its_append(entries, position)
    return len(entries)


def fork(entries: Sequence[journal.Entry], position: int, *, at: int, make_id: Callable[[], str]) -> Fork:
    """What a run that is forked there begins with.

    Args:
        entries: The whole journal, as far as it has come.
        position: Position of an entry; what it says is part of the new run.
        at: When; microseconds.

    Raises:
        NoForkHere: There is no such position, or the run had reached its stop there.
    """
    last = last_position(entries)
    if not FIRST <= position <= len(entries):
        raise NoForkHere(position, last=last, why=f"its journal has {len(entries)} entries")
    if position > last:
        raise NoForkHere(position, last=last, why="its stop is decided there, so nothing would come after it")
    end = _end_of_what_it_returned(entries, position)
    while isinstance(entries[end - 1], journal.ExecutionDue):
        end -= 1  # decided anew, by what stands before
    return Fork(end, _Copying(entries[:end], at, make_id).copy())


def _end_of_what_it_returned(entries: Sequence[journal.Entry], position: int) -> int:
    """What an execution returned is followed by its end, in one append (E4.1)."""
    entry = entries[position - 1]
    if isinstance(entry, journal.EventPublished) and entry.execution is not None and not entry.shown:
        for place in range(position, len(entries)):
            after = entries[place]
            if isinstance(after, journal.ExecutionFinished) and after.execution == entry.execution:
                return place + 1
    return position


def _before_its_append(entries: Sequence[journal.Entry], position: int) -> int:
    maker = entries[position - 1]
    assert isinstance(maker, journal.EventPublished)
    before = position - 1
    while before and maker.execution is not None:
        entry = entries[before - 1]
        if not isinstance(entry, journal.EventPublished) or entry.execution != maker.execution or entry.shown:
            break
        before -= 1
    return before


class _Copying:
    """Copies entries to new places and ids; the new journal has one entry before them, as the old one has."""

    def __init__(self, entries: Sequence[journal.Entry], at: int, make_id: Callable[[], str]) -> None:
        self._entries = entries
        self._at = at
        self._make_id = make_id
        self._positions: dict[int, int] = {0: 0, 1: 1}
        self._executions: dict[ExecutionId, ExecutionId] = {}
        self._place = FIRST
        """Position of the entry that is copied, in the new journal."""
        ended = (journal.ExecutionFinished, journal.ExecutionFailed)
        self._landed = {entry.execution for entry in entries if isinstance(entry, ended)}
        self._has_open = False

    def copy(self) -> list[journal.Entry]:
        copied: list[journal.Entry] = []
        for position, entry in enumerate(self._entries[1:], start=FIRST):
            self._place = len(copied) + FIRST
            again = self._copied(entry)
            if again is not None:
                copied.append(again)
                self._positions[position] = self._place
        # Whoever takes the run begins these anew: no worker died under them.
        return [*copied, journal.OwnershipReleased(0, self._at)] if self._has_open else copied

    def _copied(self, entry: journal.Entry) -> journal.Entry | None:
        match entry:
            case journal.EventPublished():
                return self._published(entry)
            case journal.ExecutionDue():
                execution = self._executions[entry.execution] = ExecutionId(str(self._place))
                self._has_open |= entry.execution not in self._landed
                scope, binding = self._positions[entry.scope], self._binding(entry.binding)
                return journal.ExecutionDue(execution, entry.step, scope, binding, self._at)
            case journal.PreconditionAnswered():
                scope, binding = self._positions[entry.scope], self._binding(entry.binding)
                return journal.PreconditionAnswered(entry.step, scope, binding, entry.verdict, self._at)
            case journal.ExecutionFinished():
                outputs = tuple(self._positions[position] for position in entry.outputs)
                return journal.ExecutionFinished(self._executions[entry.execution], self._at, outputs=outputs)
            case journal.ExecutionFailed():
                return replace(entry, execution=self._executions[entry.execution], at=self._at)
            case _:
                return None

    def _published(self, entry: journal.EventPublished) -> journal.EventPublished | None:
        if entry.execution is not None and entry.execution not in self._landed:
            return None  # shown by an attempt that is executed again
        return replace(
            entry,
            id=EventId(self._make_id()) if entry.id else entry.id,
            at=self._at,
            execution=self._executions[entry.execution] if entry.execution is not None else None,
            answers=self._positions[entry.answers] if entry.answers is not None else None,
        )

    def _binding(self, binding: journal.Binding) -> journal.Binding:
        return tuple(tuple(self._positions[position] for position in positions) for positions in binding)
