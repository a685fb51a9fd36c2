"""Fan-out and join in memory, 100 times as wide: how the CPU time of an event grows from `width` to that.

llama-index-workflows is left out: at 1,000 wide an event costs it ten times as much already, at 10,000 a join takes
minutes.
"""

from typing import Final

from bench.gauges import WidthGrowth
from bench.scenario import Workload

WIDER: Final = 100

WORKLOAD: Final = Workload(
    name="fanout-wide",
    unit="× CPU per event",
    contestants=("planwerk", "floor", "floor_plus", "burr", "langgraph", "pydantic_graph"),
    amount=lambda sizes: sizes.width,
    expected=lambda sizes: sum(2 * number for number in range(sizes.width)),
    gauge=WidthGrowth(WIDER),
)
