"""Forgets runs whose time is over: those that answered a request outside any conversation (S4.1)."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from planwerk.runtime.answers import ANSWERS
from planwerk.runtime.contexts import thread_owner
from planwerk.runtime.ports import Clock, ContextStore, Journal, RunRecords, RunRequests, WorkQueue
from planwerk.runtime.worker import STOP
from planwerk.workflow.ids import RunId

log = logging.getLogger(__name__)

PAUSE_SECONDS: Final = 600.0
BATCH: Final = 100


class Housekeeping:
    """Looks every ten minutes for what has expired; one per installation, and a second one does no harm."""

    def __init__(
        self,
        store: Journal,
        records: RunRecords,
        requests: RunRequests,
        queue: WorkQueue,
        contexts: ContextStore,
        *,
        clock: Clock,
    ) -> None:
        self._journal = store
        self._records = records
        self._requests = requests
        self._queue = queue
        self._contexts = contexts
        self._clock = clock

    async def run(self) -> None:
        """Go on until cancelled; an error is logged, and the next round tries again."""
        while True:
            try:
                forgotten = await self.forget_expired()
                if forgotten:
                    log.info("%d expired runs were forgotten", forgotten)
            except asyncio.CancelledError:
                raise
            except Exception:
                log.exception("expired runs could not be forgotten; trying again in %g s", PAUSE_SECONDS)
            await asyncio.sleep(PAUSE_SECONDS)

    async def forget_expired(self) -> int:
        """Delete all ended runs that have expired by now; how many they were.

        The record goes last: whoever dies in between finds the run again, and deletes what is left of it.
        """
        count = 0
        while expired := await self._records.expired(self._clock(), BATCH):
            for run in expired:
                await self._forget(run)
            count += len(expired)
        return count

    async def _forget(self, run: str) -> None:
        await self._journal.forget(RunId(run))
        await self._contexts.forget("run", run)
        await self._contexts.forget("thread", thread_owner(run, None))
        await self._contexts.forget(STOP, run)  # of a stop that came when the run had just ended
        await self._contexts.forget(ANSWERS, run)  # and of an answer
        await self._requests.forget(run)
        await self._queue.forget(RunId(run))
        await self._records.forget(run)
