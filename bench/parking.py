"""The part of `parked` that all contestants share: how much memory a run takes that waits for a person.

A contestant gives an async context manager of its module, `waiting(folder, runs)`: as many runs have asked when it has
been entered, and what it gives answers the one with a number and returns what the run ends with, the answer.
"""

from __future__ import annotations

import gc
import importlib
import os
import subprocess
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Final, cast

from bench.processes import in_fresh_process
from bench.scenario import Once, Scenario, Sizes

Answer = Callable[[int], Awaitable[int]]
Waiting = Callable[[Path, int], AbstractAsyncContextManager[Answer]]

WARM_UP_RUNS: Final = 20
"""Runs that wait before the first reading, so that what is made once for all runs is not counted."""


class NotAnswered(Exception):
    """A run that had waited did not end with its answer."""


def parking(module: str) -> Scenario:
    """The scenario of a contestant whose module has `waiting`."""

    def scenario(sizes: Sizes) -> AbstractAsyncContextManager[Once]:
        return _scenario(module, sizes)

    return scenario


@asynccontextmanager
async def _scenario(module: str, sizes: Sizes) -> AsyncGenerator[Once]:
    turn = 0

    async def once() -> float:
        nonlocal turn
        turn += 1
        folder = sizes.folder / str(turn)
        folder.mkdir()
        return await in_fresh_process("bench.parking", "resident", engine=module, folder=str(folder), runs=sizes.runs)

    yield once


async def resident(engine: str, folder: str, runs: int) -> float:
    """KiB of this process's memory that each waiting run takes.

    Raises:
        NotAnswered: A run did not end with what it was answered.
    """
    waiting = cast("Waiting", importlib.import_module(engine).waiting)
    for name in ("warm", "measured"):
        (Path(folder) / name).mkdir()
    async with waiting(Path(folder) / "warm", WARM_UP_RUNS) as answer:
        await _check(engine, answer, WARM_UP_RUNS - 1)
        before = resident_kib()
        async with waiting(Path(folder) / "measured", runs) as answer:
            used = resident_kib() - before
            await _check(engine, answer, runs - 1)
    return used / runs


async def _check(engine: str, answer: Answer, number: int) -> None:
    returned = await answer(number)
    if returned != number:
        raise NotAnswered(f"run {number} of {engine} was answered {number} and ended with {returned}")


def resident_kib() -> float:
    """Memory of this process that is in RAM, once garbage is gone."""
    gc.collect()
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1024
    return float(subprocess.check_output(["ps", "-o", "rss=", "-p", str(os.getpid())]))
