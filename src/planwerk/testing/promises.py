"""What must hold of every journal, whatever went wrong while it was written (E10.2)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from planwerk.runtime.agents import child_id
from planwerk.testing.folding import fold, state_of
from planwerk.testing.simulated_world import Outcome
from planwerk.workflow import entries as journal
from planwerk.workflow.agents import AgentInTheLoop
from planwerk.workflow.codec import wire_type, write_event
from planwerk.workflow.errors import PlanwerkError
from planwerk.workflow.events import ControlEvent, StopEvent
from planwerk.workflow.ids import ExecutionId
from planwerk.workflow.plan import Composition
from planwerk.workflow.replay import replay
from planwerk.workflow.schedule import RunSchedule

Joins = Counter[tuple[str, str]]
"""Bindings of steps that take a list or several events: (step, what it took), and how often."""


def broken_promises(outcome: Outcome, composition: Composition, expected: Joins | None, folds: int) -> Iterator[str]:
    """Each promise the run has broken, in a sentence.

    Args:
        expected: What the joins of an undisturbed run took; None where steps are not deterministic.
        folds: How many prefixes of the journal are folded, at most.
    """
    yield from outcome.complaints
    entries = outcome.entries
    if not outcome.complaints:
        yield from _one_stop_and_one_end(entries)
        yield from _recorded_once(entries)
        yield from _replays(entries, composition)
        yield from _answered_once(entries)
        yield from _brought_once(entries)
        yield from _below_too(outcome)
    yield from _nothing_lost(entries, composition)
    yield from _folds_to_the_same(outcome, composition, folds)
    if expected is not None and not outcome.complaints:
        yield from _same_joins(expected, joins_of(entries))


def _replays(entries: list[journal.Entry], composition: Composition) -> Iterator[str]:
    divergence = replay(entries, composition).divergence
    if divergence is not None:
        yield (
            f"the rules decide the same again (E7.8): at position {divergence.position} they make "
            f"{divergence.expected}, and the journal has {divergence.found}"
        )


def _one_stop_and_one_end(entries: list[journal.Entry]) -> Iterator[str]:
    stops = [e for e in entries if isinstance(e, journal.EventPublished) and isinstance(e.event, StopEvent)]
    kept = [stop for stop in stops if not stop.discarded]
    reached = [entry.event for entry in entries if isinstance(entry, journal.StopReached)]
    ends = [place for place, entry in enumerate(entries, 1) if isinstance(entry, journal.RunEnded)]
    if len(kept) != 1:
        yield f"exactly one stop (E4.2): there are {len(kept)}: {', '.join(wire_type(stop.event) for stop in kept)}"
    elif reached != [entries.index(kept[0]) + 1]:
        yield f"the stop at position {entries.index(kept[0]) + 1} is named once as reached (E4.2), not {reached}"
    if ends != [len(entries)]:
        yield f"exactly one end, and it is the last entry (E4.2): ends at {ends} of {len(entries)} entries"


def _below_too(outcome: Outcome) -> Iterator[str]:
    """The same of each run that was asked for; and none was opened that nobody has asked for (E8.2)."""
    journals = [outcome.entries, *outcome.others]
    asked = {
        child_id(_opened(entries).run, entry.id)
        for entries in journals
        for entry in entries
        if isinstance(entry, journal.EventPublished) and isinstance(entry.event, AgentInTheLoop)
    }
    for entries in outcome.others:
        opened = _opened(entries)
        promises = [*_one_stop_and_one_end(entries), *_recorded_once(entries)]
        yield from (f"run {opened.run} of {opened.blueprint}, asked for by another: {promise}" for promise in promises)
        if opened.run not in asked:
            yield f"runs are opened that were asked for (E8.2): {opened.run} of {opened.blueprint} was not"


def _brought_once(entries: list[journal.Entry]) -> Iterator[str]:
    """What is said into a run enters it once, however often it arrives (S2.3)."""
    brought = Counter(
        entry.id
        for entry in entries
        if isinstance(entry, journal.EventPublished) and entry.event.from_outside and entry.execution is None
    )
    for identity, count in brought.items():
        if count > 1:
            yield f"what is said into a run enters it once (S2.3): {identity} did {count} times"


def _opened(entries: list[journal.Entry]) -> journal.RunOpened:
    opened = entries[0]
    assert isinstance(opened, journal.RunOpened)
    return opened


def _recorded_once(entries: list[journal.Entry]) -> Iterator[str]:
    due: set[ExecutionId] = set()
    landed: set[ExecutionId] = set()
    published: dict[ExecutionId, list[int]] = {}
    for position, entry in enumerate(entries, 1):
        match entry:
            case journal.ExecutionDue(execution):
                if execution in due:
                    yield f"execution {execution} is due once (E7.2), and again at position {position}"
                due.add(execution)
            case journal.EventPublished(execution=str() as execution, shown=False):
                published.setdefault(execution, []).append(position)
            case journal.ExecutionFinished(execution) | journal.ExecutionFailed(execution):
                if execution in landed:
                    yield f"an execution ends once (E7.2): {execution} ended again at position {position}"
                if execution not in due:
                    yield f"only what was due can end (E7.2): {execution} at position {position}"
                landed.add(execution)
                if isinstance(entry, journal.ExecutionFinished):
                    yield from _outputs_together(entries, entry, position, published.get(execution, []))
            case _:
                pass
    if due - landed:
        yield f"every execution that was due ends (E4.2): {', '.join(sorted(due - landed))} did not"
    for execution in published.keys() - landed:
        yield f"outputs and end are one append (E4.1): {execution} has outputs and no end"


def _answered_once(entries: list[journal.Entry]) -> Iterator[str]:
    """No request is answered twice, and none that is over in time goes unanswered while the run goes on (E8.1)."""
    answers: Counter[int] = Counter()
    for position, entry in enumerate(entries, 1):
        if isinstance(entry, journal.EventPublished) and entry.answers is not None and not entry.discarded:
            answers[entry.answers] += 1
            asked = _event(entries, entry.answers)
            if type(entry.event) not in asked.answered_by:
                yield f"an answer is of a class that answers its request (E8.1): position {position}"
    for position, count in answers.items():
        if count > 1:
            yield f"a request is answered once (E8.1): that at position {position} was {count} times"


def _outputs_together(
    entries: list[journal.Entry], finished: journal.ExecutionFinished, at: int, published: list[int]
) -> Iterator[str]:
    control = tuple(p for p in published if isinstance(_event(entries, p), ControlEvent))
    if finished.outputs != control:
        yield f"outputs are recorded once (E4.1): {finished.execution} names {finished.outputs}, published {control}"
    if published and published != list(range(at - len(published), at)):
        yield f"outputs stand together before the end of their execution (E4.1): {published} and {at}"


def _nothing_lost(entries: list[journal.Entry], composition: Composition) -> Iterator[str]:
    """Every control event was taken, opened a call, lies where a step may take it, or is named as left over."""
    taken = {p for e in entries if isinstance(e, journal.ExecutionDue) for taken in e.binding for p in taken}
    schedule = RunSchedule(composition)
    named: set[str] = set()
    for position, entry in enumerate(entries, 1):
        schedule.apply(entry)
        if isinstance(entry, journal.RunEnded):
            named.update(entry.untaken)
        if schedule.stop is not None or not isinstance(entry, journal.EventPublished):
            continue
        if isinstance(entry.event, ControlEvent) and not entry.shown and not entry.discarded:
            known = {scope.position for scope in schedule.open_scopes()} | set(schedule.requests) | _lying(schedule)
            if position not in known | taken and type(entry.event).__name__ not in schedule.untaken:
                yield f"no event is lost (E4.5): {wire_type(entry.event)} at position {position} reached nobody"
    if isinstance(entries[-1], journal.RunEnded):
        outcomes = {outcome.__name__ for plan in composition.scopes for outcome in plan.outcomes}
        left, named = _taken_by_nobody(entries, composition), named - outcomes
        if left != named:
            told = ", ".join(sorted(named))
            yield f"the end names the events no step took (E4.5): {', '.join(sorted(left))}, not {told}"


def _taken_by_nobody(entries: list[journal.Entry], composition: Composition) -> set[str]:
    """Classes of events in no binding that was made due, by the journal alone.

    Requests and outcomes are for no step of their scope to take, and what only a precondition reads is not taken.
    """
    due = [entry for entry in entries if isinstance(entry, journal.ExecutionDue)]
    taken = {position for entry in due for positions in entry.binding for position in positions}
    scopes = {entry.execution: entry.scope for entry in due}
    found: set[str] = set()
    for position, entry in enumerate(entries, 1):
        if not isinstance(entry, journal.EventPublished) or entry.execution is None or position in taken:
            continue
        if entry.shown or entry.discarded or not isinstance(entry.event, ControlEvent):
            continue
        opened_by = entries[scopes[entry.execution] - 1] if scopes[entry.execution] else None
        request = type(opened_by.event) if isinstance(opened_by, journal.EventPublished) else None
        plan = next(plan for plan in composition.scopes if plan.request is request)
        kind = plan.by_class.get(type(entry.event))
        leads_on = kind is None or kind.is_stop or kind.is_outcome or kind.call or kind.answers
        if not (leads_on or (kind is not None and kind.watchers and not kind.takers)):
            found.add(type(entry.event).__name__)
    return found


def _lying(schedule: RunSchedule) -> set[int]:
    """Positions of the events that lie where a step, or a precondition, can see them."""
    found: set[int] = set()
    for scope in schedule.open_scopes():
        found.update(seen.position for cell in scope.cells.values() for seen in (*cell.new, *cell.all))
        found.update(seen.position for _, seen in scope.direct)
        found.update(seen.position for watched in scope.latest.values() for seen in watched)
        if scope.answered:
            found.update(seen.position for _, seen in scope.direct)
    return found


def _folds_to_the_same(outcome: Outcome, composition: Composition, folds: int) -> Iterator[str]:
    """Whoever takes the run over at the end of an append stands where its owner stood (E3.8, E7.2)."""
    appends = outcome.appends
    step = max(1, -(-len(appends) // folds))
    for place in range(len(appends) - 1, -1, -step):
        version = appends[place]
        prefix = outcome.entries[:version]
        try:
            schedule = fold(composition, prefix)
            if schedule.ended:
                continue
            decision = schedule.decide_all()
        except PlanwerkError as error:
            yield f"every prefix folds (E7.2): the first {version} entries give {error}"
            continue
        if decision.due:
            made = ", ".join(f"{made.step.name}{made.positions}" for made in decision.due)
            yield f"a fold makes nothing due that its owner did not (E3.8): after {version} entries {made}"
        elif decision.fault is not None:
            yield f"a fold fails no run that its owner did not (E3.8): after {version} entries {decision.fault}"
        elif version in outcome.live and outcome.live[version] != state_of(schedule):
            yield (
                f"the journal folds to the live state (E7.2): after {version} entries\n"
                f"    live   {outcome.live[version]}\n    folded {state_of(schedule)}"
            )


def _event(entries: list[journal.Entry], position: int) -> Any:
    entry = entries[position - 1]
    return entry.event if isinstance(entry, journal.EventPublished) else None


# Joins ---------------------------------------------------------------------------------------------------------------


def joins_of(entries: list[journal.Entry]) -> Joins | None:
    """What joins took; None for a run whose stop cut work off, for what was done by then depends on the order."""
    if any(_was_cut_off(entry) for entry in entries) or not entries:
        return None
    found: Joins = Counter()
    for entry in entries:
        if isinstance(entry, journal.ExecutionDue) and (
            len(entry.binding) > 1 or any(len(t) > 1 for t in entry.binding)
        ):
            found[entry.step, _told(entries, entry.binding)] += 1
    return found


def _was_cut_off(entry: journal.Entry) -> bool:
    match entry:
        case journal.ExecutionFailed(error=error):
            return error.code == "cancelled"
        case journal.EventPublished(discarded=discarded):
            return discarded
        case journal.RunEnded(status=status):
            return status == "stopped"
        case _:
            return False


def _told(entries: list[journal.Entry], binding: journal.Binding) -> str:
    return json.dumps([[_content(entries, position) for position in taken] for taken in binding], sort_keys=True)


def _content(entries: list[journal.Entry], position: int) -> Any:
    event = _event(entries, position)
    return write_event(event) if event is not None else None


def _same_joins(expected: Joins, found: Joins | None) -> Iterable[str]:
    if found is None:
        return
    for (step, taken), count in (expected - found).items():
        yield f"joins take what they take undisturbed (E3.3): {step} did not take {taken} ({count} times)"
    for (step, taken), count in (found - expected).items():
        yield f"joins take what they take undisturbed (E3.3): {step} took {taken} ({count} times too often)"
