"""Re-drives a run from its journal: what the rules would have decided, beside what was recorded (E7.8).

The journal gives what came from outside the rules: the events that executions returned, verdicts, answers, stops. The
rules give the rest anew, and are held against what the journal has: which steps became due, with which bindings, in
which order, which preconditions were asked, and how the run had to end where the rules ended it. No step is executed
and no model is called.

The driver decides right after it has recorded what calls for a decision, so what is due stands right behind it. An
owner that takes over folds the journal first and decides anew; so is it done here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from planwerk.workflow import entries as journal
from planwerk.workflow.codec import wire_type
from planwerk.workflow.errors import PlanwerkError, RunStalled
from planwerk.workflow.events import ControlEvent, ExceptionEvent, StopEvent
from planwerk.workflow.plan import Composition
from planwerk.workflow.schedule import RunSchedule, entry_of
from planwerk.workflow.stalling import SecondOutcome, TooManyExecutions

FAULTS: Final = frozenset({RunStalled.code, SecondOutcome.code, TooManyExecutions.code})
"""Codes of the stops that only the rules make."""
NOTHING: Final = "nothing"


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where the journal has something else than the rules would have made.

    Attributes:
        position: Of the first entry that differs; one behind the last if the journal ends too early.
        step: The step it is about, if it is about one.
        expected: What the rules make, in words.
        found: What the journal has there, in words.
    """

    position: int
    step: str | None
    expected: str
    found: str


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of a replay.

    Attributes:
        entries: Entries that were followed without a divergence.
        executions: Executions among them that became due as recorded.
    """

    entries: int
    executions: int
    divergence: Divergence | None = None


def replay(entries: Sequence[journal.Entry], composition: Composition) -> Replay:
    """Re-drive a run from its whole journal, to its end or to the first divergence."""
    return _Replaying(entries, composition).run()


class _Replaying:
    def __init__(self, entries: Sequence[journal.Entry], composition: Composition) -> None:
        self._entries = entries
        self._composition = composition
        self._schedule = RunSchedule(composition)
        self._at = 0
        """Entries followed so far."""
        self._executions = 0
        self._undecided = False
        self._taken_over = False
        self._published: dict[str, list[int]] = {}
        self._stop_at = 0

    def run(self) -> Replay:
        while self._at < len(self._entries):
            entry = self._entries[self._at]
            if self._undecided and not self._is_before_a_decision(entry):
                divergence = self._decide()
            else:
                divergence = self._follow(entry)
            if divergence is not None:
                return Replay(divergence.position - 1, self._executions, divergence)
        return Replay(self._at, self._executions)

    def _is_before_a_decision(self, entry: journal.Entry) -> bool:
        """An owner that let the run go left deciding to the next; answers brought together are taken in together."""
        if isinstance(entry, _OF_OWNERS):
            return True
        return _is_answer(entry) and (self._taken_over or _is_answer(self._entries[self._at - 1]))

    # What the rules decide -------------------------------------------------------------------------------------------

    def _decide(self) -> Divergence | None:
        schedule, taken_over = self._schedule, self._taken_over
        self._undecided = self._taken_over = False
        decision = schedule.decide_all() if taken_over else schedule.decide()
        for execution in decision.due:
            expected, found = entry_of(execution), self._here()
            if not isinstance(found, journal.ExecutionDue) or _key(found) != _key(expected):
                return self._differs(expected.step, _words(expected), found)
            if found.execution != execution.id:
                schedule.rename(execution, found.execution)
            self._at += 1
            self._executions += 1
        if decision.fault is None:
            return None
        found = self._here()
        if not isinstance(found, journal.EventPublished) or _fault(found) != decision.fault.code:
            step = getattr(decision.fault, "step", None)
            return self._differs(step, f"the run to end with {decision.fault.code}: {decision.fault.message}", found)
        return self._follow(found, is_fault=True)

    # What the journal has --------------------------------------------------------------------------------------------

    def _follow(self, entry: journal.Entry, *, is_fault: bool = False) -> Divergence | None:
        divergence = None if is_fault else self._unexpected(entry)
        if divergence is not None:
            return divergence
        try:
            if isinstance(entry, journal.OwnershipTaken):
                self._take_over()
            self._schedule.apply(entry)
        except PlanwerkError as error:
            return self._differs(None, "an entry that fits the workflow", entry, why=error.message)
        self._at += 1
        if isinstance(entry, journal.EventPublished):
            self._note_published(entry)
        self._undecided |= _calls_for_decision(entry)
        return None

    def _take_over(self) -> None:
        """What a new owner knows of the run is what the journal says: preconditions are asked again, say (E3.8)."""
        self._schedule = RunSchedule(self._composition)
        for entry in self._entries[: self._at]:
            self._schedule.apply(entry)
        self._undecided = self._taken_over = True

    def _note_published(self, entry: journal.EventPublished) -> None:
        if entry.execution is not None and not entry.shown and isinstance(entry.event, ControlEvent):
            self._published.setdefault(entry.execution, []).append(self._at)
        if not self._stop_at and self._schedule.stop is entry.event:
            self._stop_at = self._at

    def _unexpected(self, entry: journal.Entry) -> Divergence | None:
        match entry:
            case journal.ExecutionDue(step=step):
                return self._differs(step, NOTHING, entry)
            case journal.PreconditionAnswered(step=step) if _key(entry) not in self._schedule.asked:
                return self._differs(step, f"no verdict of {step} on {_binding(entry.binding)}", entry)
            case journal.ExecutionFinished(execution, outputs=outputs):
                published = tuple(self._published.get(execution, ()))
                expected = f"an execution that returned {_positions(published)}"
                return self._differs(None, expected, entry) if outputs != published else None
            case journal.StopReached(event) if event != self._stop_at:
                return self._differs(None, f"the stop at {self._stop_at or 'no position'} to be reached", entry)
            case journal.EventPublished() if _fault(entry) in FAULTS:
                return self._differs(None, "the run to go on", entry)
            case journal.EventPublished(execution=str()) if not entry.shown and isinstance(entry.event, ControlEvent):
                late = self._schedule.stop is not None
                expected = "an event that came after the stop" if late else "an event that came before any stop"
                return self._differs(None, expected, entry) if entry.discarded != late else None
            case journal.RunEnded(untaken=untaken) if untaken and set(untaken) != set(self._schedule.left_over()):
                left = ", ".join(self._schedule.left_over()) or NOTHING
                return self._differs(None, f"{left} to be left over", entry)
            case _:
                return None

    def _here(self) -> journal.Entry | None:
        return self._entries[self._at] if self._at < len(self._entries) else None

    def _differs(self, step: str | None, expected: str, found: journal.Entry | None, *, why: str = "") -> Divergence:
        words = _words(found) if found is not None else "the end of the journal"
        return Divergence(self._at + 1, step, expected, f"{words}: {why}" if why else words)


_OF_OWNERS: Final = (journal.OwnershipTaken, journal.OwnershipReleased, journal.ExecutionStarted)
"""What the decision is put off for: an owner that let the run go left it to the next."""


def _is_answer(entry: journal.Entry) -> bool:
    return isinstance(entry, journal.EventPublished) and entry.answers is not None


def _calls_for_decision(entry: journal.Entry) -> bool:
    match entry:
        case journal.EventPublished(execution=None, shown=False):
            return True
        case journal.ExecutionFinished() | journal.ExecutionFailed() | journal.PreconditionAnswered():
            return True
        case _:
            return False


def _key(entry: journal.ExecutionDue | journal.PreconditionAnswered) -> tuple[str, int, journal.Binding]:
    return entry.step, entry.scope, entry.binding


def _fault(entry: journal.EventPublished) -> str | None:
    """The code of a stop that no execution returned."""
    return entry.event.code if entry.execution is None and isinstance(entry.event, ExceptionEvent) else None


def _words(entry: journal.Entry) -> str:
    match entry:
        case journal.ExecutionDue():
            return f"{entry.step} due with {_binding(entry.binding)}"
        case journal.PreconditionAnswered():
            verdict = "yes" if entry.verdict else "no"
            return f"the verdict {verdict} of {entry.step} on {_binding(entry.binding)}"
        case journal.EventPublished(event):
            kind = "stop" if isinstance(event, StopEvent) else "event"
            code = f" with {event.code}" if isinstance(event, ExceptionEvent) else ""
            return f"the {'discarded ' if entry.discarded else ''}{kind} {wire_type(event)}{code}"
        case journal.ExecutionFinished():
            return f"the end of an execution that returned {_positions(entry.outputs)}"
        case journal.StopReached(event):
            return f"the stop at {event} reached"
        case journal.RunEnded(untaken=untaken):
            return f"the end of the run, with {', '.join(untaken) or NOTHING} left over"
        case _:
            return type(entry).__name__


def _binding(binding: journal.Binding) -> str:
    return ", ".join(_positions(positions) for positions in binding) or NOTHING


def _positions(positions: Sequence[int]) -> str:
    return "+".join(f"No. {position}" for position in positions) or NOTHING
