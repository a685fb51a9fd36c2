"""A process is killed with `steps` steps of a durable run done: how long a fresh one takes to its first step.

Measured from the opening of the file to the beginning of the step's body, imports not counted; that the run then ends
with every note, and that no step but the one in flight is executed twice, is checked. A run many times as long gives
the cost of each further event.
"""

from typing import Final

from bench.gauges import Figure
from bench.scenario import Workload

WORKLOAD: Final = Workload(
    name="resume",
    unit="ms",
    contestants=("planwerk", "floor", "burr_sqlite", "dbos", "langgraph_sqlite"),
    amount=lambda sizes: sizes.steps,
    expected=lambda sizes: sizes.steps,
    gauge=Figure(),
    rounds=5,
)
