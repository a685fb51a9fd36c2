"""Takes runs that have something to do, drives them, and hands them over when it stops (E7.3, E7.5)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import aclosing
from typing import Any, Final, cast

from pydantic import ValidationError

from planwerk.runtime.agents import MAX_DEPTH, FindsAgents, NamedAgents
from planwerk.runtime.answers import ANSWERS, read_answer
from planwerk.runtime.attempts import DOUBLINGS
from planwerk.runtime.children import STOP, STOPPED_BY, Children
from planwerk.runtime.closing import closing_entries, error_info, exception_event
from planwerk.runtime.driver import RunDriver
from planwerk.runtime.errors import JournalError, RunLost
from planwerk.runtime.execution import ExecutionContext
from planwerk.runtime.hub_sink import HubSink
from planwerk.runtime.live import LiveChannel
from planwerk.runtime.log_context import log_as
from planwerk.runtime.ports import NEVER, Clock, ContextStore, Journal, Lease, WorkQueue
from planwerk.runtime.profiles import BlueprintRegistry, ProfileInvalid, UnknownBlueprint
from planwerk.runtime.programs import Programs
from planwerk.runtime.steering import STEERING, take_brought
from planwerk.workflow import entries as journal
from planwerk.workflow.errors import PlanwerkError, WorkflowError
from planwerk.workflow.events import DisplayEvent
from planwerk.workflow.ids import RunId
from planwerk.workflow.requests import OutsideRequest
from planwerk.workflow.seen import Execution

log = logging.getLogger(__name__)

LEASE_SECONDS: Final = 30.0
"""How long a lease holds; it is renewed after a third of that."""
MAX_RUNS: Final = 1_000
"""Runs driven at once by one worker; more wait in the queue."""
POLL_SECONDS: Final = 5.0
"""How often lapsed leases are looked for where nothing else wakes the worker."""
FIRST_WAIT_SECONDS: Final = 0.1
LONGEST_WAIT_SECONDS: Final = 5.0
"""Before a run is taken again whose journal could not be read or written."""
PARK_SECONDS: Final = 10.0
"""How long a run that only waits stays in memory (E7.4)."""
HAND_OVER_SECONDS: Final = 2.0
"""How long a run may take to be handed over at a shutdown, its steps being cancelled."""


class NotResumable(WorkflowError):
    """The journal of a run does not fit the code that is here now (E7.6)."""

    code = "run_not_resumable"
    http_status = 409

    def __init__(self, error: Exception) -> None:
        super().__init__(
            f"the journal of the run does not fit the workflow that is served here (E7.6): "
            f"{type(error).__name__}: {str(error)[:500]}.",
            what_to_do="Ask again; or serve the code that the run was started with.",
        )


class Worker:
    """Drives runs in this process.

    Args:
        name: Names this worker in leases and journals.
        max_runs: Runs driven at once; 0 drives none.
        is_helper: Another process serves: runs of blueprints that are not here are left to it, not ended.
        park_seconds: How long a run that waits for people, runs or timers alone stays in memory.
        agents: Finds the agents that runs ask for; blueprints by name alone if missing.
        max_agent_depth: Runs in a chain of agents that ask each other, the first one counted.
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
        max_runs: int = MAX_RUNS,
        is_helper: bool = False,
        park_seconds: float = PARK_SECONDS,
        agents: FindsAgents | None = None,
        max_agent_depth: int = MAX_DEPTH,
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
        self._max_runs = max_runs
        self._is_helper = is_helper
        self._left: set[RunId] = set()
        """Runs of blueprints that are not here."""
        self._park_seconds = park_seconds
        self._children = Children(
            store=store,
            queue=queue,
            contexts=contexts,
            agents=agents or NamedAgents(blueprints),
            request_stop=self.request_stop,
            clock=clock,
            max_depth=max_agent_depth,
        )
        self._parking: dict[RunId, asyncio.TimerHandle] = {}
        """When runs that wait leave memory."""
        self._parked: dict[RunId, int] = {}
        """Runs that have just left memory, and when they are to be taken at the latest."""
        self._called: set[RunId] = set()
        """Runs for which something was brought while they were being taken up or let go."""
        self._undriven: set[RunId] = set()
        """Runs that were called for, and that are leased to this worker without its knowing, or just let go."""
        self._may_have_missed = False
        """The queue failed: a call may have been told to nobody."""
        self._delivering: set[asyncio.Task[None]] = set()
        self._drivers: dict[RunId, RunDriver] = {}
        self._tasks: dict[RunId, asyncio.Task[None]] = {}
        self._failures: dict[RunId, int] = {}
        """How often in a row a run could not be read or written."""
        self.who_stopped: Callable[[journal.RunOpened], Awaitable[str | None]] | None = None
        """Asked when a run is taken over: a stop may have been carried to a worker that died."""
        self.accepted_answers: Callable[[RunDriver], Awaitable[None]] | None = None
        """Asked when a run is taken over, and before a request times out: brings answers that the log has accepted."""
        self._room = asyncio.Event()
        if max_runs > 0:
            self._room.set()
        self._closing = asyncio.Event()

    @property
    def driven(self) -> int:
        """How many runs are driven here now."""
        return len(self._tasks)

    async def run(self) -> None:
        """Take and drive runs until cancelled; a queue that cannot be read is tried again."""
        wait = FIRST_WAIT_SECONDS
        while True:
            try:
                await self._drop_dead_leases()
                wait = FIRST_WAIT_SECONDS
                await self._take_what_comes()
            except asyncio.CancelledError:
                raise
            except Exception:
                self._may_have_missed = True
                log.exception("the work queue could not be read; trying again in %g s", wait)
                await asyncio.sleep(wait)
                wait = min(wait * 2, LONGEST_WAIT_SECONDS)

    async def _take_what_comes(self) -> None:
        if self._may_have_missed:
            self._may_have_missed = False
            for driver in list(self._drivers.values()):
                if driver.is_waiting:
                    self._in_background(self._deliver_soon(driver))
        async with aclosing(self._queue.changes()) as changes:
            waiting = asyncio.ensure_future(anext(changes))
            try:
                while True:
                    await asyncio.wait([waiting], timeout=await self._seconds_to_wait())
                    if not waiting.done():
                        await self._drop_dead_leases()
                    else:
                        waiting.result()
                        waiting = asyncio.ensure_future(anext(changes))
                    await self._take_all()
            finally:
                waiting.cancel()
                # Not awaited itself: its CancelledError could not be told from one that is meant for this task.
                await asyncio.wait([waiting])
                if not waiting.cancelled():
                    waiting.exception()

    async def _seconds_to_wait(self) -> float:
        """Until the next timer, and no longer than lapsed leases are left alone."""
        now = self._clock()
        upcoming = await self._queue.next_time(now)
        poll = min(POLL_SECONDS, self._lease_seconds)
        return poll if upcoming is None else min(poll, (upcoming - now) / 1e6)

    async def _drop_dead_leases(self) -> None:
        """Leases of workers on this machine whose process is gone need not lapse: their runs are taken at once."""
        for owner in await self._queue.owners():
            if owner != self._name and is_dead(owner, self._name):
                await self._queue.drop_leases(owner)

    async def _take_all(self) -> None:
        for called in await self._queue.called(self._name):
            self._call(called)
        while True:
            await self._room.wait()
            if self._closing.is_set():
                return
            lease = await self._queue.take(
                self._name,
                now_microseconds=self._clock(),
                lease_microseconds=int(self._lease_seconds * 1e6),
                leaving=self._left,
            )
            if lease is None:
                return
            if self._closing.is_set():
                await self._queue.release(lease, finished=False)
                return
            task = asyncio.get_running_loop().create_task(self._drive(lease, after=self._tasks.get(lease.run)))
            self._tasks[lease.run] = task
            if len(self._tasks) >= self._max_runs:
                self._room.clear()
                for driver in list(self._drivers.values()):
                    self._park(driver)

    def drives(self, run: RunId) -> bool:
        """Whether the run is driven here and has not ended."""
        driver = self._drivers.get(run)
        return driver is not None and driver.opened is not None and not driver.is_over

    async def request_stop(self, run: RunId, who: str) -> None:
        """Stop a run that is driven here, or as soon as it is; returns when that is durable."""
        driver = self._drivers.get(run)
        if driver is not None and driver.opened is not None:
            await driver.request_stop(who)
        else:
            await asyncio.gather(self._contexts.set(STOP, run, STOPPED_BY, who), self._queue.wake(run))

    async def shutdown(self, *, seconds: float = 5.0) -> None:
        """Take nothing more; give runs this long to end, then hand them over (E7.5)."""
        self._closing.set()
        self._room.set()
        for driver in list(self._drivers.values()):
            self._park(driver)  # nothing would come of waiting for it
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=seconds)
        await asyncio.gather(*(driver.release() for driver in list(self._drivers.values())))
        if self._tasks:
            _, left = await asyncio.wait(list(self._tasks.values()), timeout=HAND_OVER_SECONDS)
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
        if self._delivering:
            _, undelivered = await asyncio.wait(list(self._delivering), timeout=HAND_OVER_SECONDS)
            for task in undelivered:
                task.cancel()
            await asyncio.gather(*undelivered, return_exceptions=True)

    # One run ---------------------------------------------------------------------------------------------------------

    async def _drive(self, lease: Lease, after: asyncio.Task[None] | None = None) -> None:
        self._undriven.discard(lease.run)
        if after is not None:
            # Our own lease lapsed while the run was driven here (a laptop slept): its driver lets go, then we go on.
            old = self._drivers.get(lease.run)
            if old is not None:
                await old.release()
            await asyncio.wait([after])
        finished = False
        try:
            finished = await self._drive_to_end(lease)
            self._failures.pop(lease.run, None)
        except Exception:
            log.exception("run %s could not be driven; it is taken again soon", lease.run)
            await self._wait_after_failure(lease.run)
        until = self._parked.pop(lease.run, None)
        try:
            # Where a call may have been told to nobody, the next owner looks for what was brought.
            parks = until is not None and not self._may_have_missed and not self._closing.is_set()
            if finished:
                await self._give_up(lease)
            elif not parks or not await self._queue.park(lease, until_microseconds=until or 0):
                await self._queue.release(lease, finished=False)
        except Exception:
            log.exception("run %s could not be given back; it is taken again when its lease has lapsed", lease.run)
        finally:
            if self._tasks.get(lease.run) is asyncio.current_task():
                del self._tasks[lease.run]
            self._room.set()
        if lease.run in self._called:
            self._called.discard(lease.run)
            if not finished:
                await self._wake(lease.run)

    async def _give_up(self, lease: Lease) -> None:
        """Take a run that has ended out of the queue, and forget what was kept for it.

        All is asked for at one moment, so where it shares a database it shares a transaction: what is brought for the
        run until then is forgotten with it, and what is brought later puts it into the queue again.
        """
        forgotten = (self._contexts.forget(scope, lease.run) for scope in ("run", STOP, ANSWERS, STEERING))
        await asyncio.gather(self._queue.release(lease, finished=True), *forgotten)

    async def _wait_after_failure(self, run: RunId) -> None:
        """Keep the run for a while, so that a store that is away is not asked at once again."""
        failures = self._failures[run] = self._failures.get(run, 0) + 1
        doubled = FIRST_WAIT_SECONDS * 2 ** min(failures - 1, DOUBLINGS)
        wait = min(doubled, LONGEST_WAIT_SECONDS, self._lease_seconds / 2)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), wait)

    async def _drive_to_end(self, lease: Lease) -> bool:
        """Drive a leased run; whether it is over."""
        run = lease.run
        found = await self._journal.read(run)
        if not found:
            log.error("run %s is in the queue, but has no journal; it is taken out", run)
            return True
        if isinstance(found[0], journal.RunOpened):
            log_as(found[0])
        if self._is_helper:
            log.info("run %s is taken under fence %d, after %d entries", run, lease.fence, len(found))
        finished = False
        try:
            if isinstance(found[-1], journal.RunEnded):
                await self._children.left_by(found)
                finished = True
            else:
                finished = await self._drive_found(lease, found)
        finally:
            if finished:
                self._live.ended(run)
            else:
                self._live.restarted(run)
        if self._is_helper:
            log.info("run %s %s", run, "has ended" if finished else "is let go")
        if finished and isinstance(found[0], journal.RunOpened) and found[0].request is not None:
            await self._children.hand_in_end(run)
        return finished

    async def _drive_found(self, lease: Lease, found: list[journal.Entry]) -> bool:
        try:
            driver = self._driver(lease, found)
        except PlanwerkError as error:
            if self._is_helper and isinstance(error, UnknownBlueprint):
                log.warning("run %s is left to another process: %s", lease.run, error.message)
                self._left.add(lease.run)
                return False
            return await self._break_off(lease, found, error)
        self._drivers[lease.run] = driver
        driver.when_waiting = self._park_soon
        driver.fetch_answers = self._fetch_answers
        renewing = asyncio.get_running_loop().create_task(self._renew(driver, lease))
        try:
            return await self._until_ended(driver, lease, found)
        except RunLost as lost:
            cause = lost.__cause__
            if cause is not None and not isinstance(cause, JournalError | asyncio.CancelledError):
                raise
            log.info("%s", str(lost))
            return False
        finally:
            del self._drivers[lease.run]
            self._stay(lease.run)
            renewing.cancel()
            await asyncio.wait([renewing])

    async def _until_ended(self, driver: RunDriver, lease: Lease, found: list[journal.Entry]) -> bool:
        try:
            await driver.resume(found)
        except RunLost:
            raise
        except Exception as error:
            log.exception("run %s cannot be resumed", lease.run)
            driver.lose(RunLost(lease.run, "its journal does not fit"))
            unfit = error if isinstance(error, PlanwerkError) else NotResumable(error)
            return await self._break_off(lease, found, unfit)
        await take_brought(self._contexts, driver)
        await self._fetch_answers(driver)
        who = await self._who_stopped(driver)
        if who is not None:
            await driver.request_stop(who)
        while lease.run in self._called and not driver.is_over:
            self._called.discard(lease.run)
            await self._deliver(driver)
        driver.carry_agents = self._children.look
        self._children.look(driver)
        await driver.wait_ended()
        await self._children.left(driver)
        return True

    # Runs that wait --------------------------------------------------------------------------------------------------

    def _park_soon(self, driver: RunDriver) -> None:
        """The run waits: if it still does after a while, it leaves memory."""
        self._stay(driver.run)
        wait = self._park_seconds if self._room.is_set() and not self._closing.is_set() else 0.0
        self._parking[driver.run] = asyncio.get_running_loop().call_later(wait, self._park, driver)

    def _stay(self, run: RunId) -> None:
        handle = self._parking.pop(run, None)
        if handle is not None:
            handle.cancel()

    def _park(self, driver: RunDriver) -> None:
        due = driver.next_due
        if driver.park():
            self._parked[driver.run] = NEVER if due is None else due

    def _call(self, run: RunId) -> None:
        """Somebody brought something for a run that was leased to this worker: an answer, a stop."""
        driver = self._drivers.get(run)
        if driver is not None and driver.opened is not None and not driver.is_over:
            self._in_background(self._deliver_soon(driver))
        elif run in self._tasks:
            self._called.add(run)
        elif run not in self._undriven:
            # It was let go a moment ago; or it was taken by a call whose answer was lost: then its lease lapses.
            self._undriven.add(run)
            self._in_background(self._wake(run))

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._delivering.add(task)
        task.add_done_callback(self._delivering.discard)

    async def _wake(self, run: RunId) -> None:
        """Wake a run for which something was brought; a queue that is away is asked again, or it would sleep on."""
        wait = FIRST_WAIT_SECONDS
        while True:
            try:
                await self._queue.wake(run)
                return
            except Exception:
                log.exception("run %s could not be woken; trying again in %g s", run, wait)
                await asyncio.sleep(wait)
                wait = min(wait * 2, LONGEST_WAIT_SECONDS)

    async def _deliver_soon(self, driver: RunDriver) -> None:
        try:
            await self._deliver(driver)
        except RunLost:
            pass
        except Exception:
            log.exception("what was brought for run %s could not be read; it is looked for again", driver.run)
            await self._wait_after_failure(driver.run)
            self._call(driver.run)
            return
        if driver.is_over and not driver.schedule.ended:
            self._call(driver.run)  # it was let go meanwhile

    async def _deliver(self, driver: RunDriver) -> None:
        """Give a run that is driven here what was brought for it.

        What is said first, for an answer may start the step that looks for it; stops last: they close what is open.
        """
        await take_brought(self._contexts, driver)
        await self._take_answers(driver)
        kept = await self._contexts.get(STOP, driver.run, STOPPED_BY)
        if kept.version and not driver.is_over:
            await driver.request_stop(str(kept.value))

    async def _fetch_answers(self, driver: RunDriver) -> None:
        """Answers that were handed in for the run, and those that the log has accepted and nobody has carried yet."""
        await self._take_answers(driver)
        if self.accepted_answers is not None and driver.schedule.requests and not driver.is_over:
            await self.accepted_answers(driver)

    async def _take_answers(self, driver: RunDriver) -> None:
        for position, opened in list(driver.schedule.requests.items()):
            kept = await self._contexts.get(ANSWERS, driver.run, opened.entry.id)
            if kept.version and position in driver.schedule.requests and not driver.is_over:
                given, actor = read_answer(kept.value)
                request = opened.entry.event
                event = request.fitting(given) if isinstance(request, OutsideRequest) else None
                if event is not None:
                    await driver.answer(position, event, actor)
                else:
                    log.error("the answer to request %s is of no class that answers it here", opened.entry.id)

    async def _who_stopped(self, driver: RunDriver) -> str | None:
        """Whether somebody asked the run to stop before this worker had it."""
        if driver.opened is None or driver.is_over:
            return None
        kept = await self._contexts.get(STOP, driver.run, STOPPED_BY)
        if kept.version:
            return str(kept.value)
        return await self.who_stopped(driver.opened) if self.who_stopped is not None else None

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

    def _driver(self, lease: Lease, found: list[journal.Entry]) -> RunDriver:
        """A driver for the run.

        Raises:
            PlanwerkError: The run cannot be driven here.
        """
        opened = cast("journal.RunOpened", found[0])
        start = cast("journal.EventPublished", found[1]).event
        blueprint = self._blueprints.get(opened.blueprint)
        try:
            config = blueprint.config.model_validate(opened.config)
        except ValidationError as error:
            raise ProfileInvalid(
                opened.profile or opened.blueprint, [dict(item) for item in error.errors(include_url=False)]
            ) from error
        return RunDriver(
            self._programs.get(blueprint, type(start), type(config)),
            self._journal,
            config=config,
            fence=lease.fence,
            make_context=self._make_context,
            show_ephemeral=self._show_ephemeral,
            clock=self._clock,
            worker=self._name,
        )

    async def _break_off(self, lease: Lease, found: list[journal.Entry], error: PlanwerkError) -> bool:
        """End a run that cannot be driven here: its error says why, and the thread stays usable."""
        ending = closing_entries(found, exception_event(error_info(error)), self._clock())
        try:
            await self._journal.append(lease.run, ending, expected_version=len(found), fence=lease.fence)
        except JournalError as lost:
            log.info("%s", str(lost))
            return False
        await self._children.left_by(found)
        return True

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
