"""Many durable runs at once on one SQLite file (WAL, synchronous NORMAL); the floor's, and burr's, are in memory."""

from typing import Final

from bench.gauges import Rate
from bench.scenario import Workload

WORKLOAD: Final = Workload(
    name="runs-durable",
    unit="runs/s",
    contestants=("planwerk", "floor", "floor_plus", "burr", "burr_sqlite", "dbos", "langgraph_sqlite"),
    amount=lambda sizes: sizes.runs,
    expected=lambda sizes: sizes.runs * sizes.steps,
    gauge=Rate(),
    steps=5,
    runs=1_000,
    rounds=5,
)
