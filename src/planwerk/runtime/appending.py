"""The appends of one run: one at a time; what is recorded while one is under way goes into the next (E4.1).

Whoever comes first writes for all. A task that may be cancelled never writes itself, but asks for it (`flush_soon`,
`written`): an append that is cancelled half-way may be written or not, and only the journal knows.
"""

from __future__ import annotations

import asyncio
from typing import Generic, Protocol, TypeVar

from planwerk.runtime.errors import RunLost, StaleFence, StaleVersion
from planwerk.runtime.ports import Journal
from planwerk.workflow import entries as journal
from planwerk.workflow.ids import RunId

DueT = TypeVar("DueT")


class Driven(Protocol[DueT]):
    """The driver whose entries are written."""

    def take_due(self) -> DueT:
        """What the pending entries made due; it is started once they are written."""
        ...

    def appended(self, entries: list[journal.Entry], due: DueT) -> None:
        """These entries are durable."""
        ...

    async def not_appended(self, entries: list[journal.Entry], error: Exception) -> None:
        """These entries could not be written."""
        ...

    def lose(self, error: BaseException) -> None:
        """The run is no longer ours."""
        ...

    def all_appended(self) -> None:
        """Nothing is pending; what this records is written as well."""
        ...


class Appends(Generic[DueT]):
    """Writes what a driver records.

    It does not hold its driver, which is given where something is written: a run that has ended leaves memory at once,
    without a garbage collection.

    Args:
        fence: Token of the lease.
    """

    def __init__(self, store: Journal, fence: int) -> None:
        self.run = RunId("")
        """Set before anything is recorded."""
        self.pending: list[journal.Entry] = []
        """Recorded and not yet being written; always the same list."""
        self.version = 0
        """Entries in the journal."""
        self.is_flushing = False
        self._store = store
        self._fence = fence
        self._given_up = False
        self._task: asyncio.Task[None] | None = None
        self._quiet: asyncio.Future[None] | None = None

    async def flush(self, driven: Driven[DueT]) -> None:
        """Append what is pending, then start what that made due."""
        if self.is_flushing:
            return
        self.is_flushing = True
        pending = self.pending
        entries: list[journal.Entry] = []
        try:
            while not self._given_up:
                if not pending:
                    driven.all_appended()
                    if not pending:
                        break
                entries = pending.copy()
                pending.clear()
                due = driven.take_due()
                self.version = await self._store.append(
                    self.run, entries, expected_version=self.version, fence=self._fence
                )
                driven.appended(entries, due)
        except (StaleFence, StaleVersion) as lost:
            driven.lose(lost)
        except Exception as error:
            await driven.not_appended(entries, error)
        except BaseException as error:
            driven.lose(error)  # cancelled in the middle of an append
            raise
        finally:
            self.is_flushing = False
        if self._quiet is not None:
            self._tell_quiet()

    def flush_soon(self, driven: Driven[DueT]) -> None:
        """Write in a task of its own."""
        if not self.is_flushing and self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._flush_now(driven))

    async def _flush_now(self, driven: Driven[DueT]) -> None:
        self._task = None
        await self.flush(driven)

    async def written(self, driven: Driven[DueT]) -> None:
        """Return once everything recorded so far is durable; whoever waits here may be cancelled.

        Raises:
            RunLost: It never will be by us: the run has passed on, or the store is gone.
        """
        if self.pending or self.is_flushing:
            if self._quiet is None:
                self._quiet = asyncio.get_running_loop().create_future()
            self.flush_soon(driven)
            await asyncio.shield(self._quiet)
        if self._given_up:
            raise RunLost(str(self.run), "it has passed on before this was written")

    def give_up(self) -> None:
        """Write nothing more."""
        self._given_up = True
        self.pending.clear()
        self._tell_quiet()

    def _tell_quiet(self) -> None:
        if self._quiet is not None and (self._given_up or not self.pending):
            self._quiet.set_result(None)
            self._quiet = None
