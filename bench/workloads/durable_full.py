"""The durable chain with synchronous FULL: a step's outcome survives a loss of power before the next begins."""

from typing import Final

from bench.gauges import Rate
from bench.scenario import Workload

WORKLOAD: Final = Workload(
    name="durable-full",
    unit="steps/s",
    contestants=("planwerk", "floor", "floor_plus", "burr_sqlite", "dbos", "langgraph_sqlite"),
    amount=lambda sizes: sizes.steps,
    expected=lambda sizes: sizes.steps,
    gauge=Rate(),
    synchronous="FULL",
)
