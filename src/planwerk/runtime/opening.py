"""Opens a run: its first entries and its place in the queue, together (E7.3)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from planwerk.runtime.errors import JournalError
from planwerk.runtime.ports import Journal, WorkQueue
from planwerk.workflow.entries import Entry
from planwerk.workflow.ids import RunId

log = logging.getLogger(__name__)


async def open_run(store: Journal, queue: WorkQueue, run: RunId, entries: Sequence[Entry]) -> None:
    """Write a run's first entries and enqueue it; repeating it changes nothing (E7.9: idempotent by run id).

    Both are asked for at one moment, so where journal and queue share a database they share a transaction: no run is
    accepted that nobody will take. Elsewhere whoever repeats the start enqueues the run at last.
    """
    appended, enqueued = await asyncio.gather(
        store.append(run, entries, expected_version=0, fence=0), queue.enqueue(run), return_exceptions=True
    )
    if isinstance(appended, JournalError):
        log.info("run %s was opened before", run)
    elif isinstance(appended, BaseException):
        raise appended
    if isinstance(enqueued, BaseException):
        raise enqueued
