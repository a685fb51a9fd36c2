"""What a workload and a contestant agree on: sizes, a scenario made ready, and one repetition of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, Protocol

OURS: Final = "planwerk"

Note = Callable[[str, float], None]


def note_nothing(name: str, value: float) -> None:
    """Where nobody asks for counts."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large a repetition is.

    Args:
        folder: For the files of durable scenarios, empty at the start.
        synchronous: SQLite's pragma: NORMAL survives a kill of the process, FULL also power loss.
        note: Takes what is counted rather than timed, by name; the report has its median over all repetitions.
    """

    steps: int
    width: int
    runs: int
    folder: Path
    synchronous: Literal["NORMAL", "FULL"] = "NORMAL"
    note: Note = field(default=note_nothing, compare=False)


Once = Callable[[], Awaitable[float]]
"""One repetition. What it returns is compared with what the workload expects, so nobody wins by doing less; where the
workload expects nothing, it is the figure itself."""

Scenario = Callable[[Sizes], AbstractAsyncContextManager[Once]]
"""Builds graphs, opens files and tears them down again, outside the time that is measured."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """One engine, and the workloads it can do."""

    name: str
    scenarios: Mapping[str, Scenario]


class WrongResult(Exception):
    """A contestant did not do the work it was measured by."""

    def __init__(self, workload: str, contestant: str, returned: float, expected: float) -> None:
        super().__init__(
            f"{contestant} returned {returned} instead of {expected} in workload {workload}: its rate would mean "
            "nothing. Mend bench/contestants before comparing."
        )


@dataclass(frozen=True, slots=True)
class Trial:
    """One contestant in one workload."""

    workload: Workload
    contestant: Contestant
    sizes: Sizes
    seconds: float
    """How long a turn repeats what is short."""

    @property
    def scenario(self) -> Scenario:
        """The contestant's way of doing this workload."""
        return self.contestant.scenarios[self.workload.name]

    async def check(self, once: Once, sizes: Sizes | None = None) -> None:
        """Do one repetition.

        Raises:
            WrongResult: It returned something else than the workload expects.
        """
        returned = await once()
        expected = self.workload.expected(sizes or self.sizes)
        if returned != expected:
            raise WrongResult(self.workload.name, self.contestant.name, returned, expected)


Turn = Callable[[], Awaitable[float]]
"""A contestant's figure of one round."""


class Gauge(Protocol):
    """How a workload puts a figure on what a contestant does."""

    def open(self, trial: Trial) -> AbstractAsyncContextManager[Turn]:
        """Make the contestant ready and warm; each call of what is given is its turn in a round."""
        ...


@dataclass(frozen=True, slots=True)
class Workload:
    """One thing every engine does, counted in `unit`.

    Args:
        contestants: Modules of `bench.contestants`, ours first; they are imported only when the workload runs.
        amount: How many units one repetition does.
        expected: What one repetition must return.
        gauge: What is made of repetitions.
        rounds: How many there are if nobody says otherwise.
    """

    name: str
    unit: str
    contestants: tuple[str, ...]
    amount: Callable[[Sizes], int]
    expected: Callable[[Sizes], int]
    gauge: Gauge
    steps: int = 100
    width: int = 100
    runs: int = 1
    synchronous: Literal["NORMAL", "FULL"] = "NORMAL"
    rounds: int = 9
