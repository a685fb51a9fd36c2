"""Steps say which number they are; a workload may listen: to take the time, to kill the process, to note the first."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

Listener = Callable[[int], None]


def _ignore(number: int) -> None:
    pass


_listener: Listener = _ignore


def step(number: int) -> None:
    """The body of this step has begun; the first step has number 1."""
    _listener(number)


@contextmanager
def heard_by(listener: Listener) -> Generator[None]:
    """Tell the listener of every step."""
    global _listener
    before, _listener = _listener, listener
    try:
        yield
    finally:
        _listener = before


@contextmanager
def cpu_time_at(*numbers: int) -> Generator[dict[int, int]]:
    """Nanoseconds of CPU time, of all threads of this process, at the beginning of the steps with these numbers."""
    wanted = frozenset(numbers)
    times: dict[int, int] = {}

    def note(number: int) -> None:
        if number in wanted:
            times[number] = time.process_time_ns()

    with heard_by(note):
        yield times
