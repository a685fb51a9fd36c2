"""`simulate` itself: it finds what is broken, says so, and does the same again for the same seed (E10.2)."""

from __future__ import annotations

import pytest

from planwerk.runtime.execution import ExecutionInfo
from planwerk.testing import SimulationFailed, simulate
from planwerk.workflow.binding import take_recorded
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.plan import ParameterPlan, StepPlan
from planwerk.workflow.schedule import RunSchedule
from planwerk.workflow.scope import Cell, Scope
from planwerk.workflow.seen import Bound
from planwerk.workflow.steps import step
from tests.simulation.rarer_workflows import SimUnions
from tests.simulation.workflows import (
    SimAsk,
    SimAskBoss,
    SimDone,
    SimFan,
    SimItem,
    SimPeople,
    SimPrecondition,
    SimStart,
    SimStop,
    SimWaiting,
    first_word,
)


class SimForgetful(Agent):
    """Returns something else when it is executed again, which no engine can make good."""

    @step()
    async def split(self, start: SimStart) -> list[SimItem]:
        return [SimItem(number=1), SimItem(number=2)]

    @step()
    async def work(self, item: SimItem, info: ExecutionInfo) -> SimDone:
        return SimDone(number=item.number * info.attempt)

    @step()
    async def join(self, start: SimStart, done: list[SimDone]) -> SimStop:
        return SimStop()


def test_a_join_that_takes_something_else_after_a_crash_is_named_with_its_seed_and_faults() -> None:
    with pytest.raises(SimulationFailed, match="joins take what they take undisturbed") as failed:
        simulate(SimForgetful, SimStart())

    assert failed.value.seed is not None
    assert failed.value.trace
    assert f"seeds=[{failed.value.seed}]" in str(failed.value)


def test_a_failing_seed_fails_again_in_the_same_way() -> None:
    with pytest.raises(SimulationFailed) as first:
        simulate(SimForgetful, SimStart())
    seed = first.value.seed
    assert seed is not None

    with pytest.raises(SimulationFailed) as again:
        simulate(SimForgetful, SimStart(), seeds=[seed])

    assert again.value.promises == first.value.promises
    assert again.value.trace == first.value.trace


def test_a_fold_that_forgets_what_was_taken_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(
        scope: Scope, step: StepPlan, parameter: ParameterPlan, cell: Cell, positions: tuple[int, ...]
    ) -> Bound:
        taken = take_recorded(scope, step, parameter, cell, positions)
        cell.last = None
        return taken

    monkeypatch.setattr("planwerk.workflow.binding.take_recorded", forgetful)

    with pytest.raises(SimulationFailed, match="the journal folds to the live state"):
        simulate(SimPrecondition, SimStart(), seeds=range(20))


def nothing_left(_: RunSchedule) -> tuple[()]:
    return ()


def test_an_end_that_does_not_name_what_no_step_took_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunSchedule, "left_over", nothing_left)

    with pytest.raises(SimulationFailed, match="the end names the events no step took"):
        simulate(SimUnions, SimStart(), seeds=range(20))


def test_the_report_counts_runs_and_faults() -> None:
    report = simulate(SimFan, SimStart(), seeds=range(40))

    assert report.runs == 40
    assert report.compared_joins
    assert {"crash", "pause", "second owner", "hand over"} <= report.faults.keys()


def test_a_run_that_was_taken_by_a_call_whose_answer_was_lost_is_called_for_once() -> None:
    """Found by simulation: the worker enqueued a run that was leased to it without its knowing, and was called again
    for that, for as long as the lease held.
    """
    report = simulate(SimWaiting, SimStart(), seeds=[20_386])

    assert report.faults == {"call fails after its work": 1, "delivered twice": 1}


def test_a_run_whose_wake_up_fails_is_woken_again() -> None:
    """Found by simulation: an answer came while its run was handed over, and the queue was away at that moment."""
    report = simulate(SimPeople, SimStart(), seeds=[30_255], respond={SimAsk: first_word, SimAskBoss: True})

    assert report.faults["call fails"] == 1


def test_a_run_is_not_parked_by_a_worker_that_ends() -> None:
    """Found by simulation: the call for an answer was told to a worker that no longer listened, and the run slept."""
    report = simulate(SimPeople, SimStart(), seeds=[40_760], respond={SimAsk: first_word, SimAskBoss: True})

    assert report.faults["hand over"] == 2
