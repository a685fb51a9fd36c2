"""Interleaved rounds: in each, every contestant runs for a while; ratios are taken within a round.

What slows the machine for a while slows a whole round, so ratios hold where rates do not. The order turns from round to
round, so nobody always runs after the same neighbour.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from bench.scenario import OURS, Contestant, Once, Sizes, Workload

Round = Mapping[str, float]


class WrongResult(Exception):
    """A contestant did not do the work it was measured by."""

    def __init__(self, workload: str, contestant: str, returned: int, expected: int) -> None:
        super().__init__(
            f"{contestant} returned {returned} instead of {expected} in workload {workload}: its rate would mean "
            "nothing. Mend bench/contestants before comparing."
        )


@dataclass(frozen=True, slots=True)
class Report:
    """Medians over the rounds: rates by name, and ours divided by each other's."""

    workload: str
    unit: str
    results: dict[str, float]
    ratios: dict[str, float]

    @classmethod
    def of(cls, workload: Workload, rounds: Sequence[Round]) -> Report:
        names = list(rounds[0])
        ratios = {
            name: statistics.median(rates[OURS] / rates[name] for rates in rounds)
            for name in names
            if OURS in names and name != OURS
        }
        results = {name: statistics.median(rates[name] for rates in rounds) for name in names}
        return cls(workload.name, workload.unit, results, ratios)


async def measure(
    workload: Workload, contestants: Sequence[Contestant], sizes: Sizes, *, rounds: int, seconds: float
) -> Report:
    """Run every contestant once per round, each for about `seconds`, after one repetition to warm up.

    Raises:
        WrongResult: A repetition returned something else than the workload expects.
    """
    async with AsyncExitStack() as stack:
        ready: dict[str, Once] = {}
        for contestant in contestants:
            folder = sizes.folder / contestant.name
            folder.mkdir()
            scenario = contestant.scenarios[workload.name](replace(sizes, folder=folder))
            ready[contestant.name] = await stack.enter_async_context(scenario)
        timer = _Timer(workload, sizes, seconds)
        for name, once in ready.items():
            await timer.check(name, once)
        return Report.of(workload, [await timer.round(ready, order) for order in _orders(list(ready), rounds)])


def _orders(names: Sequence[str], rounds: int) -> Iterator[list[str]]:
    for turn in range(rounds):
        shift = turn % len(names)
        yield [*names[shift:], *names[:shift]]


@dataclass(frozen=True, slots=True)
class _Timer:
    workload: Workload
    sizes: Sizes
    seconds: float

    async def round(self, ready: Mapping[str, Once], order: Sequence[str]) -> Round:
        rates = {name: await self.rate(name, ready[name]) for name in order}
        return {name: rates[name] for name in ready}

    async def rate(self, name: str, once: Once) -> float:
        """Repeat until the time is up, at least once, and return units per second."""
        gc.collect()
        repetitions = 0
        began = time.perf_counter()
        elapsed = 0.0
        while repetitions == 0 or elapsed < self.seconds:
            await self.check(name, once)
            repetitions += 1
            elapsed = time.perf_counter() - began
        return repetitions * self.workload.amount(self.sizes) / elapsed

    async def check(self, name: str, once: Once) -> None:
        returned = await once()
        expected = self.workload.expected(self.sizes)
        if returned != expected:
            raise WrongResult(self.workload.name, name, returned, expected)
