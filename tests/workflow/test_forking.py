"""A new run begins with what another had done up to a position (E7.8)."""

from __future__ import annotations

from collections import Counter

import pytest

from planwerk.testing import run_workflow
from planwerk.testing.folding import fold, state_of
from planwerk.testing.virtual_clock import virtual_time
from planwerk.workflow import entries as journal
from planwerk.workflow.composition import compose
from planwerk.workflow.events import ControlEvent
from planwerk.workflow.forking import NoForkHere, fork, last_position
from planwerk.workflow.ids import new_id
from planwerk.workflow.replay import replay
from tests.simulation.workflows import CASES, Case, SimChain, SimStart

Entries = list[journal.Entry]


async def recorded(case: Case) -> Entries:
    with virtual_time():
        return list((await run_workflow(case.blueprint, case.start, respond=case.respond)).journal)


def opened(entries: Entries) -> journal.Entry:
    return entries[0]


def ids(entries: Entries) -> set[str]:
    return {str(entry.id) for entry in entries if isinstance(entry, journal.EventPublished) and entry.id}


def due_by_place(entries: Entries) -> dict[str, str]:
    due = enumerate(entries, start=1)
    return {entry.execution: str(place) for place, entry in due if isinstance(entry, journal.ExecutionDue)}


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_at_every_position_the_new_run_stands_where_the_other_stood(case: Case) -> None:
    entries, composition = await recorded(case), compose(case.blueprint, type(case.start))

    for position in range(2, last_position(entries) + 1):
        made = fork(entries, position, at=7, make_id=new_id)
        new = [opened(entries), *made.entries]

        assert replay(new, composition).divergence is None
        old, again = fold(composition, entries[: made.position]), fold(composition, new)
        assert [one.step.name for one in again.in_flight.values()] == [one.step.name for one in old.in_flight.values()]
        due_in_old = [one.step.name for one in old.decide_all().due]
        assert [one.step.name for one in again.decide_all().due] == due_in_old
        assert ids(new[1:]).isdisjoint(ids(entries))
        assert all(name == place for name, place in due_by_place(new).items())
        assert {getattr(entry, "at", None) for entry in new[1:]} == {7}
        kinds = Counter(type(entry.event) for entry in new if isinstance(entry, journal.EventPublished))
        kept = [e for e in entries[: made.position] if isinstance(e, journal.EventPublished) and not e.shown]
        assert {cls: kinds[cls] for cls in kinds if issubclass(cls, ControlEvent)} == Counter(
            type(entry.event) for entry in kept if isinstance(entry.event, ControlEvent)
        )


async def test_what_one_execution_returned_stays_together() -> None:
    entries = await recorded(CASES[3])  # a fan of twelve
    items = [place for place, entry in enumerate(entries, 1) if getattr(entry, "execution", None) and _is_item(entry)]
    end = next(place for place, entry in enumerate(entries, 1) if isinstance(entry, journal.ExecutionFinished))

    made = fork(entries, items[4], at=7, make_id=new_id)

    assert made.position == end
    assert sum(_is_item(entry) for entry in made.entries) == 12


def _is_item(entry: journal.Entry) -> bool:
    return isinstance(entry, journal.EventPublished) and type(entry.event).__name__ == "SimItem"


async def test_what_an_attempt_that_had_not_ended_showed_is_left_out() -> None:
    entries = await recorded(Case(SimChain))
    shown = next(p for p, e in enumerate(entries, 1) if isinstance(e, journal.EventPublished) and e.shown)

    made = fork(entries, shown, at=7, make_id=new_id)

    assert [entry.step for entry in made.entries if isinstance(entry, journal.ExecutionDue)] == ["begin"]
    assert not any(isinstance(entry, journal.EventPublished) and entry.shown for entry in made.entries)
    assert isinstance(made.entries[-1], journal.OwnershipReleased)


async def test_what_was_made_due_there_is_decided_anew() -> None:
    entries = await recorded(CASES[3])
    due = [place for place, entry in enumerate(entries, 1) if isinstance(entry, journal.ExecutionDue)]
    before_works = next(place for place in due if entries[place - 2] and _is_end(entries[place - 2])) - 1

    for position in (before_works, before_works + 1, before_works + 5, before_works + 12):
        made = fork(entries, position, at=7, make_id=new_id)

        assert made.position == before_works
        assert _is_end(made.entries[-1])


def _is_end(entry: journal.Entry) -> bool:
    return isinstance(entry, journal.ExecutionFinished)


async def test_from_the_stop_on_nothing_is_left_to_do() -> None:
    entries = await recorded(Case(SimChain))
    stop = next(place for place, entry in enumerate(entries, 1) if isinstance(entry, journal.StopReached))
    last = last_position(entries)

    for position in (stop, len(entries), last + 1):
        with pytest.raises(NoForkHere, match=f"Take a position from 2 to {last}"):
            fork(entries, position, at=7, make_id=new_id)
    for position in (0, 1, len(entries) + 1):
        with pytest.raises(NoForkHere):
            fork(entries, position, at=7, make_id=new_id)
    assert state_of(fold(compose(SimChain, SimStart), [entries[0], *fork(entries, last, at=1, make_id=new_id).entries]))
