"""One long durable run: how the CPU time of a step grows from its beginning to its end.

Every step leaves a note, and the end of the run has all notes, as a conversation has its messages. The bytes that a
step stores are counted at both ends.
"""

from typing import Final

from bench.gauges import LengthGrowth
from bench.scenario import Workload

WORKLOAD: Final = Workload(
    name="growth",
    unit="× CPU per step",
    contestants=("planwerk", "floor", "floor_plus", "burr_sqlite", "langgraph_sqlite"),
    amount=lambda sizes: sizes.steps,
    expected=lambda sizes: sizes.steps,
    gauge=LengthGrowth(),
    steps=5_000,
)
