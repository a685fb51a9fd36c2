"""What a workload and a contestant agree on: sizes, a scenario made ready, and one repetition of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

OURS: Final = "planwerk"


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large a repetition is; `folder` is for the files of durable scenarios, empty at the start."""

    steps: int
    width: int
    runs: int
    folder: Path


Once = Callable[[], Awaitable[int]]
"""One repetition. What it returns is compared with what the workload expects, so nobody wins by doing less."""

Scenario = Callable[[Sizes], AbstractAsyncContextManager[Once]]
"""Builds graphs, opens files and tears them down again, outside the time that is measured."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """One engine, and the workloads it can do."""

    name: str
    scenarios: Mapping[str, Scenario]


@dataclass(frozen=True, slots=True)
class Workload:
    """One thing every engine does, counted in `unit`.

    Args:
        contestants: Modules of `bench.contestants`, ours first; they are imported only when the workload runs.
        amount: How many units one repetition does.
        expected: What one repetition must return.
    """

    name: str
    unit: str
    contestants: tuple[str, ...]
    amount: Callable[[Sizes], int]
    expected: Callable[[Sizes], int]
    steps: int = 100
    width: int = 100
    runs: int = 1
