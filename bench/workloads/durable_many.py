"""A hundred durable chains at once on one SQLite file (WAL, synchronous NORMAL), counted in steps of all of them."""

from typing import Final

from bench.gauges import Rate
from bench.scenario import Workload

WORKLOAD: Final = Workload(
    name="durable-many",
    unit="steps/s",
    contestants=("planwerk", "floor", "floor_plus", "floor_grouped", "burr_sqlite", "dbos", "langgraph_sqlite"),
    amount=lambda sizes: sizes.runs * sizes.steps,
    expected=lambda sizes: sizes.runs * sizes.steps,
    gauge=Rate(),
    steps=20,
    runs=100,
)
