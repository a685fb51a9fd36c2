"""Carries what the journals report into the log (E7.9): starts, titles, replies, ends.

It follows all journals in commit order with a stored cursor that moves in the same transaction as the facts, so each is
recorded once, whatever dies in between. Nobody else writes facts of runs to the log.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic_ai.messages import ModelMessage

from planwerk import locales
from planwerk.access.actors import Actor, AgentActor
from planwerk.access.ids import TenantId
from planwerk.messages.events import (
    AnswerCheckpointEvent,
    AnswerInterruptedEvent,
    FollowUpsSuggestedEvent,
    LLMStopEvent,
    RefusalStopEvent,
    TitleSuggestedEvent,
    UserMessageEvent,
)
from planwerk.messages.first_words import first_words
from planwerk.messages.prompts import first_user_prompt, last_user_prompt
from planwerk.runtime.ports import FeedItem, Journal, RunRecord, RunRecords
from planwerk.workflow import entries as journal
from planwerk.workflow.codec import wire_type
from planwerk.workflow.events import Event, ExceptionEvent, StopEvent
from planwerk.workflow.ids import MessageId, RunId, ThreadId, WorkspaceId
from planwerk.workspace.ports import CursorMove
from planwerk.workspace.rules.errors import NotFound
from planwerk.workspace.rules.events import ErrorInfo, MessagePosted, RunEnded, RunStarted, RunUsage, ThreadRenamed
from planwerk.workspace.rules.facts import Fact, RunFact
from planwerk.workspace.workspaces import Workspaces

log = logging.getLogger(__name__)

CURSOR: Final = "projector"
BATCH: Final = 200
FIRST_WAIT_SECONDS: Final = 0.1
LONGEST_WAIT_SECONDS: Final = 10.0
ACTOR: Final[TypeAdapter[Actor]] = TypeAdapter(Actor)


@dataclass(slots=True)
class RunMemory:
    """What of a run's earlier entries its later facts need."""

    opened: journal.RunOpened
    question: str = ""
    """The thread's first."""
    title: str = ""
    follow_ups: tuple[str, ...] = ()
    text_so_far: str = ""
    stop: Event | None = None
    replied: bool = False


@dataclass(slots=True)
class Projection:
    """The facts of some entries, with the model messages of the replies among them."""

    facts: list[Fact] = field(default_factory=list[Fact])
    turns: dict[MessageId, Sequence[ModelMessage]] = field(default_factory=dict[MessageId, Sequence[ModelMessage]])
    record: RunRecord | None = None


def project(memory: RunMemory, entry: journal.Entry, into: Projection) -> None:
    """Add the facts of one entry. Pure but for `memory`, which learns what later entries need."""
    match entry:
        case journal.RunOpened():
            _started(memory, into)
        case journal.EventPublished(event) if not entry.discarded:
            _published(memory, event, entry.at, into)
        case journal.StopReached(_, at) if not isinstance(memory.stop, ExceptionEvent):
            _replied(memory, at, into)
        case journal.RunEnded():
            _ended(memory, entry, into)
        case _:
            pass


def _project_or_leave(memory: RunMemory, entry: journal.Entry, into: Projection) -> None:
    """The same; a fact that cannot be made of an entry is left out, so that all runs behind it are still reported."""
    try:
        project(memory, entry, into)
    except Exception:
        log.exception("an entry of run %s could not be reported: %r", memory.opened.run, type(entry).__name__)


def _started(memory: RunMemory, into: Projection) -> None:
    opened = memory.opened
    into.record = record_of(opened)
    message = MessageId(opened.message) if opened.message else None
    started = RunStarted(
        run_id=opened.run,
        message_id=message,
        profile=opened.profile or "",
        profile_version=opened.profile_version,
        profile_name=opened.profile_name or "",
    )
    _tell(memory, started, opened.at, into)


