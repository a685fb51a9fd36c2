"""The engine under faults: crashes at any await, lost leases, failing stores, any order (E10.2)."""

from __future__ import annotations

import os

import pytest

from planwerk.testing import simulate
from tests.conftest import IN_CI
from tests.simulation.workflows import CASES, Case

SEEDS = 2_000 // len(CASES) + 1 if IN_CI else 400 // len(CASES) + 1
SOAK_SEEDS = int(os.environ.get("PLANWERK_SIMULATED_RUNS", "1000"))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_workflow_keeps_every_promise_whatever_fails(case: Case) -> None:
    report = simulate(case.blueprint, case.start, seeds=range(SEEDS), respond=case.respond)

    assert report.runs == SEEDS
    assert sum(report.faults.values()) > SEEDS / 2
    assert report.compared_joins == case.compared


@pytest.mark.soak
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_workflow_keeps_every_promise_over_many_seeds(case: Case) -> None:
    simulate(case.blueprint, case.start, seeds=range(10_000, 10_000 + SOAK_SEEDS), respond=case.respond)
