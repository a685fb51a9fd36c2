"""Carries what the log asks for into the journals (E7.9): runs to open, one after another in a thread, and stops."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from typing import Any, Final

from planwerk.access.actors import SystemActor
from planwerk.access.ids import TenantId
from planwerk.messages.events import UserMessageEvent
from planwerk.runtime.closing import stopped_by
from planwerk.runtime.opening import open_run
from planwerk.runtime.ports import Clock, Journal, WorkQueue
from planwerk.runtime.profiles import ProfileDirectory
from planwerk.runtime.tally import Tally
from planwerk.runtime.worker import Worker
from planwerk.workflow import entries as journal
from planwerk.workflow.codec import read_event
from planwerk.workflow.composition import compose
from planwerk.workflow.errors import PlanwerkError
from planwerk.workflow.events import Event, ExceptionEvent, StopEvent, UnknownEvent
from planwerk.workflow.ids import EventId, RunId, ThreadId, WorkspaceId, new_id
from planwerk.workspace.ports import FeedItem
from planwerk.workspace.rules.errors import NotFound
from planwerk.workspace.rules.events import RunEnded, RunRequested, StopRequested
from planwerk.workspace.views import RunView, ThreadView
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
        worker: Worker,
        clock: Clock,
    ) -> None:
        self._workspaces = workspaces
        self._profiles = profiles
        self._journal = store
        self._queue = queue
        self._worker = worker
        self._clock = clock
        self._position = 0
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
            for item in items:
                moved |= await self._take_or_give_up(item)
                self._position = item.position
            if moved:
                await storage.save_cursor(CURSOR, self._position, fence=self._fence)
            if len(items) < BATCH:
                return

    async def _take_or_give_up(self, item: FeedItem) -> bool:
        try:
            moved = await self._take(item)
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
        if thread is not None and not isinstance(item.envelope.event, StopRequested):
            view = await self._thread(item.tenant, item.envelope.workspace, thread)
            run = next((run for run in view.runs if run.id == view.active_run), None) if view is not None else None
            if view is not None and run is not None and run.status != "running":
                await self._refuse(item.tenant, item.envelope.workspace, view, run, StartFailed(error))
        return True

    async def _take(self, item: FeedItem) -> bool:
        envelope = item.envelope
        thread = envelope.thread
        if thread is None:
            return False
        match envelope.event:
            case RunRequested() | RunEnded():
                await self._open_next(item.tenant, envelope.workspace, thread)
            case StopRequested(run_id=run):
                await self._stop(item.tenant, envelope.workspace, thread, run, str(envelope.actor.name))
            case _:
                return False
        return True

    async def _thread(self, tenant: TenantId, workspace: WorkspaceId, thread: ThreadId) -> ThreadView | None:
        try:
            return await self._workspaces.of(tenant, workspace, STARTER).thread(thread)
        except NotFound:
            return None

    async def _open_next(self, tenant: TenantId, workspace: WorkspaceId, thread: ThreadId) -> None:
        """Open the thread's first pending run, if it is not open yet: those behind it wait for its end."""
        view = await self._thread(tenant, workspace, thread)
        if view is None or view.active_run is None:
            return
        run = next(run for run in view.runs if run.id == view.active_run)
        if run.status == "running":
            return
        opened = await self._opened(tenant, workspace, view, run)
        if opened is None:
            return
        first, start = opened
        entries: list[journal.Entry] = [first, journal.EventPublished(start, EventId(new_id()), first.at)]
        if run.stop_requested:
            entries += self._ended_at_once(stopped_by(run.requested_by.name), "stopped")
        await open_run(self._journal, self._queue, run.id, entries)

    async def _opened(
        self, tenant: TenantId, workspace: WorkspaceId, view: ThreadView, run: RunView
    ) -> tuple[journal.RunOpened, Event] | None:
        """The run's first entries; a run that cannot be opened is journaled as failed, so its thread goes on."""
        try:
            profile = await self._profiles.get(tenant, run.profile)
            start = await self._start_event(tenant, workspace, run)
            profile.refuse_unless_started_by(type(start))
        except PlanwerkError as error:
            await self._refuse(tenant, workspace, view, run, error)
            return None
        locale = getattr(start, "locale", None)
        return (
            journal.RunOpened(
                run=run.id,
                at=self._clock(),
                blueprint=profile.data.blueprint,
                fingerprint=compose(profile.blueprint, type(start)).fingerprint,
                config=dict(profile.data.config),
                actor=run.requested_by.model_dump(mode="json"),
                tenant=tenant,
                workspace=workspace,
                thread=view.id,
                message=run.message,
                profile=profile.slug,
                profile_name=profile.data.name.text(locale),
                profile_version=profile.version,
                profile_description=profile.data.description.text(locale),
                locale=locale,
                titled=view.title is not None and view.title_source != "fallback",
            ),
            start,
        )

    async def _start_event(self, tenant: TenantId, workspace: WorkspaceId, run: RunView) -> Event:
        """The start event with its history: the path from the root to the message (A1.6)."""
        history = await self._workspaces.of(tenant, workspace, STARTER).history(run.message)
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

    async def _refuse(
        self, tenant: TenantId, workspace: WorkspaceId, view: ThreadView, run: RunView, error: PlanwerkError
    ) -> None:
        start = UserMessageEvent(messages=())
        opened = journal.RunOpened(
            run=run.id,
            at=self._clock(),
            blueprint=run.blueprint or "",
            fingerprint="",
            config={},
            actor=run.requested_by.model_dump(mode="json"),
            tenant=tenant,
            workspace=workspace,
            thread=view.id,
            message=run.message,
            profile=run.profile,
            profile_name=run.profile,
            profile_version=run.profile_version,
        )
        stop = ExceptionEvent(
            code=error.code, message=error.message, what_to_do=error.what_to_do, http_status=error.http_status
        )
        entries: list[journal.Entry] = [opened, journal.EventPublished(start, EventId(new_id()), opened.at)]
        await open_run(self._journal, self._queue, run.id, [*entries, *self._ended_at_once(stop, "failed")])

    def _ended_at_once(self, stop: StopEvent, status: Any) -> list[journal.Entry]:
        now = self._clock()
        info = None
        if isinstance(stop, ExceptionEvent):
            info = journal.ErrorInfo(stop.code, stop.message, stop.what_to_do, stop.error_type, stop.http_status)
        return [
            journal.EventPublished(stop, EventId(new_id()), now),
            journal.StopReached(3, now),
            journal.RunEnded(status, now, info, (), Tally().summary()),
        ]

    async def _stop(self, tenant: TenantId, workspace: WorkspaceId, thread: ThreadId, run: RunId, who: str) -> None:
        """Carry a stop to the run; one that is not open yet is opened as stopped when its turn comes."""
        view = await self._thread(tenant, workspace, thread)
        known = next((found for found in view.runs if found.id == run), None) if view is not None else None
        if known is None or known.ended is not None:
            return
        if known.status == "queued":
            return
        if known.status == "requested" and not await self._journal.read(run):
            await self._open_next(tenant, workspace, thread)
            return
        await self._worker.request_stop(run, who)


async def who_stopped(workspaces: Workspaces, opened: journal.RunOpened) -> str | None:
    """Who asked a run to stop, by the log: for a worker that takes it over after a stop was carried to another."""
    if opened.workspace is None or opened.thread is None:
        return None
    space = workspaces.of(TenantId(opened.tenant), WorkspaceId(opened.workspace), STARTER)
    try:
        view = await space.thread(ThreadId(opened.thread))
    except NotFound:
        return None
    run = next((run for run in view.runs if run.id == opened.run), None)
    return run.requested_by.name if run is not None and run.stop_requested else None
