"""Fan-out and join in memory: one step sends `width` events, each is worked on, one step takes all results."""

from typing import Final

from bench.gauges import Rate
from bench.scenario import Workload

WORKLOAD: Final = Workload(
    name="fanout",
    unit="events/s",
    contestants=(
        "planwerk",
        "floor",
        "floor_plus",
        "burr",
        "llama_index_workflows",
        "llama_index_workflows_list",
        "langgraph",
        "pydantic_graph",
    ),
    amount=lambda sizes: sizes.width,
    expected=lambda sizes: sum(2 * number for number in range(sizes.width)),
    gauge=Rate(),
)
