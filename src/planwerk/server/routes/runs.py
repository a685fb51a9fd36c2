"""`/api/runs` and `/api/profiles/{profile}/runs`: start, look at, follow and stop runs (S2.4)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import ValidationError

from planwerk.access.actions import Action, Resource
from planwerk.access.authorize import allowed, authorize
from planwerk.access.identity import UserIdentity
from planwerk.access.principal import Principal
from planwerk.messages.events import UserMessageEvent
from planwerk.messages.prompts import user_prompt
from planwerk.runtime.errors import UnknownRun
from planwerk.runtime.ports import RecordPlace, RunFilter, RunRecord
from planwerk.runtime.profiles import Profile
from planwerk.runtime.wire import wire_time
from planwerk.server.authentication import SignedIn
from planwerk.server.made_ids import made_id
from planwerk.server.parts import (
    QUEUED,
    Installed,
    Parts,
    find_profile,
    find_run,
    find_thread,
    known_run,
    locale_of,
    may_inspect,
)
from planwerk.server.run_entries import EntryReader
from planwerk.server.shapes import (
    DivergenceView,
    EnvelopeView,
    ForkAccepted,
    ForkGiven,
    GraphEdge,
    GraphGroup,
    GraphNode,
    GraphView,
    Items,
    ReplayView,
    RunAccepted,
    RunGiven,
    RunView,
    TimelinePage,
)
from planwerk.server.streams import run_stream
from planwerk.workflow.composition import start_classes
from planwerk.workflow.entries import RunStatus
from planwerk.workflow.errors import PlanwerkError
from planwerk.workflow.events import StartEvent
from planwerk.workflow.graph import graph_of
from planwerk.workflow.ids import RunId, WorkspaceId, parse_id
from planwerk.workspace.rules.commands import StopRun
from planwerk.workspace.rules.events import ErrorInfo

router = APIRouter(tags=["runs"])


class StartInvalid(PlanwerkError):
    """What was sent is no start event of the blueprint."""

    code = "start_invalid"
    http_status = 422


class CursorInvalid(PlanwerkError):
    """A page of a list was asked for by something that no page before gave."""

    code = "cursor_invalid"
    http_status = 422

    def __init__(self) -> None:
        super().__init__(
            "the cursor is none that a page of this list gave.",
            what_to_do="Send `next` of the page before unchanged, or leave it out for the first page.",
        )


class RunIdTaken(PlanwerkError):
    """The id that a client made for a run belongs to another run."""

    code = "run_id_taken"
    http_status = 409

    def __init__(self, run: RunId) -> None:
        super().__init__(f"run id {run} is used by another run.", what_to_do="Make a new id for a new run.")


@router.post("/api/profiles/{profile}/runs", operation_id="start_run", status_code=202)
async def start_run(
    request: Request,
    response: Response,
    parts: Installed,
    principal: SignedIn,
    profile: str,
    given: RunGiven,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200)] = None,
) -> RunAccepted:
    """Start a run: 202 once it is accepted; sending it again with the same id, or the same key, changes nothing."""
    found = await find_profile(parts, principal, profile, Action.PROFILE_USE)
    event = _start_event(found, given, principal, locale_of(request, principal))
    thread = workspace = None
    if given.thread is not None:
        in_thread = await find_thread(parts, principal, given.thread, Action.THREAD_WRITE)
        thread, workspace = in_thread.summary.id, in_thread.workspace
    named = parse_id(given.run_id, RunId) if given.run_id is not None else None
    if named is None and idempotency_key is not None:
        named = RunId(made_id(principal, "idempotency-key", idempotency_key))
    if named is not None:
        await refuse_foreign_run(parts, named, principal, thread)
    run = await parts.host.start(
        found.slug,
        event,
        actor=principal.actor(),
        tenant=principal.tenant,
        thread=thread,
        workspace=workspace,
        run_id=named,
        locale=locale_of(request, principal),
    )
    response.headers["Location"] = f"/api/runs/{run}"
    return RunAccepted(run_id=run)


async def refuse_foreign_run(parts: Parts, run: RunId, principal: Principal, thread: str | None) -> None:
    """Refuse a run id that a client made, if a run of somebody else or of another thread has it.

    Raises:
        RunIdTaken: It has.
    """
    known = await known_run(parts, run)
    if known is not None and (known.tenant, known.actor.get("id"), known.thread) != (
        principal.tenant,
        principal.account,
        thread,
    ):
        raise RunIdTaken(run)


def _start_event(profile: Profile, given: RunGiven, principal: Principal, locale: str) -> StartEvent:
    if (given.event is None) == (given.message is None):
        raise StartInvalid("give either `event` or `message`.", what_to_do="A message starts a chat blueprint.")
    if given.message is not None:
        messages = (user_prompt(given.message),)
        return UserMessageEvent(messages=messages, user=principal.identity(), locale=locale)
    data = dict(given.event or {})
    name = data.pop("type", None)
    classes = {cls.__name__: cls for cls in start_classes(profile.blueprint)}
    cls = classes.get(str(name)) if name is not None else next(iter(classes.values()))
    if cls is None or not issubclass(cls, StartEvent):
        raise StartInvalid(
            f"{name} does not start {profile.blueprint.__name__}.", what_to_do=f"Send one of: {', '.join(classes)}."
        )
    data.pop("family", None)
    try:
        return _asked_by(cls.model_validate(data), principal)
    except ValidationError as error:
        shown = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
        raise StartInvalid(f"the start event is not valid: {shown}.", what_to_do="Correct what is named.") from error


def _asked_by(event: StartEvent, principal: Principal) -> StartEvent:
    """The event as the person's who sends it: whom an event names is who asks, to all that looks at rights (S5.2)."""
    if isinstance(event, UserMessageEvent) or isinstance(getattr(event, "user", None), UserIdentity):
        return event.model_copy(update={"user": principal.identity()})
    return event


