"""Takes runs that have something to do, drives them, and hands them over when it stops (E7.3, E7.5)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Final, cast

from pydantic import ValidationError
from structlog.contextvars import bind_contextvars

from planwerk.runtime.driver import RunDriver, error_info
from planwerk.runtime.errors import RunLost
from planwerk.runtime.execution import ExecutionContext, FrameType
from planwerk.runtime.live import LiveChannel
from planwerk.runtime.ports import Clock, ContextStore, Journal, Lease, WorkQueue
from planwerk.runtime.profiles import BlueprintRegistry, ProfileInvalid
from planwerk.runtime.programs import Programs
from planwerk.runtime.tally import Tally
from planwerk.workflow import entries as journal
from planwerk.workflow.errors import PlanwerkError
from planwerk.workflow.events import DisplayEvent, ExceptionEvent
from planwerk.workflow.ids import EventId, RunId, new_id
from planwerk.workflow.seen import Execution

log = logging.getLogger(__name__)

LEASE_SECONDS: Final = 30.0
RENEW_SECONDS: Final = 10.0
MAX_RUNS: Final = 1_000
"""Runs driven at once by one worker; more wait in the queue."""
POLL_SECONDS: Final = 5.0
"""How often lapsed leases are looked for where nothing else wakes the worker."""


class HubSink:
    """What an execution of a served run shows: durable events to its journal, pieces to the live channel."""

    __slots__ = ("_attempt", "_driver", "_execution", "_live")

    def __init__(self, driver: RunDriver, execution: Execution, attempt: int, live: LiveChannel) -> None:
        self._driver = driver
        self._execution = execution
        self._attempt = attempt
        self._live = live

    def displayed(self, event: DisplayEvent) -> None:
        self._driver.displayed(self._execution, event)

    def next_response(self) -> int:
        return self._driver.next_response()

    def frame(self, kind: FrameType, *, response: int, part: int, part_kind: str = "", text: str = "") -> None:
        self._live.publish(
            self._driver.run,
            attempt=self._attempt,
            response=response,
            part=part,
            frame=kind,
            kind=part_kind,
            text=text,
        )

    def model_called(self, call: journal.ModelCalled) -> None:
        self._driver.model_called(call)


class Worker:
    """Drives runs in this process.

    Args:
        name: Names this worker in leases and journals.
    """

    def __init__(
        self,
        *,
        store: Journal,
        queue: WorkQueue,
        contexts: ContextStore,
        live: LiveChannel,
        blueprints: BlueprintRegistry,
        programs: Programs,
        clock: Clock,
        name: str,
        lease_seconds: float = LEASE_SECONDS,
    ) -> None:
        self._journal = store
        self._queue = queue
        self._contexts = contexts
        self._live = live
        self._blueprints = blueprints
        self._programs = programs
        self._clock = clock
        self._name = name
        self._lease_seconds = lease_seconds
        self._drivers: dict[RunId, RunDriver] = {}
        self._tasks: dict[RunId, asyncio.Task[None]] = {}
        self._stopping: dict[RunId, str] = {}
        self.who_stopped: Callable[[journal.RunOpened], Awaitable[str | None]] | None = None
        """Asked when a run is taken over: a stop may have been carried to a worker that died."""
        self._room = asyncio.Event()
        self._room.set()
        self._closing = False

    @property
    def driven(self) -> int:
        """How many runs are driven here now."""
        return len(self._tasks)

    async def run(self) -> None:
        """Take and drive runs until cancelled."""
        await self._drop_dead_leases()
        async with aclosing(self._queue.changes()) as changes:
            waiting = asyncio.ensure_future(anext(changes))
            try:
                while True:
                    await asyncio.wait([waiting], timeout=POLL_SECONDS)
                    if waiting.done():
                        waiting.result()
                        waiting = asyncio.ensure_future(anext(changes))
                    await self._take_all()
            finally:
                waiting.cancel()
                with contextlib.suppress(asyncio.CancelledError, StopAsyncIteration):
                    await waiting

    async def _drop_dead_leases(self) -> None:
        """Leases of workers on this machine whose process is gone need not lapse: their runs are taken at once."""
        for owner in await self._queue.owners():
            if owner != self._name and is_dead(owner, self._name):
                await self._queue.drop_leases(owner)

    async def _take_all(self) -> None:
        while not self._closing:
            await self._room.wait()
            try:
                lease = await self._queue.take(
                    self._name, now_microseconds=self._clock(), lease_microseconds=int(self._lease_seconds * 1e6)
                )
            except Exception:
                log.exception("the work queue could not be read; trying again soon")
                return
            if lease is None:
                return
            task = asyncio.get_running_loop().create_task(self._drive(lease, after=self._tasks.get(lease.run)))
            self._tasks[lease.run] = task
            if len(self._tasks) >= MAX_RUNS:
                self._room.clear()

    async def request_stop(self, run: RunId, who: str) -> None:
        """Stop a run that is driven here, now or as soon as it is; returns when the stop is durable if it is now."""
        driver = self._drivers.get(run)
        if driver is not None:
            await driver.request_stop(who)
        else:
            self._stopping[run] = who

    async def shutdown(self, *, seconds: float = 5.0) -> None:
        """Take nothing more; give runs a moment to end, then hand them over (E7.5)."""
        self._closing = True
        tasks = list(self._tasks.values())
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        for driver in list(self._drivers.values()):
            await driver.release()
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=seconds)

    # One run ---------------------------------------------------------------------------------------------------------

    async def _drive(self, lease: Lease, after: asyncio.Task[None] | None = None) -> None:
        if after is not None:
            # Our own lease lapsed while the run was driven here (a laptop slept): its driver lets go, then we go on.
            old = self._drivers.get(lease.run)
            if old is not None:
                await old.release()
            await asyncio.wait([after])
        try:
            finished = await self._drive_to_end(lease)
            await self._queue.release(lease, finished=finished)
        except Exception:
            log.exception("run %s could not be driven; it is taken again when its lease has lapsed", lease.run)
        finally:
            if self._tasks.get(lease.run) is asyncio.current_task():
                del self._tasks[lease.run]
            self._room.set()

    async def _drive_to_end(self, lease: Lease) -> bool:
        """Drive a leased run; whether it is over."""
        run = lease.run
        found = await self._journal.read(run)
        if not found:
            log.error("run %s is in the queue, but has no journal; it is taken out", run)
            return True
        if isinstance(found[0], journal.RunOpened):
            log_as(found[0])
        try:
            driver = await self._driver(lease, found)
            if driver is not None:
                await self._until_ended(driver, lease, found)
        except RunLost as lost:
            log.info("%s", lost)
            return False
        finally:
            self._drivers.pop(run, None)
            self._live.ended(run)
        self._stopping.pop(run, None)
        return True

    async def _until_ended(self, driver: RunDriver, lease: Lease, found: list[journal.Entry]) -> None:
        renewing = asyncio.get_running_loop().create_task(self._renew(driver, lease))
        try:
            await driver.resume(found)
            self._drivers[driver.run] = driver
            who = self._stopping.pop(driver.run, None) or await self._who_stopped(driver)
            if who is not None:
                await driver.request_stop(who)
            await driver.wait_ended()
            await self._contexts.forget("run", driver.run)
        finally:
            renewing.cancel()

    async def _who_stopped(self, driver: RunDriver) -> str | None:
        """Whether somebody asked the run to stop before this worker had it."""
        if self.who_stopped is None or driver.opened is None or driver.schedule.ended:
            return None
        return await self.who_stopped(driver.opened)

    async def _renew(self, driver: RunDriver, lease: Lease) -> None:
        """Keep the lease while the run is driven; when it has passed to another worker, let the run go at once."""
        kept: Lease | None = lease
        while kept is not None:
            await asyncio.sleep(self._lease_seconds / 3)
            try:
                kept = await self._queue.renew(kept, until_microseconds=self._clock() + int(self._lease_seconds * 1e6))
            except Exception:
                log.exception("the lease of run %s could not be renewed", lease.run)
        await driver.release()

    async def _driver(self, lease: Lease, found: list[journal.Entry]) -> RunDriver | None:
        """A driver for the run, or None after ending a run that cannot be driven here."""
        opened = cast("journal.RunOpened", found[0])
        start = cast("journal.EventPublished", found[1]).event
        try:
            blueprint = self._blueprints.get(opened.blueprint)
            try:
                config = blueprint.config.model_validate(opened.config)
            except ValidationError as error:
                raise ProfileInvalid(
                    opened.profile or opened.blueprint, [dict(item) for item in error.errors(include_url=False)]
                ) from error
            program = self._programs.get(blueprint, type(start), type(config))
        except PlanwerkError as error:
            await self._end_unstarted(lease, found, error)
            return None
        return RunDriver(
            program,
            self._journal,
            config=config,
            fence=lease.fence,
            make_context=self._make_context,
            show_ephemeral=self._show_ephemeral,
            clock=self._clock,
            worker=self._name,
        )

    async def _end_unstarted(self, lease: Lease, found: list[journal.Entry], error: PlanwerkError) -> None:
        """End a run whose workflow cannot be made: its error says why, and the thread stays usable."""
        if isinstance(found[-1], journal.RunEnded):
            return
        now, info = self._clock(), error_info(error)
        stop = ExceptionEvent(
            code=info.code,
            message=info.message,
            what_to_do=info.what_to_do,
            error_type=info.error_type,
            http_status=info.http_status,
        )
        entries: list[journal.Entry] = [
            journal.EventPublished(stop, EventId(new_id()), now),
            journal.StopReached(len(found) + 1, now),
            journal.RunEnded("failed", now, info, (), Tally().summary()),
        ]
        await self._journal.append(lease.run, entries, expected_version=len(found), fence=lease.fence)

    def _make_context(self, driver: RunDriver, execution: Execution, attempt: int) -> ExecutionContext:
        opened, start = driver.opened, driver.start
        assert opened is not None
        assert start is not None
        scope = execution.scope
        path = tuple(scope.path().split(" > ")) if scope.parent is not None else ()
        sink = HubSink(driver, execution, attempt, self._live)
        return ExecutionContext(opened, start, driver.config, execution.id, attempt, execution.step.name, path, sink)

    def _show_ephemeral(self, driver: RunDriver, event: DisplayEvent) -> None:
        self._live.publish(driver.run, attempt=1, response=0, part=0, frame="display", event=event)


def is_dead(owner: str, mine: str) -> bool:
    """Whether a worker of this machine has ended: its name is `host:pid:start`, and no process has its pid."""
    host, _, rest = owner.partition(":")
    if host != mine.partition(":")[0]:
        return False
    pid = rest.partition(":")[0]
    if not pid.isdecimal():
        return False
    if int(pid) == os.getpid():
        return True  # an earlier process had our pid, as the first one of a container always has
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def log_as(opened: journal.RunOpened) -> None:
    """Give every line logged while this run is driven the ids it belongs to (S6.2)."""
    ids = {"tenant": opened.tenant, "run": opened.run, "thread": opened.thread}
    bind_contextvars(**{name: value for name, value in ids.items() if value is not None})