def _published(memory: RunMemory, event: Event, at: int, into: Projection) -> None:
    match event:
        case UserMessageEvent():
            memory.question = first_user_prompt(event.messages)
            memory.title = memory.title or first_words(last_user_prompt(event.messages))
            if into.record is not None:  # the start event, in the append that opened the run
                into.record = replace(into.record, title=memory.title)
        case TitleSuggestedEvent(title=title):
            _tell(memory, ThreadRenamed(title=title, source="suggested"), at, into)
        case FollowUpsSuggestedEvent(questions=questions):
            memory.follow_ups = questions
        case AnswerCheckpointEvent(text=text) | AnswerInterruptedEvent(text=text):
            memory.text_so_far = text
        case _:
            if isinstance(event, StopEvent) or wire_type(event).endswith("StopEvent"):
                memory.stop = memory.stop or event


def _replied(memory: RunMemory, at: int, into: Projection) -> None:
    """The run's one reply, whose message id is the run's id: at the stop, and for a run that failed or was stopped at
    its end, when what a broken-off answer had said is known.
    """
    if memory.replied:
        return
    memory.replied = True
    opened, stop = memory.opened, memory.stop
    content, messages, error = "", list[ModelMessage](), None
    match stop:
        case LLMStopEvent(answer=answer):
            content, messages = answer.text, [answer.response]
        case RefusalStopEvent(text=text):
            content = text
        case ExceptionEvent():
            content = memory.text_so_far
            error = ErrorInfo(code=stop.code, message=stop.message, what_to_do=stop.what_to_do)
        case _:
            content = str(getattr(stop, "text", "") or "")
    reply = MessagePosted(
        message_id=MessageId(opened.run),
        parent_id=MessageId(opened.message) if opened.message else None,
        role="assistant",
        content=content,
        run_id=opened.run,
        incomplete=error is not None,
        error=error,
        follow_ups=memory.follow_ups,
    )
    if messages:
        into.turns[reply.message_id] = messages
    _tell(memory, reply, at, into)


def _ended(memory: RunMemory, entry: journal.RunEnded, into: Projection) -> None:
    opened, summary = memory.opened, entry.summary
    _replied(memory, entry.at, into)
    usage: dict[str, int] = summary.get("usage", {})
    error = entry.error
    title = first_words(memory.question) or locales.text("threads.untitled", opened.locale or locales.DEFAULT_LOCALE)
    _tell(memory, ThreadRenamed(title=title, source="fallback"), entry.at, into)
    ended = RunEnded(
        run_id=opened.run,
        status=entry.status,
        error=ErrorInfo(code=error.code, message=error.message, what_to_do=error.what_to_do) if error else None,
        usage=RunUsage(input_tokens=usage.get("input_tokens", 0), output_tokens=usage.get("output_tokens", 0)),
        cost=Decimal(summary["cost"]) if summary.get("cost") is not None else None,
        duration_seconds=(entry.at - opened.at) / 1e6,
        steps=summary.get("executions", 0),
    )
    _tell(memory, ended, entry.at, into)
    into.record = replace(
        record_of(opened),
        title=memory.title,
        status=entry.status,
        ended_microseconds=entry.at,
        error={"code": error.code, "message": error.message, "what_to_do": error.what_to_do} if error else None,
        summary=dict(summary),
    )


def record_of(opened: journal.RunOpened) -> RunRecord:
    """The record of a run that has just been opened."""
    return RunRecord(
        run=opened.run,
        tenant=opened.tenant,
        workspace=opened.workspace,
        thread=opened.thread,
        message=opened.message,
        profile=opened.profile,
        profile_name=opened.profile_name,
        profile_version=opened.profile_version,
        blueprint=opened.blueprint,
        status="running",
        actor=opened.actor,
        started_microseconds=opened.at,
        expires_microseconds=opened.expires,
        forked_from=opened.forked_from,
        forked_at=opened.forked_at,
    )


def _tell(memory: RunMemory, event: RunFact, at: int, into: Projection) -> None:
    opened = memory.opened
    if opened.thread is None or opened.workspace is None:
        return
    thread = ThreadId(opened.thread)
    actor = AgentActor(thread_id=thread, run_id=opened.run, name=opened.profile_name or opened.blueprint)
    time = datetime.fromtimestamp(at / 1e6, UTC)
    into.facts.append(Fact(thread=thread, run=opened.run, actor=actor, event=event, time=time))


