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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from bench import moments
from bench.processes import in_fresh_process, kill_this_process, killed_in_fresh_process
from bench.scenario import Once, Scenario, Sizes

LONGER: Final = 50
"""How many times as long the run is that gives the cost of each further event."""
LEFT: Final = 5
"""Steps that are left when the process is killed; the first of them is in flight."""


@dataclass(frozen=True, slots=True)
class Woken:
    """How long a run took to the body of its next step."""

    milliseconds: float
    cpu_milliseconds: float
    """Of all threads of the process."""


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

    async def woken(folder: Path) -> Woken:
        copy = sizes.folder / "copy"
        shutil.copytree(folder, copy)
        try:
            found = await in_fresh_process(
                "bench.resuming", "wake", engine=module, folder=str(copy), done=lengths[folder]
            )
        finally:
            shutil.rmtree(copy)
        return Woken(**found)

    async def once() -> float:
        first, longer = await woken(short), await woken(long)
        further = lengths[long] - lengths[short]
        sizes.note("CPU µs per further event", (longer.cpu_milliseconds - first.cpu_milliseconds) * 1_000 / further)
        return first.milliseconds

    yield once


async def die(engine: str, folder: str, done: int) -> None:
    """Begin a chain in this process, and kill it in the body of the step after the last that is done."""

    def kill(number: int) -> None:
        if number > done:
            kill_this_process()

    with moments.heard_by(kill):
        await _of(engine, "die")(Path(folder), done + LEFT)


async def wake(engine: str, folder: str, done: int) -> dict[str, float]:
    """How long it takes until the first step begins (`Woken`); the chain is then brought to its end and looked at.

    Raises:
        NotResumed: It did not go on with the step that was in flight, or a note is missing.
    """
    of_contestant = _of(engine, "wake")
    numbers: list[int] = []
    times: list[tuple[int, int]] = []

    def note(number: int) -> None:
        numbers.append(number)
        if len(times) == 1:
            times.append((time.perf_counter_ns(), time.process_time_ns()))

    with moments.heard_by(note):
        times.append((time.perf_counter_ns(), time.process_time_ns()))
        notes = await of_contestant(Path(folder))
    if numbers != list(range(done + 1, done + LEFT + 1)) or notes != done + LEFT:
        raise NotResumed(json.dumps({"engine": engine, "steps": numbers, "notes": notes, "done": done}))
    (began, cpu_began), (first, cpu_first) = times
    return asdict(Woken((first - began) / 1e6, (cpu_first - cpu_began) / 1e6))


def _of(engine: str, function: str) -> Callable[..., Awaitable[Any]]:
    return getattr(importlib.import_module(engine), function)
