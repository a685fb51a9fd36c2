"""Runs that a run asks for and waits for: opened, answered and stopped with it (E8.2).

Theory of operation. The id of a child is made from its request, so whoever opens it, and however often, opens one run.
The owner of the parent opens children once their requests are durable, and again when it takes the parent over: a run
leaves memory only when all it asks for is open. The owner of a child hands its end in to the parent before it gives the
child back, as an answer is handed in, and again if it died in between. What a parent that has ended, or waited too
long, has left behind is stopped; a child that was never opened is opened as stopped, so that nobody opens it later.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, cast

from planwerk.runtime.agent_requests import requests_left
from planwerk.runtime.agents import MAX_DEPTH, FindsAgents, child_id, opened_for, refuse_too_deep, start_event
from planwerk.runtime.answers import keep_answer
from planwerk.runtime.closing import closing_entries, stopped_by
from planwerk.runtime.driver import RunDriver
from planwerk.runtime.errors import JournalError, RunLost
from planwerk.runtime.ports import Clock, ContextStore, Journal, WorkQueue
from planwerk.workflow import entries as journal
from planwerk.workflow.agents import AgentEndedEvent, AgentFailedEvent, AgentInTheLoop, AgentUsage
from planwerk.workflow.errors import PlanwerkError, ScheduleError
from planwerk.workflow.events import Event, ExceptionEvent, StartEvent, StopEvent
from planwerk.workflow.ids import EventId, RunId

log = logging.getLogger(__name__)

FIRST_WAIT_SECONDS: Final = 0.1
LONGEST_WAIT_SECONDS: Final = 5.0
"""Before a child is opened or stopped again whose journal could not be written."""
BATCH: Final = 100
"""Children opened at once."""

STOP: Final = "stop"
"""Scope of what is kept of stops that came while nobody drove the run here."""
STOPPED_BY: Final = "by"
"""Key there of who stopped it."""
LEFT: Final = "left"
"""Key there of a run that is stopped because nobody waits for it any more."""

StopRun = Callable[[RunId, str], Awaitable[None]]


class Children:
    """The children of the runs that are driven in this process.

    Args:
        request_stop: Stops a run, wherever it is driven.
        max_depth: Runs in a chain of agents that ask each other, the first one counted.
    """

    def __init__(
        self,
        *,
        store: Journal,
        queue: WorkQueue,
        contexts: ContextStore,
        agents: FindsAgents,
        request_stop: StopRun,
        clock: Clock,
        max_depth: int = MAX_DEPTH,
    ) -> None:
        self._journal = store
        self._queue = queue
        self._contexts = contexts
        self._agents = agents
        self._request_stop = request_stop
        self._clock = clock
        self._max_depth = max_depth

    def look(self, driver: RunDriver) -> None:
        """Open what the run asks for now, and stop what it has waited for too long; returns at once."""
        if driver.agents.has_work and driver.agents.task is None:
            driver.agents.task = asyncio.get_running_loop().create_task(self._carry(driver))

    async def _carry(self, driver: RunDriver) -> None:
        wait = FIRST_WAIT_SECONDS
        agents = driver.agents
        try:
            while agents.has_work and not driver.is_over:
                try:
                    await self._carry_some(driver)
                    wait = FIRST_WAIT_SECONDS
                except RunLost:
                    return
                except Exception:
                    log.exception("what run %s asks agents could not be opened; trying again soon", driver.run)
                    await asyncio.sleep(wait)
                    wait = min(wait * 2, LONGEST_WAIT_SECONDS)
        finally:
            agents.task = None
        if driver.is_waiting and driver.when_waiting is not None and not driver.is_over:
            driver.when_waiting(driver)  # it could not leave memory before

    async def _carry_some(self, driver: RunDriver) -> None:
        agents = driver.agents
        for request in agents.overdue[:BATCH]:
            await self._stop(driver, [request])
            agents.overdue.remove(request)
        positions = agents.asked[:BATCH]
        await asyncio.gather(*(self._open(driver, position) for position in positions))
        del agents.asked[: len(positions)]

    async def _open(self, driver: RunDriver, position: int) -> None:
        request = driver.schedule.requests.get(position)
        if request is None or driver.is_over:
            return
        asked, parent = cast("AgentInTheLoop", request.entry.event), driver.opened
        assert parent is not None
        run = child_id(parent.run, request.entry.id)
        if position in driver.agents.found and await self._journal.read(run):
            await self._queue.enqueue(run)  # whoever opened it may have died before it was in the queue
            return
        try:
            refuse_too_deep(parent, asked, self._max_depth)
            found = await self._agents.find(parent, asked)
            start = start_event(asked, parent, driver.start)
            opened = opened_for(asked, parent, run, found, start, self._clock(), request=request.entry.id)
        except PlanwerkError as error:
            with contextlib.suppress(ScheduleError):  # the run has just stopped, or waited too long
                await driver.answer(position, refusal(asked, error))
            return
        if asked.thread == "same":
            opened.context_thread = parent.thread or parent.context_thread or f"run:{parent.run}"
        entries: list[journal.Entry] = [opened, journal.EventPublished(start, journal.BY_POSITION, opened.at)]
        # One after the other: a run in the queue without a journal would be taken out of it. Who dies in between is
        # followed by an owner that puts it in.
        with contextlib.suppress(JournalError):  # it was opened before
            await self._journal.append(run, entries, expected_version=0, fence=0)
        await self._queue.enqueue(run)

    async def left(self, driver: RunDriver) -> None:
        """Stop what a run has left behind that has ended."""
        if driver.agents.any:
            if driver.agents.task is not None:
                await asyncio.wait([driver.agents.task])
            await self._stop(driver, driver.agents.left())

    async def left_by(self, found: Sequence[journal.Entry]) -> None:
        """The same, of a run whose whole journal this is."""
        left = requests_left(found)
        if left:
            parent, start = cast("journal.RunOpened", found[0]), cast("journal.EventPublished", found[1]).event
            await self._stop_of(parent, start, left)

    async def _stop(self, driver: RunDriver, requests: Iterable[journal.EventPublished]) -> None:
        assert driver.opened is not None
        await self._stop_of(driver.opened, driver.start, requests)

    async def _stop_of(
        self, parent: journal.RunOpened, parent_start: Event | None, requests: Iterable[journal.EventPublished]
    ) -> None:
        who = parent.profile_name or parent.blueprint
        for request in requests:
            run = child_id(parent.run, request.id)
            found = await self._journal.read(run)
            if not found and await self._open_as_stopped(parent, request, run, who):
                continue
            if not found or not isinstance(found[-1], journal.RunEnded):
                await self._contexts.set(STOP, run, LEFT, True)
                await self._request_stop(run, who)
                await self._queue.enqueue(run)  # whoever opened it may have died before it was in the queue

    async def _open_as_stopped(
        self, parent: journal.RunOpened, request: journal.EventPublished, run: RunId, who: str
    ) -> bool:
        """A child that nobody has opened is recorded as stopped; False where somebody opens it meanwhile."""
        asked, now = cast("AgentInTheLoop", request.event), self._clock()
        start = asked.start if asked.start is not None else StartEvent()
        opened = opened_for(asked, parent, run, None, start, now, request=request.id)
        entries: list[journal.Entry] = [opened, journal.EventPublished(start, journal.BY_POSITION, now)]
        entries += closing_entries(entries, stopped_by(who), now)
        try:
            await self._journal.append(run, entries, expected_version=0, fence=0)
        except JournalError:
            return False
        return True

    async def hand_in_end(self, run: RunId) -> None:
        """Give the end of a child to the run that waits for it; a second time changes nothing."""
        if (await self._contexts.get(STOP, run, LEFT)).version:
            return  # nobody waits for it any more
        found = await self._journal.read(run)
        opened = found[0] if found else None
        if isinstance(opened, journal.RunOpened) and opened.parent is not None and opened.request is not None:
            parent, request = RunId(opened.parent), EventId(opened.request)
            # One after the other: who is woken finds the answer. Who dies in between is followed by an owner that
            # hands it in again.
            await keep_answer(self._contexts, parent, request, end_of(run, found), None)
            await self._queue.wake(parent)


def refusal(asked: AgentInTheLoop, error: PlanwerkError) -> Event:
    """What answers a request that no run was opened for."""
    fields = {"code": error.code, "message": error.message, "what_to_do": error.what_to_do}
    return asked.responses["Failed"].model_validate({**fields, "http_status": error.http_status})


def end_of(run: RunId, found: Sequence[journal.Entry]) -> AgentEndedEvent | AgentFailedEvent:
    """What the end of a run answers to the run that asked for it."""
    stop = next(
        entry.event
        for entry in found
        if isinstance(entry, journal.EventPublished) and isinstance(entry.event, StopEvent)
    )
    ended = found[-1]
    assert isinstance(ended, journal.RunEnded)
    summary = ended.summary
    used = AgentUsage(
        model_calls=summary.get("model_calls", 0), usage=dict(summary.get("usage", {})), cost=summary.get("cost")
    )
    if isinstance(stop, ExceptionEvent):
        return AgentFailedEvent.of_stop(run, stop, used)
    return AgentEndedEvent(run=run, stop=stop, used=used)