class Projector:
    """Follows the journals and records their facts; one process of an installation at a time (`ownership.py`)."""

    def __init__(self, store: Journal, records: RunRecords, workspaces: Workspaces) -> None:
        self._journal = store
        self._records = records
        self._workspaces = workspaces
        self._memories: dict[RunId, RunMemory] = {}
        self._stored = 0
        """The cursor as it is stored."""
        self._read = 0
        """How far the journals have been read; what lies between has no facts."""
        self._begun = False
        self._one_at_a_time = asyncio.Lock()
        self._fence: int | None = None

    cursor_name: str = CURSOR

    def own(self, fence: int | None) -> None:
        """Move the cursor under this fence, and begin at what is stored: another process may have moved it."""
        self._fence, self._begun = fence, False

    async def run(self) -> None:
        """Project until cancelled; an error is logged and tried again, nothing is skipped."""
        wait = FIRST_WAIT_SECONDS
        while True:
            try:
                async with aclosing(self._journal.changes()) as changes:
                    async for _ in changes:
                        await self.catch_up()
                        wait = FIRST_WAIT_SECONDS
            except asyncio.CancelledError:
                raise
            except Exception:
                log.exception("facts of runs could not be recorded; trying again in %g s", wait)
                await asyncio.sleep(wait)
                wait = min(wait * 2, LONGEST_WAIT_SECONDS)

    async def _begin(self) -> None:
        """Start from the stored cursor; what runs had been remembered is read anew."""
        self._memories.clear()
        self._stored = self._read = await self._workspaces.storage.cursor(CURSOR)
        self._begun = True

    async def catch_up(self) -> None:
        """Record what has been appended since the cursor; whoever calls it meanwhile waits its turn."""
        async with self._one_at_a_time:
            if not self._begun:
                await self._begin()
            try:
                await self._read_on()
            except BaseException:
                self._begun = False
                raise

    async def _read_on(self) -> None:
        while True:
            items = await self._journal.feed(self._read, BATCH)
            for item in items:
                await self._project(item)
                self._read = item.feed
            if len(items) < BATCH:
                return

    async def _project(self, item: FeedItem) -> None:
        memory = await self._memory(item)
        projection = Projection()
        if memory is not None:
            for entry in item.entries:
                _project_or_leave(memory, entry, projection)
        if projection.record is not None:
            await self._records.put(projection.record)
        if projection.facts and memory is not None:
            opened = memory.opened
            try:
                await self._workspaces.record(
                    TenantId(opened.tenant),
                    WorkspaceId(opened.workspace or ""),
                    projection.facts,
                    turns=projection.turns,
                    cursor=CursorMove(CURSOR, self._stored, item.feed, self._fence),
                )
            except NotFound as gone:
                log.warning("run %s has no log to report to: %s", item.run, gone)
                await self._workspaces.storage.save_cursor(CURSOR, item.feed, fence=self._fence)
            self._stored = item.feed
        elif isinstance(item.entries[-1], journal.RunEnded) or item.feed - self._stored >= BATCH:
            await self._workspaces.storage.save_cursor(CURSOR, item.feed, fence=self._fence)
            self._stored = item.feed
        if isinstance(item.entries[-1], journal.RunEnded):
            self._memories.pop(item.run, None)

    async def _memory(self, item: FeedItem) -> RunMemory | None:
        """What is known of the run before this append; read back from its journal after a restart."""
        known = self._memories.get(item.run)
        if known is not None:
            return known
        first: Any = item.entries[0]
        earlier: list[journal.Entry] = []
        if item.first_position > 1:
            earlier = (await self._journal.read(item.run))[: item.first_position - 1]
            first = earlier[0]
        if not isinstance(first, journal.RunOpened):
            return None
        memory = self._memories[item.run] = RunMemory(first)
        ignored = Projection()
        for entry in earlier:
            _project_or_leave(memory, entry, ignored)
        return memory
