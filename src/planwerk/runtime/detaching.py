"""Runs that a run starts and nobody waits for: opened once per key, in order, and tried again (E8.4).

Theory of operation. A `Detached` is accepted by the append that publishes it; whoever follows all journals in commit
order (the projector, of which there is one) then opens its run. The run's id is made from its key, so a request read
again after a crash, or a second one with that key, opens nothing. Runs with one order key stand in a line that is kept
with the contexts: all are opened at once, and the first of the line alone is in the work queue. Its end lets in the
next one; a failed run is followed by its next attempt at the same place of the line. Each of these may be done twice.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self, cast

from planwerk.access.actors import SystemActor
from planwerk.runtime.agents import (
    MAX_DEPTH,
    FindsAgents,
    FoundAgent,
    asker_of,
    opened_for,
    refuse_too_deep,
    start_event,
)
from planwerk.runtime.attempts import DOUBLINGS
from planwerk.runtime.closing import closing_entries, error_info, exception_event
from planwerk.runtime.errors import JournalError
from planwerk.runtime.opening import open_run
from planwerk.runtime.ports import Clock, ContextStore, Journal, WorkQueue
from planwerk.workflow import entries as journal
from planwerk.workflow.agents import Detached
from planwerk.workflow.errors import PlanwerkError
from planwerk.workflow.events import Event, StartEvent
from planwerk.workflow.ids import EventId, RunId, derived_id

DETACHED: Final = SystemActor(name="detached")
LINE: Final = "detached"
"""Scope of the lines of runs that wait for their turn: owner is the tenant, key the order key."""


@dataclass(frozen=True, slots=True)
class DetachedOrder:
    """What a detached run is, for those that come after it."""

    run: RunId
    """Of the first attempt."""
    order_key: str | None
    retries: int
    backoff_seconds: float
    attempt: int = 1

    @classmethod
    def of(cls, parent: journal.RunOpened, event: EventId, asked: Detached) -> Self:
        """Of a request of this run."""
        run = detached_id(parent, event, asked)
        return cls(run, asked.order_key, asked.retries, asked.backoff_seconds)

    @classmethod
    def read(cls, opened: journal.RunOpened) -> Self | None:
        """As the run's first entry has it; None for a run that is not detached."""
        return cls(**opened.detached) if opened.detached is not None else None

    def write(self) -> dict[str, Any]:
        """As JSON data."""
        return {
            "run": self.run,
            "order_key": self.order_key,
            "retries": self.retries,
            "backoff_seconds": self.backoff_seconds,
            "attempt": self.attempt,
        }


def detached_id(parent: journal.RunOpened, event: EventId, asked: Detached) -> RunId:
    """The id of the run that a request starts: one per key in a tenant, or one per request."""
    if asked.key is not None:
        return RunId(derived_id(parent.tenant, LINE, asked.key))
    return RunId(derived_id(event, parent.run, LINE))


def detached_opened(
    order: DetachedOrder,
    asked: Detached,
    parent: journal.RunOpened,
    found: FoundAgent | None,
    start: Event,
    now: int,
) -> journal.RunOpened:
    """The first entry of a detached run.

    Raises:
        BlueprintTakesNoMessages: The blueprint is not started by this class of event.
    """
    opened = opened_for(asked, parent, order.run, found, start, now)
    opened.actor = DETACHED.model_dump(mode="json")
    opened.on_behalf_of = dict(asker_of(parent))
    opened.expires = None
    opened.detached = order.write()
    return opened


def is_to_be_retried(opened: journal.RunOpened, ended: journal.RunEnded) -> bool:
    """Whether a detached run that ended like this is tried again."""
    order = DetachedOrder.read(opened)
    return order is not None and ended.status == "failed" and order.attempt <= order.retries


def next_attempt(opened: journal.RunOpened, now: int) -> tuple[journal.RunOpened, float]:
    """The first entry of the next attempt, and how many seconds it has to wait."""
    order = DetachedOrder.read(opened)
    assert order is not None
    again = replace(order, attempt=order.attempt + 1)
    run = RunId(derived_id(order.run, LINE, str(again.attempt)))
    wait = order.backoff_seconds * 2 ** min(order.attempt - 1, DOUBLINGS)
    return replace(opened, run=run, at=now, detached=again.write()), wait


