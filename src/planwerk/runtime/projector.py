"""Carries what the journals report into the log (E7.9): starts, titles, replies, ends.

It follows all journals in commit order with a stored cursor that moves in the same transaction as the facts, so each is
recorded once, whatever dies in between. Nobody else writes facts of runs to the log.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
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
    SteeringMessageEvent,
    TitleSuggestedEvent,
    UserMessageEvent,
)
from planwerk.messages.first_words import first_words
from planwerk.messages.prompts import first_user_prompt, last_user_prompt
from planwerk.runtime.agents import asker_of
from planwerk.runtime.detaching import Detaching
from planwerk.runtime.ports import (
    FeedItem,
    Journal,
    RequestRecord,
    RequestStatus,
    RunRecord,
    RunRecords,
    RunRequests,
)
from planwerk.workflow import entries as journal
from planwerk.workflow.codec import wire_family, wire_type, write_event
from planwerk.workflow.events import Event, ExceptionEvent, StopEvent
from planwerk.workflow.ids import MessageId, RunId, ThreadId, WorkspaceId
from planwerk.workflow.locale_string import localized
from planwerk.workflow.people import AskPersonEvent
from planwerk.workflow.requests import OutsideRequest
from planwerk.workspace.ports import CursorMove
from planwerk.workspace.rules.errors import NotFound
from planwerk.workspace.rules.events import (
    ErrorInfo,
    MessagePosted,
    RequestClosed,
    RequestEnd,
    RequestOpened,
    RunEnded,
    RunPaused,
    RunResumed,
    RunStarted,
    RunUsage,
    SteeringTaken,
    ThreadRenamed,
)
from planwerk.workspace.rules.facts import Fact, RunFact
from planwerk.workspace.workspaces import Workspaces

log = logging.getLogger(__name__)

CURSOR: Final = "projector"
TOLD_WAIT_MICROSECONDS: Final = 5_000_000
"""A run that goes on by itself before this is not said to wait."""
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
    position: int = 0
    """Of the last entry."""
    working: int = 0
    """Executions in flight."""
    requests: dict[int, journal.EventPublished] = field(default_factory=dict[int, journal.EventPublished])
    """Open requests to people, agents and timers, by position."""
    is_waiting: bool = False
    """Whether it was told that the run waits."""
    said: dict[int, MessageId] = field(default_factory=dict[int, MessageId])
    """What was said into it and no step has taken yet, by position."""


@dataclass(frozen=True, slots=True)
class Closing:
    """How a request to a person ended."""

    status: RequestStatus
    at: int
    answer: Mapping[str, Any] | None = None
    answered_by: Mapping[str, Any] | None = None


@dataclass(slots=True)
class Projection:
    """The facts of some entries, with the model messages of the replies among them."""

    facts: list[Fact] = field(default_factory=list[Fact])
    turns: dict[MessageId, Sequence[ModelMessage]] = field(default_factory=dict[MessageId, Sequence[ModelMessage]])
    record: RunRecord | None = None
    requests: dict[str, RequestRecord] = field(default_factory=dict[str, RequestRecord])
    """Requests to people that were opened, by id."""
    closed: dict[str, Closing] = field(default_factory=dict[str, Closing])
    """Requests to people that were closed, by id, and how."""


def project(memory: RunMemory, entry: journal.Entry, into: Projection) -> None:
    """Add the facts of one entry. Pure but for `memory`, which learns what later entries need."""
    memory.position += 1
    match entry:
        case journal.RunOpened():
            _started(memory, into)
        case journal.EventPublished(event) if not entry.discarded:
            _published(memory, event, entry.at, into)
            if entry.answers is not None or event.answered_by:
                _asked_or_answered(memory, entry, into)
            if isinstance(event, SteeringMessageEvent) and entry.execution is None:
                memory.said[memory.position] = MessageId(entry.id)
        case journal.ExecutionDue():
            memory.working += 1
            if memory.said:
                _taken(memory, entry, into)
        case journal.ExecutionFinished() | journal.ExecutionFailed():
            memory.working -= 1
        case journal.StopReached(_, at):
            _close_requests(memory, at, into)
            if not isinstance(memory.stop, ExceptionEvent):
                _replied(memory, at, into)
        case journal.RunEnded():
            _close_requests(memory, entry.at, into)
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


def _taken(memory: RunMemory, entry: journal.ExecutionDue, into: Projection) -> None:
    """A step is executed with what was said into the run: from here on that is part of the turn."""
    for position in [number for positions in entry.binding for number in positions]:
        message = memory.said.pop(position, None)
        if message is not None:
            _tell(memory, SteeringTaken(run_id=memory.opened.run, message_id=message), entry.at, into)


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


def _asked_or_answered(memory: RunMemory, entry: journal.EventPublished, into: Projection) -> None:
    if entry.answers is None:
        memory.requests[memory.position] = entry
        if isinstance(entry.event, AskPersonEvent):
            _request_opened(memory, entry, entry.event, into)
        return
    asked = memory.requests.pop(entry.answers, None)
    if asked is not None and isinstance(asked.event, AskPersonEvent):
        timed_out = type(entry.event) is asked.event.timed_out()
        answer = None if timed_out else write_event(entry.event)
        closing = Closing("timed_out" if timed_out else "answered", entry.at, answer, entry.actor)
        _request_closed(memory, asked, closing, "timed_out" if timed_out else "answered", into)


def _request_opened(memory: RunMemory, entry: journal.EventPublished, event: AskPersonEvent, into: Projection) -> None:
    opened = memory.opened
    record = request_record(opened, memory.position, entry, event)
    into.requests[record.id] = record
    told = RequestOpened(
        run_id=opened.run,
        request_id=entry.id,
        kind=event.kind,
        request=dict(record.request),
        profile=opened.profile or "",
        profile_name=opened.profile_name or "",
        expires=_time(record.expires_microseconds) if record.expires_microseconds is not None else None,
        recipients=event.recipients,
    )
    text = localized(event.question).text(opened.locale)
    details = localized(event.details).text(opened.locale)
    shown = f"{text}\n\n{details}" if details else text
    _tell(memory, told, entry.at, into, text=shown, chat_answer=event.responses["Answered"].event_type)


def request_record(
    opened: journal.RunOpened, position: int, entry: journal.EventPublished, event: AskPersonEvent
) -> RequestRecord:
    """The record of a request that has just been opened."""
    asker = asker_of(opened)
    return RequestRecord(
        id=entry.id,
        run=opened.run,
        position=position,
        tenant=opened.tenant,
        workspace=opened.workspace,
        thread=opened.thread,
        profile=opened.profile,
        profile_name=opened.profile_name,
        owner=asker.get("id") if asker.get("kind") == "user" else None,
        kind=event.kind,
        request={
            "type": wire_type(event),
            "family": wire_family(event),
            **event.model_dump(mode="json", exclude_defaults=True),
        },
        asked_microseconds=entry.at,
        expires_microseconds=event.due_microseconds(entry.at),
    )


def _request_closed(
    memory: RunMemory, asked: journal.EventPublished, closing: Closing, reason: RequestEnd, into: Projection
) -> None:
    into.closed[asked.id] = closing
    told = RequestClosed(run_id=memory.opened.run, request_id=asked.id, reason=reason)
    _tell(memory, told, closing.at, into)


def _close_requests(memory: RunMemory, at: int, into: Projection) -> None:
    for asked in memory.requests.values():
        if isinstance(asked.event, AskPersonEvent):
            _request_closed(memory, asked, Closing("closed", at), "run_ended", into)
    memory.requests.clear()


def tell_whether_it_waits(memory: RunMemory, at: int, into: Projection) -> None:
    """After an append: the run began to wait, or goes on. Waits of a few seconds are not worth telling."""
    quiet = bool(memory.requests) and memory.working == 0
    dues = [
        due
        for entry in (memory.requests.values() if quiet else ())
        if isinstance(entry.event, OutsideRequest) and (due := entry.event.due_microseconds(entry.at)) is not None
    ]
    until = min(dues, default=None)
    is_short = until is not None and until - at < TOLD_WAIT_MICROSECONDS
    waits = quiet and (memory.is_waiting or not is_short)
    if waits == memory.is_waiting:
        return
    memory.is_waiting = waits
    run = memory.opened.run
    if waits:
        people = (entry.id for entry in memory.requests.values() if isinstance(entry.event, AskPersonEvent))
        paused = RunPaused(run_id=run, requests=tuple(people), until=_time(until) if until is not None else None)
        _tell(memory, paused, at, into)
    elif memory.stop is None:
        _tell(memory, RunResumed(run_id=run), at, into)
    if into.record is None or into.record.ended_microseconds is None:
        into.record = replace(record_of(memory.opened), status="waiting" if waits else "running")


def _time(microseconds: int) -> datetime:
    return datetime.fromtimestamp(microseconds / 1e6, UTC)


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
        parent_run=opened.parent,
        on_behalf_of=opened.on_behalf_of,
        forked_from=opened.forked_from,
        forked_at=opened.forked_at,
        scheduled_microseconds=opened.scheduled,
    )


def _tell(
    memory: RunMemory, event: RunFact, at: int, into: Projection, *, text: str = "", chat_answer: str = ""
) -> None:
    opened = memory.opened
    if opened.thread is None or opened.workspace is None:
        return
    thread = ThreadId(opened.thread)
    actor = AgentActor(thread_id=thread, run_id=opened.run, name=opened.profile_name or opened.blueprint)
    into.facts.append(
        Fact(
            thread=thread,
            run=opened.run,
            actor=actor,
            event=event,
            time=_time(at),
            text=text,
            chat_answer=chat_answer,
        )
    )


class Projector:
    """Follows the journals and records their facts; one process of an installation at a time (`ownership.py`)."""

    def __init__(self, store: Journal, records: RunRecords, requests: RunRequests, workspaces: Workspaces) -> None:
        self._journal = store
        self._records = records
        self._requests = requests
        self._workspaces = workspaces
        self._memories: dict[RunId, RunMemory] = {}
        self._stored = 0
        """The cursor as it is stored."""
        self._read = 0
        """How far the journals have been read; what lies between has no facts."""
        self._begun = False
        self._one_at_a_time = asyncio.Lock()
        self.detaching: Detaching | None = None
        """Opens the runs that runs have started and nobody waits for."""
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
            unstored: dict[RunId, list[Projection]] = {}
            has_ended = False
            for item in items:
                memory, projection = await self._projection(item)
                unstored.setdefault(item.run, []).append(projection)
                if memory is not None and projection.facts:
                    await self._store(unstored)
                    await self._record(item, memory, projection)
                self._read = item.feed
                has_ended |= isinstance(item.entries[-1], journal.RunEnded)
            await self._store(unstored)
            if self._read > self._stored and (has_ended or self._read - self._stored >= BATCH):
                await self._workspaces.storage.save_cursor(CURSOR, self._read, fence=self._fence)
                self._stored = self._read
            if len(items) < BATCH:
                return

    async def _projection(self, item: FeedItem) -> tuple[RunMemory | None, Projection]:
        """What an append is told as, and the memory of its run, if its journal is known from its beginning."""
        memory = await self._memory(item)
        projection = Projection()
        if memory is not None:
            for entry in item.entries:
                _project_or_leave(memory, entry, projection)
            tell_whether_it_waits(memory, _last_time(item.entries), projection)
            if self.detaching is not None:
                repeated = max(memory.opened.forked_entries - item.first_position + 1, 0)
                await self.detaching.follow(memory.opened, item.entries[repeated:])
        if isinstance(item.entries[-1], journal.RunEnded) or (memory is not None and memory.is_waiting):
            self._memories.pop(item.run, None)  # a run that waits is read back when it goes on: it costs no memory
        return memory, projection

    async def _store(self, projections: dict[RunId, list[Projection]]) -> None:
        """Keep records and requests, of one run in order and of all runs at once, so that they share commits."""
        if projections:
            await asyncio.gather(*(self._store_of_run(found) for found in projections.values()))
            projections.clear()

    async def _store_of_run(self, projections: Sequence[Projection]) -> None:
        for projection in projections:
            await self._keep_requests(projection)
            if projection.record is not None:
                await self._records.put(projection.record)

    async def _record(self, item: FeedItem, memory: RunMemory, projection: Projection) -> None:
        """Tell the log; the cursor moves with it."""
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

    async def _keep_requests(self, projection: Projection) -> None:
        """Before the facts, with which the cursor moves: what is kept twice is kept once."""
        for record in projection.requests.values():
            if await self._requests.get(record.id) is None:
                await self._requests.put(record)
        for request, closing in projection.closed.items():
            known = await self._requests.get(request)
            if known is not None and known.status == "open":
                ended = replace(
                    known,
                    status=closing.status,
                    closed_microseconds=closing.at,
                    answer=closing.answer,
                    answered_by=closing.answered_by,
                )
                await self._requests.put(ended)

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
        if earlier:
            tell_whether_it_waits(memory, _last_time(earlier), ignored)
        return memory


def _last_time(entries: Sequence[journal.Entry]) -> int:
    """When the last of these entries that has a time was written."""
    return next((at for entry in reversed(entries) if (at := getattr(entry, "at", 0))), 0)
