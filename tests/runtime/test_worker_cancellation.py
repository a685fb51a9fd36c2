"""A worker that is cancelled ends, also while it recovers from a queue that failed (E7.5)."""

from __future__ import annotations

from planwerk.testing import simulate
from tests.simulation.workflows import SimFails, SimStart


def test_a_worker_cancelled_while_it_recovers_from_a_failed_take_ends() -> None:
    """Found by simulation: the cancellation was taken for that of the wake-up the worker had just given up."""
    report = simulate(SimFails, SimStart(), seeds=[10_000])

    assert report.faults["call fails after its work"] == 2
