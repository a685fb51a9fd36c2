"""Runs that wait for a person: KiB of memory each, in a fresh process; they are answered and end.

The ratio says how much of theirs we take. Everybody keeps its journal, or checkpoints, in memory here.
"""

from typing import Final

from bench.gauges import Figure
from bench.scenario import Workload

WORKLOAD: Final = Workload(
    name="parked",
    unit="KiB/run",
    contestants=("planwerk", "floor", "llama_index_workflows", "langgraph"),
    amount=lambda sizes: sizes.runs,
    expected=lambda sizes: sizes.runs,
    gauge=Figure(),
    runs=2_000,
    rounds=3,
)
