"""Which workloads there are: those built, and those whose issue builds them."""

from __future__ import annotations

import importlib
from typing import Final, cast

from bench.scenario import Contestant, Workload

BUILT: Final = (
    "chain",
    "fanout",
    "fanout-wide",
    "runs",
    "runs-durable",
    "durable",
    "durable-full",
    "durable-many",
    "growth",
    "growth-memory",
    "parked",
    "resume",
)

BUILT_LATER: Final = {
    "http": "a later issue",
    "jetstream": "a later issue",
    "postgresql": "a later issue",
    "sse": "a later issue",
}


def workload(name: str) -> Workload:
    """Load the workload of this name, which must be one of `BUILT`."""
    return cast("Workload", importlib.import_module(f"bench.workloads.{name.replace('-', '_')}").WORKLOAD)


def contestants(of: Workload, only: frozenset[str] = frozenset()) -> list[Contestant]:
    """Load the contestants of a workload, in its order; a name counts with dashes, as it is printed."""
    return [
        cast("Contestant", importlib.import_module(f"bench.contestants.{module}").CONTESTANT)
        for module in of.contestants
        if not only or module.replace("_", "-") in only
    ]
