"""A run is re-driven from its journal: the rules decide the same again, or the first difference is named (E7.8)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from planwerk.testing import run_workflow
from planwerk.testing.virtual_clock import virtual_time
from planwerk.workflow import entries as journal
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.composition import compose
from planwerk.workflow.events import ControlEvent, ExceptionEvent, StartEvent, StopEvent
from planwerk.workflow.ids import ExecutionId
from planwerk.workflow.replay import Replay, replay
from planwerk.workflow.steps import step
from tests.simulation.workflows import CASES, Case


class ReplayStart(StartEvent):
    width: int = 3


class ReplayItem(ControlEvent):
    number: int


class ReplayDone(ControlEvent):
    number: int


class ReplayStop(StopEvent):
    numbers: tuple[int, ...]


def is_small(item: ReplayItem) -> bool:
    return item.number < 9


def is_never(item: ReplayItem) -> bool:
    return False


class Replayed(Agent):
    """A fan-out, a step with a precondition, and a join."""

    @step()
    async def split(self, start: ReplayStart) -> list[ReplayItem]:
        return [ReplayItem(number=number) for number in range(start.width)]

    @step(precondition=is_small)
    async def work(self, item: ReplayItem) -> ReplayDone:
        return ReplayDone(number=item.number)

    @step()
    async def join(self, start: ReplayStart, done: list[ReplayDone]) -> ReplayStop:
        return ReplayStop(numbers=tuple(one.number for one in done))


class Stalling(Agent):
    """Comes to nothing."""

    @step()
    async def split(self, start: ReplayStart) -> ReplayItem | ReplayStop:
        return ReplayItem(number=1)

    @step()
    async def end(self, item: ReplayItem, done: ReplayDone) -> ReplayStop:
        return ReplayStop(numbers=())

    @step(precondition=is_never)
    async def work(self, item: ReplayItem) -> ReplayDone:
        return ReplayDone(number=1)


Entries = list[journal.Entry]


async def recorded(blueprint: type[Agent] = Replayed) -> Entries:
    with virtual_time():
        return list((await run_workflow(blueprint, ReplayStart())).journal)


def replayed(entries: Entries, blueprint: type[Agent] = Replayed) -> Replay:
    return replay(entries, compose(blueprint, ReplayStart))


def where(entries: Entries, kind: type[journal.Entry], number: int = 0) -> int:
    """Place of the so-manieth entry of a kind."""
    return [place for place, entry in enumerate(entries) if isinstance(entry, kind)][number]


async def test_what_was_recorded_is_decided_again_to_the_last_entry() -> None:
    entries = await recorded()

    assert replayed(entries) == Replay(entries=len(entries), executions=5)


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_runs_with_every_feature_are_decided_again(case: Case) -> None:
    with virtual_time():
        entries = list((await run_workflow(case.blueprint, case.start, respond=case.respond)).journal)

    found = replay(entries, compose(case.blueprint, type(case.start)))

    assert found.divergence is None
    assert found.entries == len(entries)


async def test_a_run_that_the_rules_ended_is_ended_by_them_again() -> None:
    entries = await recorded(Stalling)

    assert replayed(entries, Stalling).divergence is None
    assert isinstance(entries[-1], journal.RunEnded)
    assert entries[-1].status == "failed"


def drop_due(entries: Entries) -> Entries:
    return [entry for place, entry in enumerate(entries) if place != where(entries, journal.ExecutionDue)]


def another_binding(entries: Entries) -> Entries:
    place = where(entries, journal.ExecutionDue, -1)
    due = entries[place]
    assert isinstance(due, journal.ExecutionDue)
    entries[place] = replace(due, binding=(due.binding[0], due.binding[1][::-1]))
    return entries


def another_step(entries: Entries) -> Entries:
    place = where(entries, journal.ExecutionDue, -1)
    due = entries[place]
    assert isinstance(due, journal.ExecutionDue)
    entries[place] = replace(due, step="work")
    return entries


def one_too_many(entries: Entries) -> Entries:
    place = where(entries, journal.ExecutionDue, -1)
    due = entries[place]
    assert isinstance(due, journal.ExecutionDue)
    return [*entries[: place + 1], replace(due, execution=ExecutionId("again")), *entries[place + 1 :]]


def other_verdict(entries: Entries) -> Entries:
    place = where(entries, journal.PreconditionAnswered)
    answered = entries[place]
    assert isinstance(answered, journal.PreconditionAnswered)
    entries[place] = replace(answered, verdict=False)
    return entries


def not_asked(entries: Entries) -> Entries:
    place = where(entries, journal.PreconditionAnswered)
    answered = entries[place]
    assert isinstance(answered, journal.PreconditionAnswered)
    entries[place] = replace(answered, binding=((2,),))
    return entries


def other_stop(entries: Entries) -> Entries:
    place = where(entries, journal.StopReached)
    entries[place] = journal.StopReached(2, 0)
    return entries


def stalled_for_nothing(entries: Entries) -> Entries:
    stop = journal.EventPublished(ExceptionEvent(code="run_stalled", message="no"), journal.EventId("x"), 0)
    place = where(entries, journal.ExecutionDue, -1)
    return [*entries[: place + 1], stop, *entries[place + 1 :]]


def cut_short(entries: Entries) -> Entries:
    return entries[: where(entries, journal.ExecutionDue, -1)]


def other_outputs(entries: Entries) -> Entries:
    place = where(entries, journal.ExecutionFinished)
    finished = entries[place]
    assert isinstance(finished, journal.ExecutionFinished)
    entries[place] = replace(finished, outputs=finished.outputs[1:])
    return entries


@pytest.mark.parametrize(
    ("change", "expected", "found"),
    [
        (drop_due, "split due with No. 2", "the event ReplayItem"),
        (another_binding, "join due with No. 2, No. ", "join due with No. 2, No. "),
        (another_step, "join due with", "work due with"),
        (one_too_many, "nothing", "join due with"),
        (other_verdict, "", ""),
        (not_asked, "no verdict of work on No. 2", "the verdict yes of work on No. 2"),
        (other_stop, "the stop at ", "the stop at 2 reached"),
        (stalled_for_nothing, "the run to go on", "the stop ExceptionEvent with run_stalled"),
        (other_outputs, "an execution that returned No. ", "the end of an execution that returned No. "),
    ],
)
async def test_the_first_difference_is_named(change: Callable[[Entries], Entries], expected: str, found: str) -> None:
    before = await recorded()
    changed = change(list(before))

    result = replayed(changed)

    divergence = result.divergence
    assert divergence is not None
    first = next(
        (place for place, (one, other) in enumerate(zip(before, changed, strict=False)) if one != other), len(changed)
    )
    assert divergence.position >= first + 1
    assert result.entries == divergence.position - 1
    assert divergence.expected.startswith(expected)
    assert divergence.found.startswith(found)


async def test_a_journal_that_ends_before_what_it_made_due_has_nothing_decided_yet() -> None:
    """An owner that died, or a run that was opened and not taken yet: the next owner decides."""
    assert replayed(cut_short(await recorded())).divergence is None


async def test_a_workflow_that_has_changed_is_noticed() -> None:
    entries = await recorded()

    divergence = replay(entries, compose(Stalling, ReplayStart)).divergence

    assert divergence is not None
    assert divergence.position > 2
