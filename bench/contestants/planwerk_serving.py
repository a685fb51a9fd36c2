"""Our worker on a file, as a server has it: it finds runs that were left behind and goes on with them by itself."""

from __future__ import annotations

import asyncio
import importlib
import os
import platform
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.contestants.planwerk_blueprints import BenchMarch, BenchMarchStartEvent, value_of
from planwerk import Agent, StartEvent, StopEvent
from planwerk.runtime.live import LiveHub
from planwerk.runtime.local import system_clock
from planwerk.runtime.opening import open_run
from planwerk.runtime.profiles import BlueprintRegistry
from planwerk.runtime.programs import Programs
from planwerk.runtime.providers import Providers
from planwerk.runtime.worker import Worker
from planwerk.storage.migrate import upgrade
from planwerk.storage.sqlite.contexts import SqliteContexts
from planwerk.storage.sqlite.database import SqliteDatabase
from planwerk.storage.sqlite.journal import SqliteJournal
from planwerk.storage.sqlite.work_queue import SqliteWorkQueue
from planwerk.workflow import entries as journal
from planwerk.workflow.composition import compose
from planwerk.workflow.ids import EventId, RunId, new_id

importlib.import_module("planwerk.workflow.validation")  # else at the first run; imports are not counted

RUN: Final = RunId("01900000-0000-7000-8000-000000000001")
FILE: Final = "planwerk.db"


class Ends(LiveHub):
    """Says when a run has ended, without reading its journal."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: dict[str, asyncio.Event] = {}

    def ended(self, run: str) -> None:
        super().ended(run)
        self._of(run).set()

    async def wait_for(self, run: str) -> None:
        await self._of(run).wait()

    def _of(self, run: str) -> asyncio.Event:
        return self._waiting.setdefault(run, asyncio.Event())


@dataclass(frozen=True, slots=True)
class Served:
    """A file that is served."""

    store: SqliteJournal
    queue: SqliteWorkQueue
    ends: Ends

    async def start(self, run: RunId, blueprint: type[Agent], start: StartEvent) -> None:
        """Open a run; it is durable once this returns, and the worker takes it."""
        now = system_clock()
        opened = journal.RunOpened(
            run=run,
            at=now,
            blueprint=blueprint.__name__,
            fingerprint=compose(blueprint, type(start)).fingerprint,
            config={},
            actor={"kind": "system", "name": "bench"},
            tenant="default",
        )
        await open_run(self.store, self.queue, run, [opened, journal.EventPublished(start, EventId(new_id()), now)])

    async def stop_of(self, run: RunId) -> StopEvent:
        """The stop of a run, once it has ended."""
        await self.ends.wait_for(run)
        entries = await self.store.read(run)
        return next(
            entry.event
            for entry in reversed(entries)
            if isinstance(entry, journal.EventPublished) and isinstance(entry.event, StopEvent)
        )


@asynccontextmanager
async def serving(folder: Path, *blueprints: type[Agent]) -> AsyncGenerator[Served]:
    """Open the file and work on what is in it."""
    path = folder / FILE
    upgrade(path)
    database = SqliteDatabase(path)
    served = Served(SqliteJournal(database), SqliteWorkQueue(database), Ends())
    worker = Worker(
        store=served.store,
        queue=served.queue,
        contexts=SqliteContexts(database),
        live=served.ends,
        blueprints=BlueprintRegistry(blueprints),
        programs=Programs(Providers()),
        clock=system_clock,
        name=_name(),
    )
    working = asyncio.create_task(worker.run())
    try:
        yield served
    finally:
        await worker.shutdown(seconds=0)
        working.cancel()
        await asyncio.wait([working])
        await database.close()


def _name() -> str:
    """Where it runs, so that its leases are free as soon as its process is gone."""
    return f"{platform.node()}:{os.getpid()}:{system_clock()}"


async def die(folder: Path, steps: int) -> None:
    async with serving(folder, BenchMarch) as served:
        await served.start(RUN, BenchMarch, BenchMarchStartEvent(steps=steps))
        await served.stop_of(RUN)


async def wake(folder: Path) -> int:
    async with serving(folder, BenchMarch) as served:
        return value_of(await served.stop_of(RUN))
