"""What the runtime needs stored: `storage` has an adapter of each port, in memory and on SQLite."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, TypeAlias

from planwerk.workflow.entries import Entry
from planwerk.workflow.ids import RunId
from planwerk.workflow.people import RequestKind


@dataclass(frozen=True, slots=True)
class FeedItem:
    """One append, as the feed over all runs gives it."""

    feed: int
    """Place in the feed: grows with each append, gaps allowed."""
    run: RunId
    first_position: int
    """Position in the run of the first entry."""
    entries: Sequence[Entry]


class Journal(Protocol):
    """A run's ordered record, and the only way to rebuild the run (E7.1)."""

    async def append(self, run: RunId, entries: Sequence[Entry], *, expected_version: int, fence: int) -> int:
        """Append all the entries or none of them, and return the new version.

        Args:
            expected_version: Version last read; 0 for a run with no entries yet. The version is the number of entries.
            fence: Token of the caller's lease; each later lease has a larger one (E7.3).

        Raises:
            StaleVersion: Another append came first; nothing was written.
            StaleFence: The lease has passed to another worker; nothing was written.
        """
        ...

    async def read(self, run: RunId, after: int = 0) -> list[Entry]:
        """The entries after a position, in order; empty if there are none."""
        ...

    async def forget(self, run: RunId) -> None:
        """Delete what is kept of a run that has ended; its places in the feed stay empty."""
        ...

    def follow(self, run: RunId, after: int = 0) -> AsyncGenerator[tuple[int, Entry]]:
        """Positions and entries after a position, then what is appended later; ends after the run's last entry."""
        ...

    async def feed(self, after: int, limit: int = 100) -> list[FeedItem]:
        """Appends of all runs in the order they were committed."""
        ...

    def changes(self) -> AsyncGenerator[None]:
        """One item at once, then one for each time something may have been appended, in this process or another."""
        ...


NEVER: Final = 2**62
"""The time before which a run has nothing to do that waits for people alone."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A run leased to one worker until `until_microseconds`; appends carry the fence."""

    run: RunId
    fence: int
    until_microseconds: int


class WorkQueue(Protocol):
    """Runs that have something to do, each leased to one worker at a time (E7.3)."""

    async def enqueue(self, run: RunId, *, not_before_microseconds: int = 0) -> None:
        """The run has something to do, at the earliest at this time; asking twice is one entry.

        Where a worker holds its lease, that worker is told by `called`.
        """
        ...

    async def wake(self, run: RunId) -> None:
        """Something was brought for the run: it has something to do at once, if it has not ended.

        As `enqueue`, but a run that is not in the queue, because it is over, stays out of it.
        """
        ...

    async def called(self, worker: str) -> list[RunId]:
        """Runs leased to this worker that were enqueued since they were taken; each is told once."""
        ...

    async def take(
        self,
        worker: str,
        *,
        now_microseconds: int,
        lease_microseconds: int,
        run: RunId | None = None,
        leaving: Collection[RunId] = (),
    ) -> Lease | None:
        """Lease a run that nobody holds, or whose lease has lapsed. None if there is none.

        Args:
            run: Lease this one or none.
            leaving: Runs that are for others to take.
        """
        ...

    async def renew(self, lease: Lease, *, until_microseconds: int) -> Lease | None:
        """Keep a lease longer; None if it has passed to another worker."""
        ...

    async def release(self, lease: Lease, *, finished: bool) -> None:
        """Give a lease back: the run is over, or has to be taken by the next worker."""
        ...

    async def park(self, lease: Lease, *, until_microseconds: int) -> bool:
        """Give a lease back of a run that has nothing to do before this time, unless it is enqueued (E7.4).

        Returns:
            False if it was enqueued since it was taken, or the lease has passed on: nothing was changed.
        """
        ...

    async def next_time(self, now_microseconds: int) -> int | None:
        """The first time after now at which a run may be taken that may not be taken yet.

        None if there is none: one that was parked until `NEVER` waits to be woken.
        """
        ...

    async def forget(self, run: RunId) -> None:
        """Drop a run that has ended, with its fence."""
        ...

    async def owners(self) -> list[str]:
        """The workers that hold leases, lapsed ones among them."""
        ...

    async def drop_leases(self, owner: str) -> None:
        """End the leases of a worker that is known to be dead; their fences stay."""
        ...

    def changes(self) -> AsyncGenerator[None]:
        """One item at once, then one for each time something may be there to take."""
        ...


@dataclass(frozen=True, slots=True)
class ContextValue:
    """A JSON value with the version a compare-and-set needs; version 0 is "not set"."""

    value: Any
    version: int


class ContextStore(Protocol):
    """Counters and flags of runs and threads (E9). `scope` is "run" or "thread", `owner` its id."""

    async def get(self, scope: str, owner: str, key: str) -> ContextValue: ...

    async def set(self, scope: str, owner: str, key: str, value: Any, *, expected_version: int | None = None) -> bool:
        """Store a value; with `expected_version` only if it is still that, else False."""
        ...

    async def forget(self, scope: str, owner: str) -> None:
        """Drop everything of an owner."""
        ...

    async def owners(self, scope: str, key: str) -> dict[str, Any]:
        """The values of a key by owner, of every owner of the scope that has it."""
        ...

    def foreign_changes(self) -> AsyncGenerator[None]:
        """One item at once, then one for each time another process may have changed something."""
        ...


