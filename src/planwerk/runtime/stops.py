"""Carries stops to the runs that are driven here, when they were asked for in another process (E4.6)."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from typing import Final

from planwerk.runtime.children import STOP, STOPPED_BY
from planwerk.runtime.ports import ContextStore
from planwerk.runtime.worker import Worker
from planwerk.workflow.ids import RunId

log = logging.getLogger(__name__)

WAIT_SECONDS: Final = 1.0


class StopsFromElsewhere:
    """Whoever is asked to stop a run that it does not drive keeps that for the run's owner: here it looks."""

    def __init__(self, worker: Worker, contexts: ContextStore) -> None:
        self._worker = worker
        self._contexts = contexts

    async def run(self) -> None:
        """Look whenever another process has written something, until cancelled."""
        while True:
            try:
                async with aclosing(self._contexts.foreign_changes()) as changes:
                    async for _ in changes:
                        await self.carry()
            except asyncio.CancelledError:
                raise
            except Exception:
                log.exception("stops asked for in other processes could not be read; trying again")
                await asyncio.sleep(WAIT_SECONDS)

    async def carry(self) -> None:
        """Stop what is driven here and was asked to stop."""
        for run, who in (await self._contexts.owners(STOP, STOPPED_BY)).items():
            if self._worker.drives(RunId(run)):
                await self._worker.request_stop(RunId(run), str(who))
