"""Virtual time for tests: what sleeps in the running loop wakes at once, in the right order.

While it is on, the loop's clock jumps to the next timer whenever nothing is ready to run. Work in threads is waited for
in real time, so that a jump never overtakes it.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final, cast

THREAD_POLL_SECONDS: Final = 0.005


class _JumpingSelector:
    """Asks the real selector without waiting; where nothing is ready, time jumps instead."""

    def __init__(self, real: selectors.BaseSelector, loop: asyncio.BaseEventLoop, clock: _VirtualClock) -> None:
        self._real = real
        self._loop = loop
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._real.select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if timeout is None or _threads_work(self._loop):
            return self._real.select(THREAD_POLL_SECONDS if timeout is not None else timeout)
        self._clock.jump(timeout)
        return ready

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class _VirtualClock:
    def __init__(self, start: float) -> None:
        self.now = start

    def time(self) -> float:
        return self.now

    def jump(self, seconds: float) -> None:
        # A little more than asked: the loop compares with its clock's resolution.
        self.now += seconds + 1e-9


def _threads_work(loop: asyncio.BaseEventLoop) -> bool:
    executor = cast("ThreadPoolExecutor | None", getattr(loop, "_default_executor", None))
    if executor is None:
        return False
    idle = cast("Any", executor)._idle_semaphore._value
    threads = len(cast("Any", executor)._threads)
    return threads > idle or cast("Any", executor)._work_queue.qsize() > 0


def virtual_clock() -> Callable[[], int]:
    """A clock of microseconds since the epoch that begins now and goes with the running loop's time."""
    loop = asyncio.get_running_loop()
    began, first = time.time_ns() // 1000, loop.time()
    return lambda: began + round((loop.time() - first) * 1e6)


@contextmanager
def virtual_time() -> Generator[_VirtualClock, None, None]:
    """Let time jump in the running loop; it must be asyncio's own selector loop, as in pytest-asyncio.

    Nested uses share the outer one's time.
    """
    loop = cast("Any", asyncio.get_running_loop())
    real = getattr(loop, "_selector", None)
    if real is None:
        raise RuntimeError("virtual time needs asyncio's own event loop; run this test without uvloop.")
    if isinstance(real, _JumpingSelector):
        yield real._clock  # pyright: ignore[reportPrivateUsage] - the outer one's
        return
    clock = _VirtualClock(loop.time())
    loop._selector = _JumpingSelector(real, loop, clock)
    loop.time = clock.time
    try:
        yield clock
    finally:
        del loop.time
        loop._selector = real
