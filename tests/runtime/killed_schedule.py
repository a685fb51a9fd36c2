"""Processes that look at a schedule night by night, each killed at a later call of its stores than the one before.

python -m tests.runtime.killed_schedule FILE FIRST NIGHTS    FIRST look in microseconds; prints how many were killed
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from planwerk.app import DEFAULT_TENANT, Planwerk
from planwerk.runtime.scheduling import Schedules
from planwerk.testing import ScriptedModel
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import StartEvent, StopEvent
from planwerk.workflow.steps import step

DAY = 86_400_000_000
NEVER = 1_000
"""A call that does not come: the process lives."""


class NightlyStart(StartEvent):
    pass


class Nightly(Agent):
    """Runs by itself."""

    @step()
    async def work(self, start: NightlyStart) -> StopEvent:
        return StopEvent()


class Deadly:
    """A store whose process is killed at the call whose turn it is; what it wrote before is in the file."""

    left = 0

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        async def call(*given: Any, **named: Any) -> Any:
            if Deadly.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            Deadly.left -= 1
            return await getattr(self._store, name)(*given, **named)

        return call


def served(file: Path, now: int) -> Planwerk:
    """The installation on this file, whose clock stands at this time."""
    return Planwerk((Nightly,), storage=file, model=ScriptedModel([]), clock=lambda: now)


async def main(file: Path, now: int, call: int) -> None:
    planwerk = served(file, now)
    await planwerk.start(work=False, is_helper=True)
    stores = planwerk.stores
    doomed: list[Any] = [Deadly(store) for store in (stores.journal, stores.queue, stores.contexts, stores.records)]
    journal, queue, contexts, records = doomed
    schedules = Schedules(
        profiles=planwerk.profiles, store=journal, queue=queue, contexts=contexts, records=records, clock=planwerk.clock
    )
    profile = await planwerk.profiles.get(DEFAULT_TENANT, "nightly")
    Deadly.left = call
    await schedules.look(DEFAULT_TENANT, profile)
    await planwerk.stop()


def look(file: Path, now: int, call: int) -> bool:
    """Look in a process of its own, a fork of this one, which has no threads; whether it was killed."""
    child = os.fork()
    if child == 0:
        asyncio.run(main(file, now, call))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


if __name__ == "__main__":
    path, first, nights = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    killed = 0
    asyncio.run(
        main(path, first - DAY // 24, NEVER)
    )  # before anything is due: what is imported here is not in each fork
    for night in range(nights):
        killed += look(path, first + night * DAY, night)
        killed += look(path, first + night * DAY, NEVER)
    sys.stdout.write(f"{killed}\n")
