"""The two streams (S3.1): a workspace's log with live frames and watched runs, and one run's journal."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextlib import aclosing
from typing import Any

from planwerk.access.actions import Action
from planwerk.access.principal import Principal
from planwerk.runtime.live import LiveWatch
from planwerk.runtime.ports import RunRecord
from planwerk.server.parts import Parts, find_run, find_thread
from planwerk.server.run_entries import EntryReader
from planwerk.server.sse import EventStream, EventStreamResponse, Feeder, StreamRegistry
from planwerk.workflow.ids import ThreadId
from planwerk.workspace.rules.events import RunEnded, RunRequested, RunStarted
from planwerk.workspace.workspace import Workspace


class WorkspaceFeed:
    """Feeds one reader of a workspace: its log, live frames of the threads shown, entries of the runs watched."""

    def __init__(
        self,
        parts: Parts,
        principal: Principal,
        space: Workspace,
        *,
        threads: Collection[ThreadId] | None,
        records: Collection[RunRecord],
        locale: str,
    ) -> None:
        self._parts = parts
        self._principal = principal
        self._space = space
        self._threads = threads
        self._records = records
        self._locale = locale
        self._watch: LiveWatch = parts.live.watch([])

    @property
    def feeders(self) -> list[Feeder]:
        """What feeds the stream beside the log."""
        return [self._live, *(self._entries(record) for record in self._records)]

    def log(self, after: int | None) -> Feeder:
        """The log after a place, or from its head on; a place that does not exist any more is told by `reset`."""

        async def feed(stream: EventStream) -> None:
            head = await self._space.head_seq()
            await stream.send("hello", {"head_seq": head})
            if after is not None and after > head:
                await stream.send("reset", {"head_seq": head})
            begin = head if after is None or after > head else after
            await self._watch_active()
            tenant = self._space.tenant
            async with aclosing(self._space.subscribe(begin, self._threads)) as envelopes:
                async for envelope in envelopes:
                    self._note(envelope.event)
                    await stream.send("log", envelope.to_wire(tenant), id=envelope.seq)

        return feed

    async def _watch_active(self) -> None:
        """Watch what is being answered right now; a snapshot comes first."""
        for thread in self._threads or ():
            view = await self._space.thread(thread)
            if view.active_run is not None:
                self._watch.follow(view.active_run)

    def _note(self, event: Any) -> None:
        if self._threads is None:
            return
        if isinstance(event, RunRequested | RunStarted):
            self._watch.follow(event.run_id)
        elif isinstance(event, RunEnded):
            self._watch.unfollow(event.run_id)

    async def _live(self, stream: EventStream) -> None:
        try:
            while True:
                await self._watch.wait()
                for item in self._watch.drain():
                    await stream.send("live", item.to_wire())
                # At most 30 frames a second for a reader: what comes in between is joined (A8).
                await asyncio.sleep(1 / 30)
        finally:
            self._watch.close()

    def _entries(self, record: RunRecord) -> Feeder:
        async def feed(stream: EventStream) -> None:
            reader = EntryReader(self._parts, self._principal, record, self._locale)
            async with aclosing(reader.follow()) as envelopes:
                async for envelope in envelopes:
                    await stream.send("entry", envelope)

        return feed


async def workspace_stream(
    parts: Parts,
    principal: Principal,
    space: Workspace,
    *,
    after: int | None,
    threads: Collection[str] | None,
    runs: Collection[str],
    locale: str,
    registry: StreamRegistry,
    keep_alive_seconds: float,
) -> EventStreamResponse:
    """The stream of a workspace; every thread and run named is asked for first, so a status is still possible."""
    named: list[ThreadId] | None = None
    if threads is not None:
        named = [(await find_thread(parts, principal, thread, Action.THREAD_READ)).view.id for thread in threads]
    records = [await find_run(parts, principal, run, Action.RUN_READ) for run in runs]
    feed = WorkspaceFeed(parts, principal, space, threads=named, records=records, locale=locale)
    return EventStreamResponse(
        feed.log(after),
        *feed.feeders,
        registry=registry,
        recheck=_recheck(parts, principal),
        keep_alive_seconds=keep_alive_seconds,
    )


def run_stream(
    parts: Parts,
    principal: Principal,
    record: RunRecord,
    *,
    after: int,
    locale: str,
    registry: StreamRegistry,
    keep_alive_seconds: float,
) -> EventStreamResponse:
    """The journal of one run, from a position to its end."""

    async def feed(stream: EventStream) -> None:
        reader = EntryReader(parts, principal, record, locale)
        async with aclosing(reader.follow(after)) as envelopes:
            async for envelope in envelopes:
                await stream.send("entry", envelope, id=envelope["position"])

    return EventStreamResponse(
        feed, registry=registry, recheck=_recheck(parts, principal), keep_alive_seconds=keep_alive_seconds
    )


def _recheck(parts: Parts, principal: Principal) -> Callable[[], Awaitable[object]]:
    return lambda: parts.access.recheck(principal)
