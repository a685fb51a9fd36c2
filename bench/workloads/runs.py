"""Many runs at once in memory, each a short chain."""

from typing import Final

from bench.gauges import Rate
from bench.scenario import Workload

WORKLOAD: Final = Workload(
    name="runs",
    unit="runs/s",
    contestants=("planwerk", "floor", "floor_plus", "burr", "llama_index_workflows", "langgraph", "pydantic_graph"),
    amount=lambda sizes: sizes.runs,
    expected=lambda sizes: sizes.runs * sizes.steps,
    gauge=Rate(),
    steps=5,
    runs=1_000,
)
