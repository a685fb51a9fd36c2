"""Interleaved rounds: in each, every contestant has its turn; ratios are taken within a round.

What slows the machine for a while slows a whole round, so ratios hold where rates do not. The order turns from round to
round, so nobody always runs after the same neighbour.
"""

from __future__ import annotations

import gc
import statistics
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace

from bench.scenario import OURS, Contestant, Sizes, Trial, Turn, Workload

Round = Mapping[str, float]
Counts = Mapping[str, Mapping[str, Sequence[float]]]
"""What was counted, by contestant and by name."""


@dataclass(frozen=True, slots=True)
class Report:
    """Medians over the rounds: figures by name, ours divided by each other's, and what was counted."""

    workload: str
    unit: str
    results: dict[str, float]
    ratios: dict[str, float]
    counts: dict[str, dict[str, float]] = field(default_factory=dict[str, dict[str, float]])

    @classmethod
    def of(cls, workload: Workload, rounds: Sequence[Round], counts: Counts | None = None) -> Report:
        names = list(rounds[0])
        ratios = {
            name: statistics.median(figures[OURS] / figures[name] for figures in rounds)
            for name in names
            if OURS in names and name != OURS
        }
        results = {name: statistics.median(figures[name] for figures in rounds) for name in names}
        counted = {
            name: {what: statistics.median(values) for what, values in found.items()}
            for name, found in (counts or {}).items()
            if found
        }
        return cls(workload.name, workload.unit, results, ratios, counted)


async def measure(
    workload: Workload, contestants: Sequence[Contestant], sizes: Sizes, *, rounds: int, seconds: float
) -> Report:
    """Give every contestant a turn per round, where what is short repeats for about `seconds`.

    Raises:
        WrongResult: A repetition returned something else than the workload expects.
    """
    counts: dict[str, dict[str, list[float]]] = {contestant.name: {} for contestant in contestants}
    async with AsyncExitStack() as stack:
        turns: dict[str, Turn] = {}
        for contestant in contestants:
            folder = sizes.folder / contestant.name
            folder.mkdir()
            own = replace(sizes, folder=folder, note=_Notes(counts[contestant.name]))
            trial = Trial(workload, contestant, own, seconds)
            turns[contestant.name] = await stack.enter_async_context(workload.gauge.open(trial))
        with _without_what_was_imported():
            found = [await _round(turns, order) for order in _orders(list(turns), rounds)]
    return Report.of(workload, found, counts)


@contextmanager
def _without_what_was_imported() -> Generator[None]:
    """Keep the modules of all contestants out of every garbage collection: nobody has the others' in real life."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


async def _round(turns: Mapping[str, Turn], order: Sequence[str]) -> Round:
    figures = {name: await turns[name]() for name in order}
    return {name: figures[name] for name in turns}


def _orders(names: Sequence[str], rounds: int) -> Iterator[list[str]]:
    for turn in range(rounds):
        shift = turn % len(names)
        yield [*names[shift:], *names[:shift]]


@dataclass(frozen=True, slots=True)
class _Notes:
    counts: dict[str, list[float]]

    def __call__(self, name: str, value: float) -> None:
        self.counts.setdefault(name, []).append(value)
