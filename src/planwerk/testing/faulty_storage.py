"""The in-memory journal, work queue and contexts as a simulated process sees them: slow, failing, and gone at a crash.

Each process has its own of these around the one store all share. A call that "fails after its work" has done it; only
its answer is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from typing import Any, Protocol, TypeVar, cast

from planwerk.runtime.ports import ContextStore, ContextValue, FeedItem, Lease
from planwerk.storage.in_memory.contexts import InMemoryContexts
from planwerk.storage.in_memory.journal import InMemoryJournal
from planwerk.storage.in_memory.work_queue import InMemoryWorkQueue
from planwerk.testing.faults import AT_APPEND, AT_CALL, FaultPlan, Kind, StoreUnavailable
from planwerk.testing.interleaving import OWNER
from planwerk.workflow.entries import Entry
from planwerk.workflow.ids import RunId
from planwerk.workflow.journal_text import read_entries, write_entries

ResultT = TypeVar("ResultT")
SLOW_SECONDS = (0.5, 8.0, 45.0)
"""The last is longer than a lease."""


class Process(Protocol):
    """What a store knows of the process that calls it."""

    name: str
    is_dead: bool
    plan: FaultPlan

    def note(self, kind: Kind, where: str) -> None:
        """A fault has happened."""
        ...

    def crash(self) -> None:
        """The process is gone from now on."""
        ...

    def appended(self, run: RunId, version: int) -> None:
        """An append of this process is in the journal."""
        ...


async def _call(process: Process, name: str, work: Callable[[], Awaitable[ResultT]], fault: Kind | None) -> ResultT:
    """Do a store call with the fault that falls on it."""
    if process.is_dead:
        raise asyncio.CancelledError
    if fault is not None:
        process.note(fault, f"{name} by {process.name}")
    match fault:
        case "crash before append":
            process.crash()
            raise asyncio.CancelledError
        case "append fails" | "call fails":
            raise StoreUnavailable(f"{name} was not done")
        case "slow store":
            await asyncio.sleep(process.plan.random.choice(SLOW_SECONDS))
        case _:
            await asyncio.sleep(0)
    if process.is_dead:
        raise asyncio.CancelledError
    result = await work()
    match fault:
        case "crash after append":
            process.crash()
            raise asyncio.CancelledError
        case "append fails after writing" | "call fails after its work":
            raise StoreUnavailable(f"{name} was done, but its answer was lost")
        case _:
            return result


class FaultyJournal:
    """Port `Journal`. What it reads has gone through text, as from a file; what no text can hold is refused."""

    def __init__(self, process: Process, store: InMemoryJournal) -> None:
        self._process = process
        self._store = store

    async def append(self, run: RunId, entries: Sequence[Entry], *, expected_version: int, fence: int) -> int:
        process = self._process
        fault = process.plan.take_armed(AT_APPEND) or process.plan.take_armed(AT_CALL)

        async def write() -> int:
            write_entries(entries).encode()  # raises where a file would
            version = await self._store.append(run, entries, expected_version=expected_version, fence=fence)
            process.appended(run, version)
            return version

        return await _call(process, f"append of {_names(entries)}", write, fault)

    async def read(self, run: RunId, after: int = 0) -> list[Entry]:
        fault = self._process.plan.take_armed(AT_CALL)
        found = await _call(self._process, "read", lambda: self._store.read(run, after), fault)
        return read_entries(write_entries(found)) if found else []

    async def forget(self, run: RunId) -> None:
        await _call(self._process, "forget", lambda: self._store.forget(run), None)

    def follow(self, run: RunId, after: int = 0) -> AsyncGenerator[tuple[int, Entry]]:
        return self._store.follow(run, after)

    async def feed(self, after: int, limit: int = 100) -> list[FeedItem]:
        return await self._store.feed(after, limit)

    def changes(self) -> AsyncGenerator[None]:
        return self._store.changes()


class FaultyWorkQueue:
    """Port `WorkQueue`."""

    def __init__(self, process: Process, store: InMemoryWorkQueue) -> None:
        self._process = process
        self._store = store

    async def enqueue(self, run: RunId, *, not_before_microseconds: int = 0) -> None:
        await self._do("enqueue", lambda: self._store.enqueue(run, not_before_microseconds=not_before_microseconds))

    async def take(
        self,
        worker: str,
        *,
        now_microseconds: int,
        lease_microseconds: int,
        run: RunId | None = None,
        leaving: Collection[RunId] = (),
    ) -> Lease | None:
        return await self._do(
            "take",
            lambda: self._store.take(
                worker,
                now_microseconds=now_microseconds,
                lease_microseconds=lease_microseconds,
                run=run,
                leaving=leaving,
            ),
        )

    async def renew(self, lease: Lease, *, until_microseconds: int) -> Lease | None:
        return await self._do("renew", lambda: self._store.renew(lease, until_microseconds=until_microseconds))

    async def release(self, lease: Lease, *, finished: bool) -> None:
        await self._do("release", lambda: self._store.release(lease, finished=finished))

    async def wake(self, run: RunId) -> None:
        await self._do("wake", lambda: self._store.wake(run))

    async def called(self, worker: str) -> list[RunId]:
        return await self._do("called", lambda: self._store.called(worker))

    async def park(self, lease: Lease, *, until_microseconds: int) -> bool:
        return await self._do("park", lambda: self._store.park(lease, until_microseconds=until_microseconds))

    async def next_time(self, now_microseconds: int) -> int | None:
        return await self._store.next_time(now_microseconds)

    async def forget(self, run: RunId) -> None:
        await self._do("forget", lambda: self._store.forget(run))

    async def owners(self) -> list[str]:
        return await self._store.owners()

    async def drop_leases(self, owner: str) -> None:
        await self._do("drop_leases", lambda: self._store.drop_leases(owner))

    def changes(self) -> AsyncGenerator[None]:
        return self._store.changes()

    async def _do(self, name: str, work: Callable[[], Awaitable[ResultT]]) -> ResultT:
        return await _call(self._process, name, work, self._process.plan.take_armed(AT_CALL))


class SharedContexts:
    """Port `ContextStore`: the running seed's values for whichever process asks, with the faults of that process."""

    def __init__(self) -> None:
        self.store: ContextStore = InMemoryContexts()

    async def get(self, scope: str, owner: str, key: str) -> ContextValue:
        return await self._do("get", lambda: self.store.get(scope, owner, key))

    async def set(self, scope: str, owner: str, key: str, value: Any, *, expected_version: int | None = None) -> bool:
        return await self._do(
            "set", lambda: self.store.set(scope, owner, key, value, expected_version=expected_version)
        )

    async def forget(self, scope: str, owner: str) -> None:
        await self._do("forget", lambda: self.store.forget(scope, owner))

    async def owners(self, scope: str, key: str) -> dict[str, Any]:
        return await self._do("owners", lambda: self.store.owners(scope, key))

    def foreign_changes(self) -> AsyncGenerator[None]:
        return self.store.foreign_changes()

    async def _do(self, name: str, work: Callable[[], Awaitable[ResultT]]) -> ResultT:
        process = cast("Process | None", OWNER.get())
        if process is None:
            return await work()
        return await _call(process, f"{name} of a context", work, process.plan.take_armed(AT_CALL))


def _names(entries: Sequence[Entry]) -> str:
    return ", ".join(type(entry).__name__ for entry in entries)
