"""A chain on a SQLite file (WAL, synchronous NORMAL): a step's outcome is committed before the next begins."""

from typing import Final

from bench.gauges import Rate
from bench.scenario import Workload

WORKLOAD: Final = Workload(
    name="durable",
    unit="steps/s",
    contestants=("planwerk", "floor", "floor_plus", "burr_sqlite", "dbos", "langgraph_sqlite"),
    amount=lambda sizes: sizes.steps,
    expected=lambda sizes: sizes.steps,
    gauge=Rate(),
)
