"""The runtime's front: starts, answers, stops and follows runs (design §6)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from planwerk.access.actors import Actor, SystemActor, UserActor
from planwerk.access.identity import UserIdentity
from planwerk.access.ids import TenantId
from planwerk.messages.events import UserMessageEvent
from planwerk.runtime.answers import hand_in
from planwerk.runtime.asked import asked_event, refuse_unless_open, status_at
from planwerk.runtime.errors import RunFailed, UnknownRun
from planwerk.runtime.opening import open_run
from planwerk.runtime.ports import (
    ANY_RUN,
    Clock,
    ContextStore,
    Journal,
    RecordPlace,
    RequestRecord,
    RunFilter,
    RunRecord,
    RunRecords,
    RunRequests,
    WorkQueue,
)
from planwerk.runtime.profiles import Profile, ProfileDirectory
from planwerk.runtime.projector import record_of
from planwerk.runtime.steering import is_steerable
from planwerk.runtime.worker import Worker
from planwerk.workflow import entries as journal
from planwerk.workflow.codec import write_event
from planwerk.workflow.composition import compose
from planwerk.workflow.events import Event, ExceptionEvent, StartEvent, StopEvent
from planwerk.workflow.ids import EventId, MessageId, RunId, ThreadId, WorkspaceId, new_id
from planwerk.workspace.rules.commands import LAST, AnswerRequest, PostMessage, RequestRun, StopRun
from planwerk.workspace.rules.errors import Forbidden, NotFound, RequestAnsweredBefore, RequestNotOpen
from planwerk.workspace.rules.outcomes import Recorded
from planwerk.workspace.rules.requests import find_request
from planwerk.workspace.rules.state import RunEntity, RunKey
from planwerk.workspace.workspaces import Workspaces

ParentId: TypeAlias = MessageId | Literal["last"] | None
HISTORY: Final = "messages"
DEFAULT_TENANT: Final = TenantId("default")


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer is accepted; `seq` is its place in the log, None for a run outside any thread."""

    run_id: RunId
    request_id: EventId
    seq: int | None


@dataclass(frozen=True, slots=True)
class Posted:
    """A message or a request for a run is in the log: that is its acceptance."""

    run_id: RunId
    message_id: MessageId
    seq: int


