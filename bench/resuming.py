"""The part of `resume` that all contestants share: kill a process in a run, then wake the run in fresh ones.

A contestant gives two async functions of its module: `die(folder, steps)` begins a durable chain of that many steps on
a file in the folder; `wake(folder)` opens the file in another process, brings the chain to its end and returns how many
notes it has then. Its steps tell `moments` their number.
"""

from __future__ import annotations

import importlib
import json
import shutil
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final, cast

from bench import moments
from bench.processes import in_fresh_process, kill_this_process, killed_in_fresh_process
from bench.scenario import Once, Scenario, Sizes

LONGER: Final = 50
"""How many times as long the run is that gives the cost of each further event."""
LEFT: Final = 5
"""Steps that are left when the process is killed; the first of them is in flight."""


class NotResumed(Exception):
    """A run that was woken did not go on as it should have."""


def resuming(module: str) -> Scenario:
    """The scenario of a contestant whose module has `die` and `wake`."""

    def scenario(sizes: Sizes) -> AbstractAsyncContextManager[Once]:
        return _scenario(module, sizes)

    return scenario


@asynccontextmanager
async def _scenario(module: str, sizes: Sizes) -> AsyncGenerator[Once]:
    short, long = sizes.folder / "short", sizes.folder / "long"
    lengths = {short: sizes.steps, long: sizes.steps * LONGER}
    for folder, steps in lengths.items():
        folder.mkdir()
        await killed_in_fresh_process("bench.resuming", "die", engine=module, folder=str(folder), done=steps)

    async def woken(folder: Path) -> float:
        copy = sizes.folder / "copy"
        shutil.copytree(folder, copy)
        try:
            found = await in_fresh_process(
                "bench.resuming", "wake", engine=module, folder=str(copy), done=lengths[folder]
            )
        finally:
            shutil.rmtree(copy)
        return cast("float", found)

    async def once() -> float:
        milliseconds, longer = await woken(short), await woken(long)
        further = lengths[long] - lengths[short]
        sizes.note("µs per further event", (longer - milliseconds) * 1_000 / further)
        return milliseconds

    yield once


async def die(engine: str, folder: str, done: int) -> None:
    """Begin a chain in this process, and kill it in the body of the step after the last that is done."""

    def kill(number: int) -> None:
        if number > done:
            kill_this_process()

    with moments.heard_by(kill):
        await _of(engine, "die")(Path(folder), done + LEFT)


async def wake(engine: str, folder: str, done: int) -> float:
    """Milliseconds until the first step begins; the chain is then brought to its end and looked at.

    Raises:
        NotResumed: It did not go on with the step that was in flight, or a note is missing.
    """
    of_contestant = _of(engine, "wake")
    begun: list[tuple[int, int]] = []
    with moments.heard_by(lambda number: begun.append((number, time.perf_counter_ns()))):
        began = time.perf_counter_ns()
        notes = await of_contestant(Path(folder))
    numbers = [number for number, _ in begun]
    if numbers != list(range(done + 1, done + LEFT + 1)) or notes != done + LEFT:
        raise NotResumed(json.dumps({"engine": engine, "steps": numbers, "notes": notes, "done": done}))
    return (begun[0][1] - began) / 1e6


def _of(engine: str, function: str) -> Callable[..., Awaitable[Any]]:
    return getattr(importlib.import_module(engine), function)
