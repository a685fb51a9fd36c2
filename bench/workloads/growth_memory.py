"""The long run of `growth` in memory: how the CPU time of a step grows from its beginning to its end."""

from typing import Final

from bench.gauges import LengthGrowth
from bench.scenario import Workload

WORKLOAD: Final = Workload(
    name="growth-memory",
    unit="× CPU per step",
    contestants=("planwerk", "floor", "floor_plus", "burr", "langgraph"),
    amount=lambda sizes: sizes.steps,
    expected=lambda sizes: sizes.steps,
    gauge=LengthGrowth(),
    steps=5_000,
)