@router.get("/api/runs", operation_id="list_runs")
async def list_runs(
    parts: Installed,
    principal: SignedIn,
    status: Annotated[list[RunStatus] | None, Query()] = None,
    profile: str | None = None,
    thread: str | None = None,
    scheduled: Annotated[bool, Query(description="Instead those of schedules, for those who may see them.")] = False,
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Items[RunView]:
    """The person's runs that were opened, by the time of their start, newest first: also those of no thread (S4.1).

    `status` may be given several times.
    """
    authorize(principal, Action.RUN_READ, Resource.of_tenant(principal.tenant))
    if scheduled and not allowed(principal, Action.RUN_READ, Resource("scheduled_run", "any", principal.tenant)):
        return Items(items=[])
    wanted = RunFilter(
        owner=None if scheduled else principal.account,
        is_scheduled=scheduled,
        statuses=frozenset(status) if status else None,
        profile=profile,
        thread=thread,
    )
    before = _place(cursor) if cursor is not None else None
    found = await parts.host.newest(principal.tenant, wanted, before=before, limit=limit + 1)
    page = found[:limit]
    return Items(
        items=[run_view(record, shows_cost=may_inspect(principal, record)) for record in page],
        next="{}.{}".format(*page[-1].place) if len(found) > limit else None,
    )


def _place(cursor: str) -> RecordPlace:
    """The place that a cursor of the list names.

    Raises:
        CursorInvalid: It is none of ours.
    """
    started, _, run = cursor.partition(".")
    if not started.isascii() or not started.isdecimal() or len(started) > 18 or not run:
        raise CursorInvalid
    return int(started), run


@router.get("/api/runs/{run}", operation_id="read_run")
async def read_run(parts: Installed, principal: SignedIn, run: str) -> RunView:
    """How a run stands: what it is of, who started it, what it used."""
    record = await find_run(parts, principal, run, Action.RUN_READ)
    return run_view(record, shows_cost=may_inspect(principal, record))


@router.get("/api/runs/{run}/timeline", operation_id="read_timeline")
async def read_timeline(
    request: Request,
    parts: Installed,
    principal: SignedIn,
    run: str,
    after: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=5000)] = 1000,
) -> TimelinePage:
    """The run's journal as far as it has come, from a position on."""
    record = await find_run(parts, principal, run, Action.RUN_READ)
    found = await EntryReader(parts, principal, record, locale_of(request, principal)).read(after)
    page = found[:limit]
    more = len(found) > limit
    return TimelinePage(
        items=[EnvelopeView.model_validate(envelope) for envelope in page],
        next=page[-1]["position"] if more else None,
        ended=not more and bool(page or after) and record.ended_microseconds is not None,
    )


@router.get("/api/runs/{run}/graph", operation_id="read_graph")
async def read_graph(request: Request, parts: Installed, principal: SignedIn, run: str) -> GraphView:
    """The composed workflow of the run's blueprint."""
    record = await find_run(parts, principal, run, Action.RUN_READ)
    graph = graph_of(parts.blueprints.get(record.blueprint))
    locale = locale_of(request, principal)
    return GraphView(
        nodes=[
            GraphNode(
                id=node.id,
                step=node.step,
                label=node.label.text(locale),
                icon=node.icon,
                group=node.group,
                kind=node.kind,
            )
            for node in graph.nodes
        ],
        groups=[GraphGroup(id=group.id, label=group.label) for group in graph.groups],
        edges=[GraphEdge(source=edge.source, target=edge.target, event=edge.event) for edge in graph.edges],
    )


