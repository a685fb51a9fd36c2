"""Runs that a run in a test asks for, in memory and on its virtual time: those it waits for and detached ones."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from planwerk.runtime.agents import (
    MAX_DEPTH,
    NamedAgents,
    child_id,
    opened_for,
    refuse_too_deep,
    start_event,
)
from planwerk.runtime.children import end_of, refusal
from planwerk.runtime.detaching import DetachedOrder, detached_opened, is_to_be_retried, next_attempt
from planwerk.runtime.driver import RunDriver
from planwerk.runtime.local import LocalRuntime
from planwerk.workflow import entries as journal
from planwerk.workflow.agents import AgentInTheLoop, Detached
from planwerk.workflow.errors import PlanwerkError
from planwerk.workflow.events import Event
from planwerk.workflow.ids import RunId

Follow = Callable[[RunDriver], Awaitable[None]]


class RunsBelow:
    """Starts them and brings their ends.

    Args:
        agents: Finds the blueprints that are asked for.
        follow: Reads a run to its end, answering what it asks people.
    """

    def __init__(self, runtime: LocalRuntime, agents: NamedAgents, follow: Follow) -> None:
        self._runtime = runtime
        self._agents = agents
        self._follow = follow
        self._children: dict[RunId, dict[int, tuple[RunDriver | None, asyncio.Task[None]]]] = {}
        self._detached: set[asyncio.Task[None]] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._orders: dict[str, asyncio.Lock] = {}
        self.asked: list[RunId] = []
        """Runs that others wait for, in the order in which they were asked for."""
        self.left: list[RunId] = []
        """Detached runs, in the order in which they began."""

    def tasks(self, driver: RunDriver) -> list[asyncio.Task[None]]:
        """What drives the runs that this run waits for."""
        return [task for _, task in self._children.get(driver.run, {}).values()]

    def ask(self, driver: RunDriver, position: int, request: journal.EventPublished) -> None:
        """Start the run that is asked for."""
        self._children.setdefault(driver.run, {})[position] = (
            None,
            self._spawn(self._child(driver, position, request)),
        )

    async def look(self, driver: RunDriver) -> None:
        """Stop what this run does not wait for any more; an error of a test in a run below is raised here."""
        below = self._children.get(driver.run, {})
        for position, (child, task) in list(below.items()):
            if task.done():
                del below[position]
                task.result()
            elif child is not None and (driver.is_over or position not in driver.schedule.requests):
                assert driver.opened is not None
                await child.request_stop(driver.opened.profile_name or driver.opened.blueprint)

    async def end(self, driver: RunDriver) -> None:
        """The run has ended: end those that it still waits for."""
        while tasks := self.tasks(driver):
            await self.look(driver)
            await asyncio.wait(tasks, timeout=0.01)

    async def _child(self, driver: RunDriver, position: int, request: journal.EventPublished) -> None:
        parent, asked = driver.opened, request.event
        assert parent is not None
        assert isinstance(asked, AgentInTheLoop)
        run = child_id(parent.run, request.id)
        try:
            refuse_too_deep(parent, asked, MAX_DEPTH)
            found = await self._agents.find(parent, asked)
            start = start_event(asked, parent, driver.start)
            opened = opened_for(asked, parent, run, found, start, self._runtime.clock(), request=request.id)
        except PlanwerkError as error:
            await _answer(driver, position, refusal(asked, error))
            return
        if asked.thread == "same":
            opened.context_thread = parent.context_thread or f"run:{parent.run}"
        child = await self._runtime.start(found.blueprint, start, opened=opened)
        self.asked.append(run)
        below = self._children[parent.run]
        below[position] = (child, below[position][1])
        await self._follow(child)
        answer = asked.fitting(end_of(run, await self._runtime.journal.read(run)))
        assert answer is not None
        await _answer(driver, position, answer)

    # Detached --------------------------------------------------------------------------------------------------------

    def detach(self, driver: RunDriver, published: journal.EventPublished) -> None:
        """Start a detached run, in its turn."""
        assert driver.opened is not None
        task = self._spawn(self._run_detached(driver.opened, driver.start, published))
        self._detached.add(task)

    async def drain(self) -> None:
        """Wait for all detached runs; an error of a test in one of them is raised here."""
        while self._detached:
            task = self._detached.pop()
            await task

    async def _run_detached(
        self, parent: journal.RunOpened, parent_start: Event | None, published: journal.EventPublished
    ) -> None:
        asked = published.event
        assert isinstance(asked, Detached)
        order = DetachedOrder.of(parent, published.id, asked)
        if await self._runtime.journal.read(order.run):
            return
        async with self._orders.setdefault(order.order_key or order.run, asyncio.Lock()):
            refuse_too_deep(parent, asked, MAX_DEPTH)
            found = await self._agents.find(parent, asked)
            start = start_event(asked, parent, parent_start)
            opened = detached_opened(order, asked, parent, found, start, self._runtime.clock())
            while not await self._runtime.journal.read(opened.run):
                driver = await self._runtime.start(found.blueprint, start, opened=opened)
                self.left.append(opened.run)
                await self._follow(driver)
                ended = (await self._runtime.journal.read(opened.run))[-1]
                if not isinstance(ended, journal.RunEnded) or not is_to_be_retried(opened, ended):
                    return
                opened, wait = next_attempt(opened, self._runtime.clock())
                await asyncio.sleep(wait)

    async def cancel(self) -> None:
        """Drop what is still at work: the test has failed."""
        left = [task for task in self._tasks if not task.done()]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.append(task)
        return task


async def _answer(driver: RunDriver, position: int, answer: Event) -> None:
    if position in driver.schedule.requests and not driver.is_over and driver.schedule.stop is None:
        await driver.answer(position, answer)
