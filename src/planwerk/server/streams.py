"""The two streams (S3.1): a workspace's log with live frames and watched runs, and one run's journal."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import aclosing
from typing import Final

from planwerk.access.actions import Action
from planwerk.access.errors import NotSignedIn
from planwerk.access.principal import Principal
from planwerk.runtime.live import LiveWatch
from planwerk.runtime.ports import RunRecord
from planwerk.server.log_entries import LogReader
from planwerk.server.parts import Parts, find_run, find_thread, find_workspace, known_run
from planwerk.server.run_entries import EntryReader
from planwerk.server.sse import EventStream, EventStreamResponse, Feeder, Recheck, StreamRegistry
from planwerk.workflow.errors import PlanwerkError
from planwerk.workflow.ids import RunId, ThreadId
from planwerk.workspace.rules.events import LogEvent, RunEnded, RunStarted
from planwerk.workspace.workspace import Workspace

FRAME_SECONDS: Final = 1 / 30
"""At most 30 live frames a second for a reader: what comes in between is joined (A8)."""


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
        self._greeted = asyncio.Event()
        self._sending_live = asyncio.Lock()

    def feeders(self, after: int | None) -> list[Feeder]:
        """What feeds the stream: the log after a place, or from its head on, and beside it what it tells to watch."""
        watch = self._parts.live.watch([])
        return [
            lambda stream: self._log(stream, after, watch),
            lambda stream: self._live(stream, watch),
            *(self._entries(record) for record in self._records),
        ]

    async def _log(self, stream: EventStream, after: int | None, watch: LiveWatch) -> None:
        head = await self._space.head_seq()
        await stream.send("hello", {"head_seq": head})
        if after is not None and after > head:
            await stream.send("reset", {"head_seq": head})
        self._greeted.set()
        begin = head if after is None or after > head else after
        reader = LogReader(self._principal, self._locale)
        try:
            await self._watch_active(watch)
            async with aclosing(self._space.subscribe(begin, self._threads)) as envelopes:
                async for envelope in envelopes:
                    await self._send_live(stream, watch)
                    await self._note(envelope.event, watch)
                    await stream.send("log", reader.wire(envelope), id=envelope.seq)
        finally:
            watch.close()

    async def _watch_active(self, watch: LiveWatch) -> None:
        """Watch what is being answered right now; a snapshot comes first."""
        for thread in self._threads or ():
            active = (await self._space.thread(thread)).active_run
            if active is not None:
                await self._follow(active, watch)

    async def _note(self, event: LogEvent, watch: LiveWatch) -> None:
        if self._threads is None:
            return
        if isinstance(event, RunStarted):
            await self._follow(event.run_id, watch)
        elif isinstance(event, RunEnded):
            watch.unfollow(event.run_id)

    async def _follow(self, run: RunId, watch: LiveWatch) -> None:
        """Watch a run of this workspace. One that is not open yet is watched once the log tells of its start.

        Clients make run ids, so what a log names is not yet this workspace's own (SRV-13).
        """
        record = await known_run(self._parts, run)
        if record is not None and record.workspace == self._space.id and record.ended_microseconds is None:
            watch.follow(run)

    async def _live(self, stream: EventStream, watch: LiveWatch) -> None:
        await self._greeted.wait()
        while True:
            await watch.wait()
            await self._send_live(stream, watch)
            await asyncio.sleep(FRAME_SECONDS)

    async def _send_live(self, stream: EventStream, watch: LiveWatch) -> None:
        """Send the frames that have come, in their order, and before what the log tells after them."""
        async with self._sending_live:
            for item in watch.drain():
                await stream.send("live", item.to_wire())

    def _entries(self, record: RunRecord) -> Feeder:
        async def feed(stream: EventStream) -> None:
            await self._greeted.wait()
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
    threads: Sequence[str] | None,
    runs: Sequence[str],
    locale: str,
    registry: StreamRegistry,
) -> EventStreamResponse:
    """The stream of a workspace; every thread and run named is asked for first, so a status is still possible."""
    named: list[ThreadId] | None = None
    if threads is not None:
        named = [(await find_thread(parts, principal, thread, Action.THREAD_READ)).summary.id for thread in threads]
    records = [await find_run(parts, principal, run, Action.RUN_READ) for run in runs]

    async def still_allowed(now: Principal) -> None:
        await find_workspace(parts, now, space.id, Action.WORKSPACE_READ)
        for thread in named or ():
            await find_thread(parts, now, thread, Action.THREAD_READ)
        for run in runs:
            await find_run(parts, now, run, Action.RUN_READ)

    feed = WorkspaceFeed(parts, principal, space, threads=named, records=records, locale=locale)
    recheck = rights_of(parts, principal, still_allowed)
    return EventStreamResponse(*feed.feeders(after), registry=registry, recheck=recheck)


def run_stream(
    parts: Parts,
    principal: Principal,
    record: RunRecord,
    *,
    after: int,
    locale: str,
    registry: StreamRegistry,
) -> EventStreamResponse:
    """The journal of one run, from a position to its end; `reset` where there is no such position."""

    async def feed(stream: EventStream) -> None:
        begin = after
        known = len(await parts.host.entries(RunId(record.run))) if after else 0
        if after > known:
            await stream.send("reset", {"position": known})
            begin = known
        reader = EntryReader(parts, principal, record, locale)
        async with aclosing(reader.follow(begin)) as envelopes:
            async for envelope in envelopes:
                await stream.send("entry", envelope, id=envelope["position"])

    async def still_allowed(now: Principal) -> None:
        await find_run(parts, now, record.run, Action.RUN_READ)

    return EventStreamResponse(feed, registry=registry, recheck=rights_of(parts, principal, still_allowed))


def rights_of(parts: Parts, principal: Principal, still_allowed: Callable[[Principal], Awaitable[None]]) -> Recheck:
    """Whether a reader may go on: she is signed in, her rights are what they were, and each thing is still hers."""

    async def recheck() -> str | None:
        try:
            now = await parts.access.recheck(principal)
            await still_allowed(now)
        except NotSignedIn:
            return "signed_out"
        except PlanwerkError as error:
            if error.http_status >= 500:
                raise
            return "no_access"
        same = (now.role, now.scopes, now.groups) == (principal.role, principal.scopes, principal.groups)
        return None if same else "rights_changed"

    return recheck
