"""The engine under faults: crashes at any await, lost leases, failing stores, any order (E10.2)."""

from __future__ import annotations

import os

import pytest

from planwerk.testing import run_workflow, simulate
from tests.conftest import IN_CI
from tests.simulation.rarer_workflows import RARER_CASES
from tests.simulation.workflows import CASES, Case

ALL_CASES = [*CASES, *RARER_CASES]
SEEDS = 3_000 // len(ALL_CASES) + 1 if IN_CI else 500 // len(ALL_CASES) + 1
SOAK_SEEDS = int(os.environ.get("PLANWERK_SIMULATED_RUNS", "1000"))


@pytest.mark.parametrize("case", [case for case in ALL_CASES if case.error != "event_unwritable"], ids=str)
async def test_a_workflow_ends_undisturbed_as_it_is_meant_to(case: Case) -> None:
    result = await run_workflow(case.blueprint, case.start, respond=case.respond)

    assert (result.error.code if result.error is not None else "") == case.error


@pytest.mark.parametrize("case", ALL_CASES, ids=str)
def test_a_workflow_keeps_every_promise_whatever_fails(case: Case) -> None:
    report = simulate(case.blueprint, case.start, seeds=range(SEEDS), respond=case.respond)

    assert report.runs == SEEDS
    assert sum(report.faults.values()) > SEEDS / 2
    assert report.compared_joins == case.compared


@pytest.mark.soak
@pytest.mark.parametrize("case", ALL_CASES, ids=str)
def test_a_workflow_keeps_every_promise_over_many_seeds(case: Case) -> None:
    simulate(case.blueprint, case.start, seeds=range(10_000, 10_000 + SOAK_SEEDS), respond=case.respond)
