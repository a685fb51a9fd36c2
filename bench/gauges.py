"""Ways to put a figure on a repetition: units per second, growth of CPU time, or what it measured itself."""

from __future__ import annotations

import gc
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final

from bench import moments
from bench.scenario import Once, Sizes, Trial, Turn

WINDOW_STEPS: Final = 200
"""Over how many steps the CPU time of a step is averaged at either end of a long run."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Units per second: repeat until the time is up, at least once."""

    @asynccontextmanager
    async def open(self, trial: Trial) -> AsyncGenerator[Turn]:
        async with trial.scenario(trial.sizes) as once:
            await trial.check(once)

            async def turn() -> float:
                gc.collect()
                repetitions = 0
                began = time.perf_counter()
                elapsed = 0.0
                while repetitions == 0 or elapsed < trial.seconds:
                    await trial.check(once)
                    repetitions += 1
                    elapsed = time.perf_counter() - began
                return repetitions * trial.workload.amount(trial.sizes) / elapsed

            yield turn


@dataclass(frozen=True, slots=True)
class WidthGrowth:
    """CPU time per unit at a larger width, divided by that at the width itself."""

    times: int

    @asynccontextmanager
    async def open(self, trial: Trial) -> AsyncGenerator[Turn]:
        narrow, wide = trial.sizes, replace(trial.sizes, width=trial.sizes.width * self.times)
        async with trial.scenario(narrow) as narrowly, trial.scenario(wide) as widely:
            await trial.check(narrowly, narrow)
            await trial.check(widely, wide)

            async def turn() -> float:
                before = await _cpu_per_unit(trial, narrowly, narrow)
                return await _cpu_per_unit(trial, widely, wide) / before

            yield turn


async def _cpu_per_unit(trial: Trial, once: Once, sizes: Sizes) -> float:
    """Nanoseconds of CPU time, of all threads of this process."""
    gc.collect()
    repetitions = 0
    began = time.process_time_ns()
    elapsed = 0
    while repetitions == 0 or elapsed < trial.seconds * 1e9:
        await trial.check(once, sizes)
        repetitions += 1
        elapsed = time.process_time_ns() - began
    return elapsed / repetitions / trial.workload.amount(sizes)


@dataclass(frozen=True, slots=True)
class LengthGrowth:
    """CPU time per step at the end of one long run, divided by that at its beginning."""

    @asynccontextmanager
    async def open(self, trial: Trial) -> AsyncGenerator[Turn]:
        async with trial.scenario(trial.sizes) as once:
            await trial.check(once)
            early, late = windows(trial.sizes.steps)

            async def turn() -> float:
                gc.collect()
                with moments.cpu_time_at(*early, *late) as times:
                    await trial.check(once)
                return (times[late[1]] - times[late[0]]) / (times[early[1]] - times[early[0]])

            yield turn


def windows(steps: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """First and last step of the windows at the beginning and at the end of a run; both hold as many steps."""
    length = min(WINDOW_STEPS, (steps - 1) // 2)
    return (1, 1 + length), (steps - length, steps)


@dataclass(frozen=True, slots=True)
class Figure:
    """What a repetition returns is the figure; it does its own checking."""

    @asynccontextmanager
    async def open(self, trial: Trial) -> AsyncGenerator[Turn]:
        async with trial.scenario(trial.sizes) as once:
            yield once