RecordPlace: TypeAlias = tuple[int, str]
"""Time of a start in microseconds, and the run's id among those of one time."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What lists and pages show of a run without its journal; kept by the projector."""

    run: str
    tenant: str
    workspace: str | None
    thread: str | None
    message: str | None
    profile: str | None
    profile_name: str | None
    profile_version: int | None
    blueprint: str
    status: str
    """running, waiting, completed, failed or stopped (E1.8)."""
    actor: Mapping[str, Any]
    started_microseconds: int
    ended_microseconds: int | None = None
    error: Mapping[str, Any] | None = None
    summary: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Usage, cost, executions, model calls."""
    expires_microseconds: int | None = None
    """When it is forgotten, once it has ended; None keeps it."""
    parent_run: str | None = None
    """The run that asked for it (E8.2, E8.4)."""
    on_behalf_of: Mapping[str, Any] | None = None
    """With whose rights it works, where that is not its actor."""
    title: str = ""
    """The first words of what was asked; empty where the run began otherwise."""
    forked_from: str | None = None
    """The run it was forked from (E7.8)."""
    forked_at: int | None = None
    """The position there up to which it has the same events."""
    scheduled_microseconds: int | None = None
    """The occurrence of a schedule that it is of (E8.3)."""

    @property
    def owner(self) -> str | None:
        """The account of the person who started it, or on whose behalf it was; None if that was nobody's doing."""
        actor = self.on_behalf_of or self.actor
        return str(actor["id"]) if actor.get("kind") == "user" else None

    @property
    def place(self) -> RecordPlace:
        """Where it stands among all runs, by the time of its start."""
        return self.started_microseconds, self.run


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs a list is of; None is any."""

    owner: str | None = None
    """Account that started them."""
    statuses: frozenset[str] | None = None
    profile: str | None = None
    thread: str | None = None
    workspace: str | None = None
    is_scheduled: bool = False
    """Only runs of schedules that nobody else owns."""


ANY_RUN: Final = RunFilter()


class RunRecords(Protocol):
    """Summaries of runs, for `GET /api/runs/{r}` and lists."""

    async def put(self, record: RunRecord) -> None:
        """Store a record; the later one of a run replaces the earlier, but an end is never taken back."""
        ...

    async def get(self, run: str) -> RunRecord | None: ...

    async def of_thread(self, tenant: str, thread: str) -> list[RunRecord]: ...

    async def expired(self, now_microseconds: int, limit: int = 100) -> list[str]:
        """Ended runs that are to be forgotten by now."""
        ...

    async def forget(self, run: str) -> None: ...

    async def newest(
        self, tenant: str, wanted: RunFilter = ANY_RUN, *, before: RecordPlace | None = None, limit: int = 50
    ) -> list[RunRecord]:
        """Runs of a tenant that fit a filter, by the time of their start, the newest first.

        Args:
            before: Only what stands before this place, which is left out.
        """
        ...


RequestStatus = Literal["open", "answered", "timed_out", "closed"]


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """What a run asks a person, for lists and for whoever answers it by its id; kept by the projector."""

    id: str
    run: str
    position: int
    """Of the request in the run's journal."""
    tenant: str
    workspace: str | None
    thread: str | None
    profile: str | None
    profile_name: str | None
    owner: str | None
    """The account that started the run, if a person did."""
    kind: RequestKind
    request: Mapping[str, Any]
    """The event that asks, as written, without what it says by default."""
    asked_microseconds: int
    expires_microseconds: int | None
    status: RequestStatus = "open"
    closed_microseconds: int | None = None
    answer: Mapping[str, Any] | None = None
    """The event that answered it, as written."""
    answered_by: Mapping[str, Any] | None = None

    @property
    def waits_for(self) -> str | None:
        """Where it waits: those who share this place have it in their inbox; None once it is closed."""
        return self._place if self.status == "open" else None

    @property
    def answered_at(self) -> str | None:
        """Where it waited, if it was answered: those who share this place see by whom."""
        return self._place if self.status == "answered" else None

    @property
    def _place(self) -> str:
        return f"workspace:{self.workspace}" if self.workspace is not None else f"account:{self.owner}"


class RunRequests(Protocol):
    """Requests to people by id, by run, and by where they wait."""

    async def put(self, record: RequestRecord) -> None:
        """Store a record; the later one of a request replaces the earlier."""
        ...

    async def get(self, request: str) -> RequestRecord | None: ...

    async def of_run(self, run: str) -> list[RequestRecord]:
        """All of a run, in the order in which it asked."""
        ...

    async def waiting(
        self,
        places: Collection[str],
        *,
        now_microseconds: int,
        after: tuple[int, str] | None = None,
        limit: int = 50,
    ) -> list[RequestRecord]:
        """Open requests that wait at these places and are not overdue: those due first, first.

        Args:
            after: Leave out what comes before the end of this request, by its due time (`NEVER` if it has none) and id.
        """
        ...

    async def answered(
        self, places: Collection[str], *, before: tuple[int, str] | None = None, limit: int = 50
    ) -> list[RequestRecord]:
        """Answered requests that waited at these places: those answered last, first.

        Args:
            before: Only what stands before this request, by the time of its answer in microseconds and its id.
        """
        ...

    async def forget(self, run: str) -> None:
        """Drop all requests of a run."""
        ...


Clock = Callable[[], int]
"""Microseconds since the epoch."""
