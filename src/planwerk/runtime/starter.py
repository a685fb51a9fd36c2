"""Carries what the log asks for into the journals (E7.9): runs to open, one after another in a thread, stops,
answers, what is said into a run.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from typing import Any, Final

from planwerk.access.actors import SystemActor
from planwerk.access.ids import TenantId
from planwerk.messages.events import UserMessageEvent
from planwerk.runtime.answers import hand_in
from planwerk.runtime.closing import stopped_by
from planwerk.runtime.opening import open_run
from planwerk.runtime.ports import Clock, ContextStore, Journal, WorkQueue
from planwerk.runtime.profiles import ProfileDirectory
from planwerk.runtime.steering import bring
from planwerk.runtime.tally import Tally
from planwerk.runtime.worker import Worker
from planwerk.workflow import entries as journal
from planwerk.workflow.codec import read_event
from planwerk.workflow.composition import compose
from planwerk.workflow.errors import PlanwerkError
from planwerk.workflow.events import Event, ExceptionEvent, StopEvent, UnknownEvent
from planwerk.workflow.ids import RunId, ThreadId, WorkspaceId
from planwerk.workspace.ports import FeedItem
from planwerk.workspace.rules.errors import NotFound
from planwerk.workspace.rules.events import RequestAnswered, RunEnded, RunRequested, RunSteered, StopRequested
from planwerk.workspace.views import RunView
from planwerk.workspace.workspace import Workspace
from planwerk.workspace.workspaces import Workspaces

log = logging.getLogger(__name__)

CURSOR: Final = "starter"
STARTER: Final = SystemActor(name="starter")
BATCH: Final = 200
MAX_TRIES: Final = 3
FIRST_WAIT_SECONDS: Final = 0.1
LONGEST_WAIT_SECONDS: Final = 10.0


class StartUnreadable(PlanwerkError):
    """The start event in the log is none that this release can read."""

    code = "start_unreadable"
    http_status = 409

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the stored start event {name} cannot be read by this release (E1.10).",
            what_to_do="Ask again; with the release that stored it, it could be answered.",
        )


class StartFailed(PlanwerkError):
    """A run could not be opened, for a reason that its blueprint and its profile are not to blame for."""

    code = "start_failed"

    def __init__(self, error: Exception) -> None:
        super().__init__(
            f"the run could not be opened: {type(error).__name__}: {str(error)[:500]}.",
            what_to_do="Ask again; the server's log says more.",
        )


class Starter:
    """Follows the log and opens what it asks for; one process of an installation at a time (`ownership.py`)."""

    def __init__(
        self,
        *,
        workspaces: Workspaces,
        profiles: ProfileDirectory,
        store: Journal,
        queue: WorkQueue,
        contexts: ContextStore,
        worker: Worker,
        clock: Clock,
    ) -> None:
        self._workspaces = workspaces
        self._profiles = profiles
        self._journal = store
        self._queue = queue
        self._contexts = contexts
        self._worker = worker
        self._clock = clock
        self._position = 0
        self._opened: set[RunId] = set()
        """Runs opened here of whose end the log has not told yet: each is opened once, however often it is asked."""
        self._begun = False
        self._tries = 0
        """How often the item after the position has failed."""
        self._one_at_a_time = asyncio.Lock()
        self._fence: int | None = None

    cursor_name: str = CURSOR

    def own(self, fence: int | None) -> None:
        """Move the cursor under this fence, and begin at what is stored: another process may have moved it."""
        self._fence, self._begun = fence, False

    async def run(self) -> None:
        """Follow until cancelled; an error is logged and tried again.

        A run that cannot be opened in several tries is ended with that error, so that those behind it go on.
        """
        wait = FIRST_WAIT_SECONDS
        while True:
            try:
                async with aclosing(self._workspaces.changes()) as changes:
                    async for _ in changes:
                        await self.catch_up()
                        wait = FIRST_WAIT_SECONDS
            except asyncio.CancelledError:
                raise
            except Exception:
                log.exception("what the log asks for could not be started; trying again in %g s", wait)
                await asyncio.sleep(wait)
                wait = min(wait * 2, LONGEST_WAIT_SECONDS)

    async def catch_up(self) -> None:
        """Do what the log has asked for since the cursor; whoever calls it meanwhile waits its turn."""
        async with self._one_at_a_time:
            if not self._begun:
                self._position = await self._workspaces.storage.cursor(CURSOR)
                self._begun = True
            await self._read_on()

    async def _read_on(self) -> None:
        storage = self._workspaces.storage
        while True:
            items = await storage.feed(self._position, BATCH)
            moved = False
            looked_at: set[ThreadId] = set()
            for item in items:
                moved |= await self._take_or_give_up(item, looked_at)
                self._position = item.position
            if moved:
                await storage.save_cursor(CURSOR, self._position, fence=self._fence)
            if len(items) < BATCH:
                return

    async def _take_or_give_up(self, item: FeedItem, looked_at: set[ThreadId]) -> bool:
        try:
            moved = await self._take(item, looked_at)
        except Exception as error:
            self._tries += 1
            if self._tries < MAX_TRIES:
                raise
            log.exception("what the log asks for at %d cannot be done", item.position)
            moved = await self._give_up(item, error)
        self._tries = 0
        return moved

    async def _give_up(self, item: FeedItem, error: Exception) -> bool:
        """End the run that cannot be opened; a stop that cannot be carried out is found by the run's next owner."""
        thread = item.envelope.thread
        if isinstance(item.envelope.event, RequestAnswered):
            raise error  # an accepted answer is carried however long that takes: its run waits for nothing else
        # What is said into a run and cannot be brought there gets a run of its own when that one ends.
        if thread is not None and not isinstance(item.envelope.event, StopRequested | RunSteered):
            space = self._workspaces.of(item.tenant, item.envelope.workspace, STARTER)
            run = await space.active_run(thread)
            if run is not None and run.status not in {"running", "waiting"}:
                await self._refuse(space, run, StartFailed(error))
        return True

    async def _take(self, item: FeedItem, looked_at: set[ThreadId]) -> bool:
        """Do what an item asks for.

        Args:
            looked_at: Threads whose next run was opened since the item was read, if there was one: they need no
                second look, for what is looked at is the thread as it is now, not as it was at the item.
        """
        envelope = item.envelope
        thread = envelope.thread
        if thread is None:
            return False
        match envelope.event:
            case RunRequested() | RunEnded():
                if isinstance(envelope.event, RunEnded):
                    self._opened.discard(envelope.event.run_id)
                if thread not in looked_at:
                    await self._open_next(self._workspaces.of(item.tenant, envelope.workspace, STARTER), thread)
                    looked_at.add(thread)
            case StopRequested(run_id=run):
                space = self._workspaces.of(item.tenant, envelope.workspace, STARTER)
                await self._stop(space, run, envelope.actor.name)
            case RequestAnswered(run_id=run, request_id=request, response=response):
                await hand_in(self._contexts, self._queue, run, request, read_event(response), envelope.actor)
            case RunSteered(run_id=run, message_id=message):
                space = self._workspaces.of(item.tenant, envelope.workspace, STARTER)
                said = await space.said(message)
                if said:
                    await bring(self._contexts, self._queue, run, message, said, envelope.actor)
            case _:
                return False
        return True

    async def _open_next(self, space: Workspace, thread: ThreadId) -> None:
        """Open the thread's first pending run, if it is not open yet: those behind it wait for its end."""
        run = await space.active_run(thread)
        if run is None or run.status == "running" or run.id in self._opened:
            return
        entries = await self._first_entries(space, run)
        if entries is not None:
            await open_run(self._journal, self._queue, run.id, entries)
            self._opened.add(run.id)

    async def _first_entries(self, space: Workspace, run: RunView) -> list[journal.Entry] | None:
        """What the run's journal begins with, and ends with where it was stopped before its turn came."""
        opened = await self._opened_with(space, run)
        if opened is None:
            return None
        first, start = opened
        entries: list[journal.Entry] = [first, journal.EventPublished(start, journal.BY_POSITION, first.at)]
        if run.stop_requested_by is not None:
            entries += self._ended_at_once(stopped_by(run.stop_requested_by.name), "stopped")
        return entries

    async def _opened_with(self, space: Workspace, run: RunView) -> tuple[journal.RunOpened, Event] | None:
        """What the run is opened with; one that cannot be opened is journaled as failed, so its thread goes on."""
        try:
            profile = await self._profiles.get(space.tenant, run.profile)
            start = await self._start_event(space, run)
            profile.refuse_unless_started_by(type(start))
        except PlanwerkError as error:
            await self._refuse(space, run, error)
            return None
        thread = await space.summary(run.thread)
        locale = getattr(start, "locale", None)
        return (
            journal.RunOpened(
                run=run.id,
                at=self._clock(),
                blueprint=profile.data.blueprint,
                fingerprint=compose(profile.blueprint, type(start)).fingerprint,
                config=dict(profile.data.config),
                actor=run.requested_by.model_dump(mode="json"),
                tenant=space.tenant,
                workspace=space.id,
                thread=run.thread,
                message=run.message,
                profile=profile.slug,
                profile_name=profile.data.name.text(locale),
                profile_version=profile.version,
                profile_description=profile.data.description.text(locale),
                locale=locale,
                titled=thread.title is not None and thread.title_source != "fallback",
            ),
            start,
        )

    async def _start_event(self, space: Workspace, run: RunView) -> Event:
        """The start event with its history: the path from the root to the message (A1.6)."""
        history = await space.history(run.message)
        data: dict[str, Any] = {"type": "UserMessageEvent", "family": "both", **(run.start or {})}
        if data["type"] == UserMessageEvent.event_type:
            data["messages"] = []
            event = read_event(data)
            if not isinstance(event, UserMessageEvent):
                raise StartUnreadable(str(data["type"]))
            fields = {name: getattr(event, name) for name in UserMessageEvent.model_fields if name != "messages"}
            return UserMessageEvent(messages=history, **fields)
        event = read_event(data)
        if isinstance(event, UnknownEvent):
            raise StartUnreadable(str(data["type"]))
        return event

    async def _refuse(self, space: Workspace, run: RunView, error: PlanwerkError) -> None:
        start = UserMessageEvent(messages=())
        opened = journal.RunOpened(
            run=run.id,
            at=self._clock(),
            blueprint=run.blueprint or "",
            fingerprint="",
            config={},
            actor=run.requested_by.model_dump(mode="json"),
            tenant=space.tenant,
            workspace=space.id,
            thread=run.thread,
            message=run.message,
            profile=run.profile,
            profile_name=run.profile,
            profile_version=run.profile_version,
        )
        stop = ExceptionEvent(
            code=error.code, message=error.message, what_to_do=error.what_to_do, http_status=error.http_status
        )
        entries: list[journal.Entry] = [opened, journal.EventPublished(start, journal.BY_POSITION, opened.at)]
        await open_run(self._journal, self._queue, run.id, [*entries, *self._ended_at_once(stop, "failed")])
        self._opened.add(run.id)

    def _ended_at_once(self, stop: StopEvent, status: Any) -> list[journal.Entry]:
        now = self._clock()
        info = None
        if isinstance(stop, ExceptionEvent):
            info = journal.ErrorInfo(stop.code, stop.message, stop.what_to_do, stop.error_type, stop.http_status)
        return [
            journal.EventPublished(stop, journal.BY_POSITION, now),
            journal.StopReached(3, now),
            journal.RunEnded(status, now, info, (), Tally().summary()),
        ]

    async def _stop(self, space: Workspace, run: RunId, who: str) -> None:
        """Carry a stop to the run; one that is not open yet is opened as stopped when its turn comes."""
        try:
            known = await space.run(run)
        except NotFound:
            return
        if known.ended is not None or known.status == "queued":
            return
        if known.status == "requested" and run not in self._opened and not await self._journal.read(run):
            await self._open_next(space, known.thread)
            return
        await self._worker.request_stop(run, who)


async def who_stopped(workspaces: Workspaces, opened: journal.RunOpened) -> str | None:
    """Who asked a run to stop, by the log: for a worker that takes it over after a stop was carried to another."""
    if opened.workspace is None or opened.thread is None:
        return None
    space = workspaces.of(TenantId(opened.tenant), WorkspaceId(opened.workspace), STARTER)
    try:
        run = await space.run(opened.run)
    except NotFound:
        return None
    return run.stop_requested_by.name if run.stop_requested_by is not None else None