class Host:
    """Starts runs of profiles and gives what comes of them."""

    def __init__(
        self,
        *,
        workspaces: Workspaces,
        profiles: ProfileDirectory,
        store: Journal,
        queue: WorkQueue,
        records: RunRecords,
        requests: RunRequests,
        contexts: ContextStore,
        worker: Worker,
        clock: Clock,
    ) -> None:
        self._workspaces = workspaces
        self._profiles = profiles
        self._journal = store
        self._queue = queue
        self._records = records
        self._requests = requests
        self._contexts = contexts
        self._worker = worker
        self._clock = clock

    async def start(
        self,
        profile: str,
        event: StartEvent,
        *,
        actor: Actor,
        tenant: TenantId = DEFAULT_TENANT,
        thread: ThreadId | None = None,
        workspace: WorkspaceId | None = None,
        run_id: RunId | None = None,
        locale: str | None = None,
        forget_after_seconds: float | None = None,
    ) -> RunId:
        """Start a run; it is accepted once this returns, and repeating it with the same id changes nothing.

        Args:
            profile: Slug of a profile.
            thread: A thread whose context the run shares. Messages of people are posted by `post_message`.
            forget_after_seconds: How long after its start the run is kept, if it has ended by then; None keeps it.

        Raises:
            UnknownProfile: There is no such profile.
            BlueprintTakesNoMessages: Its blueprint is not started by this class of event.
        """
        found = await self._profiles.get(tenant, profile)
        found.refuse_unless_started_by(type(event))
        run = run_id or RunId(new_id())
        now = self._clock()
        opened = journal.RunOpened(
            run=run,
            at=now,
            blueprint=found.data.blueprint,
            fingerprint=compose(found.blueprint, type(event)).fingerprint,
            config=dict(found.data.config),
            actor=actor.model_dump(mode="json"),
            tenant=tenant,
            workspace=workspace,
            thread=thread,
            profile=found.slug,
            profile_name=found.data.name.text(locale),
            profile_version=found.version,
            profile_description=found.data.description.text(locale),
            locale=locale or getattr(event, "locale", None),
            expires=None if forget_after_seconds is None else now + round(forget_after_seconds * 1e6),
        )
        if run_id is None or not await self._was_accepted(run):
            entries: list[journal.Entry] = [opened, journal.EventPublished(event, journal.BY_POSITION, opened.at)]
            await self._records.put(record_of(opened))
            await open_run(self._journal, self._queue, run, entries)
        return run

    async def _was_accepted(self, run: RunId) -> bool:
        """Whether this start is repeated; then nothing changes but that the run is surely in the queue."""
        if not await self._journal.read(run):
            return False
        record = await self._records.get(run)
        if record is None or record.ended_microseconds is None:
            await self._queue.enqueue(run)
        return True

    async def post_message(
        self,
        *,
        tenant: TenantId,
        workspace: WorkspaceId,
        thread: ThreadId,
        message_id: MessageId,
        content: str,
        actor: UserActor,
        profile: str | None = None,
        parent_id: ParentId = LAST,
        when: Literal["next", "instead", "now"] | None = None,
        requested_features: tuple[str, ...] = (),
        locale: str | None = None,
        run_id: RunId | None = None,
    ) -> Posted:
        """Post a person's message and ask for the run that answers it (S2.3); idempotent by message id.

        Args:
            profile: Slug of a profile; the thread's if missing.
            when: While a run is active: wait for its end, stop it first, or say it into that run where a step takes
                it, else wait. The profile's default if missing.

        Raises:
            NotFound: There is no such thread for this person.
            InvalidState: The message id was used with another text.
        """
        space = self._workspaces.of(tenant, workspace, actor)
        chosen = await self._profile(tenant, space, thread, profile)
        start = _start(actor, requested_features, locale)
        run = run_id or RunId(new_id())
        outcome = await space.send(
            PostMessage(
                thread_id=thread,
                message_id=message_id,
                parent_id=parent_id,
                content=content,
                when=when,
                when_default=chosen.data.when,
                run_id=run,
                profile=chosen.slug,
                profile_version=chosen.version,
                blueprint=chosen.data.blueprint,
                start=start,
                steerable=is_steerable(chosen.blueprint),
            )
        )
        assert isinstance(outcome, Recorded)
        return Posted(outcome.run_id or run, message_id, outcome.seq)

    async def request_run(
        self,
        *,
        tenant: TenantId,
        workspace: WorkspaceId,
        thread: ThreadId,
        message_id: MessageId,
        actor: UserActor,
        profile: str | None = None,
        requested_features: tuple[str, ...] = (),
        locale: str | None = None,
        run_id: RunId | None = None,
    ) -> Posted:
        """Ask for another run on a message that is there: answer again, or go on after a failure."""
        space = self._workspaces.of(tenant, workspace, actor)
        chosen = await self._profile(tenant, space, thread, profile)
        run = run_id or RunId(new_id())
        command = RequestRun(
            thread_id=thread,
            message_id=message_id,
            run_id=run,
            profile=chosen.slug,
            profile_version=chosen.version,
            blueprint=chosen.data.blueprint,
            start=_start(actor, requested_features, locale),
            steerable=is_steerable(chosen.blueprint),
        )
        outcome = await space.send(command, command_id=run)
        assert isinstance(outcome, Recorded)
        return Posted(outcome.run_id or run, message_id, outcome.seq)

    async def stop(self, run: RunId, *, actor: Actor, tenant: TenantId = DEFAULT_TENANT) -> None:
        """Ask a run to stop (E4.6): durable once this returns; what it had said so far is kept.

        Raises:
            UnknownRun: There is no such run.
        """
        record = await self._records.get(run)
        if record is None:
            await self._stop_before_it_starts(tenant, run, actor)
            return
        if record.ended_microseconds is not None:
            return
        if record.workspace is not None and record.thread is not None:
            space = self._workspaces.of(TenantId(record.tenant), WorkspaceId(record.workspace), actor)
            await space.send(StopRun(run_id=run))
        else:
            await self._worker.request_stop(run, actor.name)

    async def _stop_before_it_starts(self, tenant: TenantId, run: RunId, actor: Actor) -> None:
        """A run that the log has asked for, and that waits for its turn, ends at once when that comes."""
        place = await self._workspaces.locate_run(tenant, run)
        if place is None:
            raise UnknownRun(run)
        await self._workspaces.of(tenant, place[0], actor).send(StopRun(run_id=run))

    async def answer(
        self,
        request_id: EventId,
        response: Any,
        *,
        actor: UserActor | SystemActor,
        tenant: TenantId = DEFAULT_TENANT,
        command_id: str | None = None,
        message_id: MessageId | None = None,
    ) -> Answered:
        """Answer what a run asks a person (E8.1): accepted once this returns, and the run goes on.

        Args:
            response: The fields of the request's `Answered`, the event itself, or what it holds: a text, a yes or no.
            command_id: Makes a repetition by the same actor give the first outcome again.
            message_id: Of the message that an answer in a conversation becomes; made if missing.

        Raises:
            NotFound: There is no such request for this actor.
            Forbidden: It asks others.
            AnswerInvalid: The answer does not fit; the request stays open.
            RequestNotOpen: It was answered before, its time is over, or its run has ended.
        """
        record = await self.request(request_id, tenant=tenant)
        event = asked_event(record).read_answer(response)
        if record.workspace is None or record.thread is None:
            await self._answer_without_thread(record, event, actor)
            return Answered(RunId(record.run), request_id, None)
        space = self._workspaces.of(tenant, WorkspaceId(record.workspace), actor)
        run, thread = RunId(record.run), ThreadId(record.thread)
        if record.kind == "chat":
            if command_id is None:
                refuse_unless_open(record, self._clock())
            message = PostMessage(
                thread_id=thread,
                message_id=message_id or MessageId(new_id()),
                parent_id=MessageId(request_id),
                content=str(getattr(event, "text", "")),
                run_id=RunId(new_id()),
                profile=record.profile or "",
                answers=request_id,
            )
            outcome = await space.send(message)
        else:
            answer = AnswerRequest(run_id=run, request_id=request_id, response=write_event(event))
            outcome = await space.send(answer, command_id=command_id)
        return Answered(run, request_id, outcome.seq)

    async def _answer_without_thread(self, record: RequestRecord, event: Event, actor: Actor) -> None:
        """Of a run outside any thread: no log accepts the answer, so whoever hands it in first has answered."""
        request = EventId(record.id)
        recipients = asked_event(record).recipients
        if recipients and getattr(actor, "id", None) not in recipients:
            raise Forbidden(
                f"request {request} is for others to answer (E8.1).", what_to_do="Let one of them answer it."
            )
        refuse_unless_open(record, self._clock())
        if isinstance((await self._journal.read(RunId(record.run)))[-1], journal.RunEnded):
            raise RequestNotOpen(request)
        if not await hand_in(self._contexts, self._queue, RunId(record.run), request, event, actor):
            raise RequestAnsweredBefore(request)

    async def request(self, request_id: EventId, *, tenant: TenantId = DEFAULT_TENANT) -> RequestRecord:
        """What a run asks, or asked, a person.

        Raises:
            NotFound: There is no such request.
        """
        record = await self._requests.get(request_id)
        if record is None or record.tenant != tenant:
            raise NotFound("request", request_id)
        return record

    async def is_answerable(self, request_id: EventId) -> bool:
        """Whether an answer would be accepted: the log knows of the request, or needs not to, and it is open."""
        record = await self._requests.get(request_id)
        if record is None or status_at(record, self._clock()) != "open":
            return False
        if record.workspace is None or record.thread is None:
            return True
        key = RunKey(RunId(record.run))
        loaded = await self._workspaces.storage.load(TenantId(record.tenant), WorkspaceId(record.workspace), [key])
        run = loaded.found[key]
        return isinstance(run, RunEntity) and find_request(run, request_id) is not None

    async def requests_of(self, run: RunId) -> list[RequestRecord]:
        """All that a run has asked people, in the order in which it did."""
        return await self._requests.of_run(run)

    async def waiting_requests(
        self, places: Collection[str], *, after: tuple[int, str] | None = None, limit: int = 50
    ) -> list[RequestRecord]:
        """Open requests that wait at these places, those due first, first (`RunRequests.waiting`)."""
        return await self._requests.waiting(places, now_microseconds=self._clock(), after=after, limit=limit)

    async def answered_requests(
        self, places: Collection[str], *, before: tuple[int, str] | None = None, limit: int = 50
    ) -> list[RequestRecord]:
        """Answered requests that waited at these places, those answered last, first (`RunRequests.answered`)."""
        return await self._requests.answered(places, before=before, limit=limit)

    async def follow(self, run: RunId, after: int = 0) -> AsyncGenerator[tuple[int, journal.Entry]]:
        """Positions and entries of the run's journal after a position, then what comes, to its last entry."""
        async for found in self._journal.follow(run, after):
            yield found

    async def entries(self, run: RunId, after: int = 0) -> list[journal.Entry]:
        """What the run's journal holds now after a position."""
        return await self._journal.read(run, after)

    async def result(self, run: RunId, *, tenant: TenantId = DEFAULT_TENANT) -> StopEvent:
        """The run's stop, once it has ended.

        Raises:
            RunFailed: It ended with an error; `event` says which.
        """
        stop: StopEvent | None = None
        if not await self._journal.read(run) and not await self._is_requested(tenant, run):
            raise UnknownRun(run)
        async for _, entry in self._journal.follow(run):
            if isinstance(entry, journal.EventPublished) and isinstance(entry.event, StopEvent) and stop is None:
                stop = entry.event
        if stop is None:
            raise UnknownRun(run)
        if isinstance(stop, ExceptionEvent):
            raise RunFailed(run, stop)
        return stop

    async def _is_requested(self, tenant: TenantId, run: RunId) -> bool:
        """Whether the log has asked for the run, which is not open yet."""
        return await self._workspaces.locate_run(tenant, run) is not None

    async def newest(
        self, tenant: TenantId, wanted: RunFilter = ANY_RUN, *, before: RecordPlace | None = None, limit: int = 50
    ) -> list[RunRecord]:
        """Runs that were opened and fit a filter, by the time of their start, the newest first.

        Args:
            before: Only what stands before this place, which is left out.
        """
        return await self._records.newest(tenant, wanted, before=before, limit=limit)

    async def status(self, run: RunId) -> RunRecord:
        """What is known of a run: who started what, how it stands, what it used.

        Raises:
            UnknownRun: There is no such run.
        """
        record = await self._records.get(run)
        if record is None:
            raise UnknownRun(run)
        return record

    async def _profile(self, tenant: TenantId, space: Any, thread: ThreadId, profile: str | None) -> Profile:
        slug = profile or (await space.summary(thread)).profile
        if slug is None:
            profiles = await self._profiles.list(tenant)
            return profiles[0]
        found = await self._profiles.get(tenant, slug)
        found.refuse_unless_started_by(UserMessageEvent)
        return found


def _start(actor: UserActor, features: tuple[str, ...], locale: str | None) -> dict[str, Any]:
    """The start event as the log keeps it: without its history, which the starter fills in."""
    user = UserIdentity(id=actor.id, name=actor.name)
    event: Event = UserMessageEvent(messages=(), user=user, locale=locale, requested_features=features)
    data = write_event(event)
    del data[HISTORY]
    return data