class Detaching:
    """Opens detached runs; called by one follower of all journals, in commit order."""

    def __init__(
        self,
        store: Journal,
        queue: WorkQueue,
        contexts: ContextStore,
        agents: FindsAgents,
        *,
        clock: Clock,
        max_depth: int = MAX_DEPTH,
    ) -> None:
        self._journal = store
        self._queue = queue
        self._contexts = contexts
        self._agents = agents
        self._clock = clock
        self._max_depth = max_depth

    async def follow(self, opened: journal.RunOpened, entries: Sequence[journal.Entry]) -> None:
        """Do what an append of this run asks for; a second time changes nothing."""
        for entry in entries:
            if isinstance(entry, journal.EventPublished) and isinstance(entry.event, Detached) and not entry.discarded:
                await self._accept(opened, entry, entry.event)
            elif isinstance(entry, journal.RunEnded) and opened.detached is not None:
                await self._ended(opened, entry)

    async def _accept(self, parent: journal.RunOpened, published: journal.EventPublished, asked: Detached) -> None:
        order = DetachedOrder.of(parent, published.id, asked)
        found = await self._journal.read(order.run)
        if not found:
            parent_start = cast("journal.EventPublished", (await self._journal.read(parent.run))[1]).event
            found = await self._first_entries(order, asked, parent, parent_start)
            if isinstance(found[-1], journal.RunEnded):
                await self._open_alone(order.run, found)
                return
        elif isinstance(found[-1], journal.RunEnded) or _order_key(found) != order.order_key:
            return  # it has had its turn, or another one has its key and stands in another line
        if order.order_key is None:
            await open_run(self._journal, self._queue, order.run, found[:2])
        else:
            await self._open_alone(order.run, found[:2])
            await self._line_up(parent.tenant, order.order_key, order.run)

    async def _first_entries(
        self, order: DetachedOrder, asked: Detached, parent: journal.RunOpened, parent_start: Event
    ) -> list[journal.Entry]:
        """What the run's journal begins with; one that cannot be run is recorded as failed."""
        now = self._clock()
        try:
            refuse_too_deep(parent, asked, self._max_depth)
            found = await self._agents.find(parent, asked)
            start = start_event(asked, parent, parent_start)
            opened = detached_opened(order, asked, parent, found, start, now)
        except PlanwerkError as error:
            if isinstance(error, JournalError):
                raise
            start = asked.start if asked.start is not None else StartEvent()
            opened = detached_opened(replace(order, retries=0), asked, parent, None, start, now)
            first: list[journal.Entry] = [opened, journal.EventPublished(start, journal.BY_POSITION, now)]
            return [*first, *closing_entries(first, exception_event(error_info(error)), now)]
        return [opened, journal.EventPublished(start, journal.BY_POSITION, now)]

    async def _open_alone(self, run: RunId, entries: Sequence[journal.Entry]) -> None:
        """Write a run's first entries without letting it in; one that was opened before stays as it is."""
        with contextlib.suppress(JournalError):
            await self._journal.append(run, entries, expected_version=0, fence=0)

    async def _ended(self, opened: journal.RunOpened, ended: journal.RunEnded) -> None:
        order = DetachedOrder.read(opened)
        assert order is not None
        if not is_to_be_retried(opened, ended):
            if order.order_key is not None:
                await self._let_in_next(opened.tenant, order.order_key, opened.run)
            return
        now = self._clock()
        again, wait = next_attempt(opened, now)
        start = cast("journal.EventPublished", (await self._journal.read(opened.run))[1])
        await self._open_alone(again.run, [again, journal.EventPublished(start.event, journal.BY_POSITION, now)])
        if order.order_key is None or await self._replace(opened.tenant, order.order_key, opened.run, again.run):
            await self._queue.enqueue(again.run, not_before_microseconds=now + round(wait * 1e6))

    # The lines -------------------------------------------------------------------------------------------------------

    async def _line_up(self, tenant: str, order_key: str, run: RunId) -> None:
        line, version = await self._line(tenant, order_key)
        if run not in line:
            line.append(run)
            await self._contexts.set(LINE, tenant, order_key, line, expected_version=version)
        if line[0] == run:
            await self._queue.enqueue(run)

    async def _let_in_next(self, tenant: str, order_key: str, ended: RunId) -> None:
        line, version = await self._line(tenant, order_key)
        if ended in line:
            line.remove(ended)
            await self._contexts.set(LINE, tenant, order_key, line, expected_version=version)
        if line:
            await self._queue.enqueue(RunId(line[0]))

    async def _replace(self, tenant: str, order_key: str, ended: RunId, again: RunId) -> bool:
        """Put the next attempt into the place of the last; False where that was done before and it has ended too."""
        line, version = await self._line(tenant, order_key)
        if ended in line:
            line[line.index(ended)] = again
            await self._contexts.set(LINE, tenant, order_key, line, expected_version=version)
        return again in line

    async def _line(self, tenant: str, order_key: str) -> tuple[list[str], int]:
        kept = await self._contexts.get(LINE, tenant, order_key)
        return list(kept.value or ()), kept.version


def _order_key(found: Sequence[journal.Entry]) -> str | None:
    order = DetachedOrder.read(cast("journal.RunOpened", found[0]))
    return order.order_key if order is not None else None
