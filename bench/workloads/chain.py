"""A chain in memory: one step after the other, each taking the event of the one before."""

from typing import Final

from bench.gauges import Rate
from bench.scenario import Workload

WORKLOAD: Final = Workload(
    name="chain",
    unit="steps/s",
    contestants=("planwerk", "floor", "floor_plus", "burr", "llama_index_workflows", "langgraph", "pydantic_graph"),
    amount=lambda sizes: sizes.steps,
    expected=lambda sizes: sizes.steps,
    gauge=Rate(),
)