@router.post("/api/runs/{run}/stop", operation_id="stop_run", status_code=202)
async def stop_run(parts: Installed, principal: SignedIn, run: str) -> RunAccepted:
    """Stop a run: what it has said so far is kept; stopping one that has ended changes nothing."""
    record = await find_run(parts, principal, run, Action.RUN_STOP)
    if record.status == QUEUED and record.workspace is not None:
        space = parts.workspaces.of(principal.tenant, WorkspaceId(record.workspace), principal.actor())
        await space.send(StopRun(run_id=RunId(record.run)))
    else:
        await parts.host.stop(RunId(record.run), actor=principal.actor())
    return RunAccepted(run_id=record.run)


@router.post("/api/runs/{run}/fork", operation_id="fork_run", status_code=202)
async def fork_run(
    response: Response,
    parts: Installed,
    principal: SignedIn,
    run: str,
    given: ForkGiven,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200)] = None,
) -> ForkAccepted:
    """Make a run that goes on from a position of this one (E7.8): it calls models, and posts nothing to the thread.

    202 once it is accepted; sending it again with the same id, or the same key, changes nothing. Other settings need
    the right to change the profile.
    """
    record = await find_run(parts, principal, run, Action.RUN_FORK)
    if record.status == QUEUED:
        raise UnknownRun(record.run)
    if record.profile is not None:
        await find_profile(parts, principal, record.profile, Action.PROFILE_USE)
        if given.config:
            await find_profile(parts, principal, record.profile, Action.PROFILE_EDIT)
    named = parse_id(given.run_id, RunId) if given.run_id is not None else None
    if named is None and idempotency_key is not None:
        named = RunId(made_id(principal, f"fork {record.run}", idempotency_key))
    if named is not None:
        await refuse_foreign_run(parts, named, principal, None)
    made = await parts.forks.fork(
        RunId(record.run), given.position, actor=principal.actor(), config=given.config, run_id=named
    )
    response.headers["Location"] = f"/api/runs/{made.run}"
    return ForkAccepted(run_id=made.run, position=made.position, first=list(made.first))


@router.post("/api/runs/{run}/replay", operation_id="replay_run")
async def replay_run(parts: Installed, principal: SignedIn, run: str) -> ReplayView:
    """Re-drive a run that has ended from its journal (E7.8): nothing is executed, and no model is called."""
    record = await find_run(parts, principal, run, Action.RUN_READ)
    found = await parts.forks.replay(RunId(record.run))
    divergence = DivergenceView(**asdict(found.divergence)) if found.divergence is not None else None
    return ReplayView(entries=found.entries, executions=found.executions, divergence=divergence)


@router.get(
    "/api/runs/{run}/stream",
    operation_id="stream_run",
    response_class=Response,
    responses={200: {"content": {"text/event-stream": {}}}, 204: {"description": "Nothing follows the last event."}},
)
async def stream_run(
    request: Request,
    parts: Installed,
    principal: SignedIn,
    run: str,
    after: Annotated[int, Query(ge=0)] = 0,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """The run's journal as server-sent events, from a position to its end (S3.1)."""
    record = await find_run(parts, principal, run, Action.RUN_READ)
    begin = after
    if last_event_id is not None and last_event_id.isdecimal():
        begin = max(int(last_event_id), after)
        if record.ended_microseconds is not None and begin == len(await parts.host.entries(RunId(record.run))):
            return Response(status_code=204)  # or an EventSource would come back for ever (W3)
    return run_stream(
        parts,
        principal,
        record,
        after=begin,
        locale=locale_of(request, principal),
        registry=request.app.state.streams,
    )


def run_view(record: RunRecord, *, shows_cost: bool) -> RunView:
    """A run's record as REST gives it; cost only with the right to inspect."""
    summary: dict[str, Any] = dict(record.summary)
    ended = record.ended_microseconds
    return RunView(
        id=record.run,
        tenant=record.tenant,
        workspace=record.workspace,
        thread=record.thread,
        message=record.message,
        profile=record.profile,
        profile_name=record.profile_name,
        profile_version=record.profile_version,
        blueprint=record.blueprint,
        status=record.status,
        started=wire_time(record.started_microseconds) if record.status != QUEUED else None,
        ended=wire_time(ended) if ended is not None else None,
        started_by=dict(record.actor),
        usage={"input_tokens": 0, "output_tokens": 0, **summary.get("usage", {})},
        cost=summary.get("cost") if shows_cost else None,
        error=ErrorInfo.model_validate(record.error) if record.error is not None else None,
        model_calls=summary.get("model_calls", 0),
        executions=summary.get("executions", 0),
        title=record.title,
        forked_from=record.forked_from,
        forked_at=record.forked_at,
        expires=wire_time(record.expires_microseconds) if record.expires_microseconds is not None else None,
        parent_run=record.parent_run,
        scheduled=wire_time(record.scheduled_microseconds) if record.scheduled_microseconds is not None else None,
    )
