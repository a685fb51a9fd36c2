"""The work queue in this process."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import AsyncGenerator, Collection
from dataclasses import dataclass

from planwerk.runtime.ports import NEVER, Lease
from planwerk.storage.wakeups import WakeUps
from planwerk.workflow.ids import RunId


@dataclass(slots=True)
class _Waiting:
    fence: int = 0
    owner: str | None = None
    until: int = 0
    not_before: int = 0
    called: bool = False
    """Enqueued while it was leased."""
    turn: int = 0
    """Of its valid entry among the turns; older ones are passed over."""


class InMemoryWorkQueue:
    """Port `WorkQueue`."""

    def __init__(self) -> None:
        self._runs: dict[RunId, _Waiting] = {}
        self._turns: list[tuple[int, int, RunId]] = []
        """A heap of the times from which on runs may be taken."""
        self._numbers = itertools.count(1)
        self._called: dict[str, dict[RunId, None]] = {}
        self._wakeups = WakeUps()

    async def enqueue(self, run: RunId, *, not_before_microseconds: int = 0) -> None:
        waiting = self._runs.setdefault(run, _Waiting())
        if waiting.owner is None:
            waiting.not_before = not_before_microseconds
            self._line_up(run, waiting)
        else:
            waiting.called = True
            self._called.setdefault(waiting.owner, {})[run] = None
        self._wakeups.wake()

    async def take(
        self,
        worker: str,
        *,
        now_microseconds: int,
        lease_microseconds: int,
        run: RunId | None = None,
        leaving: Collection[RunId] = (),
    ) -> Lease | None:
        key = self._first_free(now_microseconds, leaving) if run is None else run
        waiting = self._runs.get(key) if key is not None else None
        if key is None or waiting is None or max(waiting.not_before, waiting.until) > now_microseconds:
            return None
        waiting.fence += 1
        waiting.owner = worker
        waiting.not_before, waiting.called = 0, False
        waiting.until = now_microseconds + lease_microseconds
        self._line_up(key, waiting)
        return Lease(key, waiting.fence, waiting.until)

    async def renew(self, lease: Lease, *, until_microseconds: int) -> Lease | None:
        waiting = self._held(lease)
        if waiting is None:
            return None
        waiting.until = until_microseconds
        self._line_up(lease.run, waiting)
        return Lease(lease.run, lease.fence, until_microseconds)

    async def release(self, lease: Lease, *, finished: bool) -> None:
        waiting = self._held(lease)
        if waiting is None:
            return
        if finished:
            del self._runs[lease.run]
        else:
            self._let_go(lease.run, waiting)
            self._wakeups.wake()

    async def wake(self, run: RunId) -> None:
        if run in self._runs:
            await self.enqueue(run)

    async def called(self, worker: str) -> list[RunId]:
        found: list[RunId] = []
        for run in self._called.pop(worker, {}):
            waiting = self._runs.get(run)
            if waiting is not None and waiting.called and waiting.owner == worker:
                waiting.called = False
                found.append(run)
        return found

    async def park(self, lease: Lease, *, until_microseconds: int) -> bool:
        waiting = self._held(lease)
        if waiting is None or waiting.called or waiting.owner is None:
            return False
        waiting.not_before = until_microseconds
        self._let_go(lease.run, waiting)
        if until_microseconds < NEVER:
            self._wakeups.wake()  # whoever waits for the next time has to wait for this one
        return True

    async def next_time(self, now_microseconds: int) -> int | None:
        first = self._turns[0][0] if self._first_turn() is not None else now_microseconds
        return first if now_microseconds < first < NEVER else None

    async def forget(self, run: RunId) -> None:
        self._runs.pop(run, None)

    async def owners(self) -> list[str]:
        return sorted({waiting.owner for waiting in self._runs.values() if waiting.owner is not None})

    async def drop_leases(self, owner: str) -> None:
        for run, waiting in self._runs.items():
            if waiting.owner == owner:
                self._let_go(run, waiting)
        self._wakeups.wake()

    def changes(self) -> AsyncGenerator[None]:
        return self._wakeups.follow()

    def _held(self, lease: Lease) -> _Waiting | None:
        """The run, unless its lease has passed on."""
        waiting = self._runs.get(lease.run)
        return waiting if waiting is not None and waiting.fence == lease.fence else None

    def _let_go(self, run: RunId, waiting: _Waiting) -> None:
        waiting.owner, waiting.until = None, 0
        self._line_up(run, waiting)

    def _line_up(self, run: RunId, waiting: _Waiting) -> None:
        waiting.turn = next(self._numbers)
        heapq.heappush(self._turns, (max(waiting.not_before, waiting.until), waiting.turn, run))

    def _first_turn(self) -> RunId | None:
        """The run that may be taken first, at the time of the first turn."""
        while self._turns:
            _, turn, run = self._turns[0]
            waiting = self._runs.get(run)
            if waiting is not None and waiting.turn == turn:
                return run
            heapq.heappop(self._turns)
        return None

    def _first_free(self, now: int, leaving: Collection[RunId]) -> RunId | None:
        run = self._first_turn()
        if run in leaving:
            turns = sorted(self._turns)
            return next((run for time, turn, run in turns if self._is_free(run, turn, time, now, leaving)), None)
        return run if run is not None and self._turns[0][0] <= now else None

    def _is_free(self, run: RunId, turn: int, time: int, now: int, leaving: Collection[RunId]) -> bool:
        waiting = self._runs.get(run)
        return time <= now and waiting is not None and waiting.turn == turn and run not in leaving
