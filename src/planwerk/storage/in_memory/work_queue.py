"""The work queue in this process."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection
from dataclasses import dataclass

from planwerk.runtime.ports import Lease
from planwerk.storage.wakeups import WakeUps
from planwerk.workflow.ids import RunId


@dataclass(slots=True)
class _Waiting:
    fence: int = 0
    owner: str | None = None
    until: int = 0
    not_before: int = 0


class InMemoryWorkQueue:
    """Port `WorkQueue`."""

    def __init__(self) -> None:
        self._runs: dict[RunId, _Waiting] = {}
        self._wakeups = WakeUps()

    async def enqueue(self, run: RunId, *, not_before_microseconds: int = 0) -> None:
        waiting = self._runs.setdefault(run, _Waiting())
        waiting.not_before = not_before_microseconds
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
        candidates = self._runs.items() if run is None else [(run, self._runs.get(run, _Waiting(until=2**62)))]
        free = [
            (waiting.not_before, key)
            for key, waiting in candidates
            if waiting.not_before <= now_microseconds and waiting.until <= now_microseconds and key not in leaving
        ]
        if not free:
            return None
        key = min(free, key=lambda item: item[0])[1]
        waiting = self._runs[key]
        waiting.fence += 1
        waiting.owner = worker
        waiting.until = now_microseconds + lease_microseconds
        return Lease(key, waiting.fence, waiting.until)

    async def renew(self, lease: Lease, *, until_microseconds: int) -> Lease | None:
        waiting = self._runs.get(lease.run)
        if waiting is None or waiting.fence != lease.fence:
            return None
        waiting.until = until_microseconds
        return Lease(lease.run, lease.fence, until_microseconds)

    async def release(self, lease: Lease, *, finished: bool) -> None:
        waiting = self._runs.get(lease.run)
        if waiting is None or waiting.fence != lease.fence:
            return
        if finished:
            del self._runs[lease.run]
        else:
            waiting.owner, waiting.until = None, 0
            self._wakeups.wake()

    async def forget(self, run: RunId) -> None:
        self._runs.pop(run, None)

    async def owners(self) -> list[str]:
        return sorted({waiting.owner for waiting in self._runs.values() if waiting.owner is not None})

    async def drop_leases(self, owner: str) -> None:
        for waiting in self._runs.values():
            if waiting.owner == owner:
                waiting.owner, waiting.until = None, 0
        self._wakeups.wake()

    def changes(self) -> AsyncGenerator[None]:
        return self._wakeups.follow()
