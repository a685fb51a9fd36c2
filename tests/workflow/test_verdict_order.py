"""Verdicts of preconditions come in any order; the fold stands where the live run stood (E3.6, E7.2)."""

from __future__ import annotations

import itertools

import pytest

from planwerk.testing.folding import fold, state_of
from planwerk.workflow import entries as journal
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.composition import compose
from planwerk.workflow.events import ControlEvent, Event, StartEvent, StopEvent
from planwerk.workflow.ids import EventId
from planwerk.workflow.schedule import Decision, RunSchedule, entry_of
from planwerk.workflow.steps import step


class VerdictStart(StartEvent):
    pass


class VerdictItem(ControlEvent):
    number: int


class VerdictStop(StopEvent):
    pass


def _never_the_first(item: VerdictItem) -> bool:
    return item.number > 0


class VerdictAgent(Agent):
    @step()
    async def split(self, start: VerdictStart) -> list[VerdictItem]:
        return [VerdictItem(number=number) for number in range(3)]

    @step(precondition=_never_the_first)
    async def work(self, item: VerdictItem) -> VerdictStop:
        return VerdictStop()


class _Live:
    def __init__(self) -> None:
        self.composition = compose(VerdictAgent, VerdictStart)
        self.schedule = RunSchedule(self.composition)
        self.entries: list[journal.Entry] = []

    def record(self, *entries: journal.Entry) -> Decision:
        for entry in entries:
            self.schedule.apply(entry)
            self.entries.append(entry)
        decision = self.schedule.decide()
        self.entries += [entry_of(made) for made in decision.due]
        return decision


def _published(event: Event, by: str | None = None) -> journal.EventPublished:
    return journal.EventPublished(event, EventId(""), 0, execution=by)  # pyright: ignore[reportArgumentType] - any id will do


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_run_taken_over_between_verdicts_remembers_the_event_taken_last(order: tuple[int, ...]) -> None:
    live = _Live()
    split = live.record(_published(VerdictStart())).due[0]
    items = [_published(VerdictItem(number=number), split.id) for number in range(3)]
    asked = live.record(*items, journal.ExecutionFinished(split.id, 0, 1, (4, 5, 6))).asks

    for place in order:
        answered = asked[place]
        live.record(journal.PreconditionAnswered(answered.step.name, 0, answered.positions, place > 0, 0))

        folded = fold(live.composition, live.entries)
        folded.decide_all()
        assert state_of(folded) == state_of(live.schedule)
