"""`/api/workspaces`: the places a person works in, their log, their commands and their stream (A9.2, S3.1)."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response

from planwerk.access.actions import Action
from planwerk.access.actors import UserActor
from planwerk.server.authentication import SignedIn
from planwerk.server.log_entries import LogReader
from planwerk.server.parts import Installed, find_request, find_workspace, locale_of
from planwerk.server.routes.threads import summary_view
from planwerk.server.shapes import CommandGiven, EnvelopeView, Items, LogPage, ThreadSummaryView, WorkspaceView
from planwerk.server.streams import workspace_stream
from planwerk.workflow.ids import ThreadId, parse_id
from planwerk.workspace.rules.commands import COMMAND, AnswerRequest, PostMessage, RequestRun
from planwerk.workspace.rules.errors import Forbidden, NotFound
from planwerk.workspace.rules.outcomes import Outcome, Recorded

router = APIRouter(tags=["workspaces"])


@router.get("/api/workspaces", operation_id="list_workspaces")
async def list_workspaces(parts: Installed, principal: SignedIn) -> Items[WorkspaceView]:
    """The person's workspaces, her private one first."""
    actor: UserActor = principal.actor()
    await parts.workspaces.private_of(principal.tenant, actor)
    found = await parts.workspaces.list_for(principal.tenant, actor)
    return Items(items=[WorkspaceView(id=space.id, name=space.name, kind=space.kind) for space in found])


@router.get("/api/workspaces/{workspace}/threads", operation_id="list_threads")
async def list_threads(
    request: Request,
    parts: Installed,
    principal: SignedIn,
    workspace: str,
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Items[ThreadSummaryView]:
    """Threads by their last activity, newest first."""
    space = await find_workspace(parts, principal, workspace, Action.WORKSPACE_READ)
    page = await space.threads(cursor, limit)
    names = await profile_names(request, parts, principal)
    return Items(items=[summary_view(thread, names) for thread in page.items], next=page.next)


@router.get("/api/workspaces/{workspace}/log", operation_id="read_log")
async def read_log(
    request: Request,
    parts: Installed,
    principal: SignedIn,
    workspace: str,
    after_seq: Annotated[int, Query(ge=0)] = 0,
    before_seq: Annotated[int | None, Query(ge=1)] = None,
    threads: str | None = None,
    limit: Annotated[int | None, Query(ge=1, le=1000)] = None,
    last: Annotated[int | None, Query(ge=1, le=1000)] = None,
) -> LogPage:
    """A part of the log, in order of `seq`; `threads` is a list of ids separated by commas."""
    space = await find_workspace(parts, principal, workspace, Action.WORKSPACE_READ)
    named = [parse_id(thread, ThreadId) for thread in threads.split(",") if thread] if threads is not None else None
    amount = limit if limit is not None or last is not None else 1000
    found = await space.read(after_seq=after_seq, before_seq=before_seq, threads=named, limit=amount, last=last)
    reader = LogReader(principal, locale_of(request, principal))
    items = [EnvelopeView.model_validate(reader.wire(envelope)) for envelope in found]
    return LogPage(items=items, head_seq=await space.head_seq())


@router.post("/api/workspaces/{workspace}/commands", operation_id="send_command")
async def send_command(
    parts: Installed,
    principal: SignedIn,
    workspace: str,
    given: CommandGiven,
    idempotency_key: Annotated[str | None, Header()] = None,
) -> Outcome:
    """Send any command of A2; messages and requests for runs have routes of their own, which find the profile."""
    space = await find_workspace(parts, principal, workspace, Action.WORKSPACE_WRITE)
    command = COMMAND.validate_python(given.command)
    if isinstance(command, PostMessage | RequestRun):
        raise Forbidden(
            f"{command.type} is not sent as a bare command: its run needs a profile.",
            what_to_do="POST it to /api/threads/{thread}/messages or /api/threads/{thread}/runs.",
        )
    command_id = given.command_id or idempotency_key
    if isinstance(command, AnswerRequest):
        found = await find_request(parts, principal, command.request_id, Action.RUN_ANSWER)
        if found.request.workspace != space.id:
            raise NotFound("request", command.request_id)
        answered = await parts.host.answer(
            command.request_id,
            command.response,
            actor=principal.actor(),
            tenant=principal.tenant,
            command_id=command_id,
        )
        return Recorded(seq=answered.seq or await space.head_seq(), run_id=answered.run_id)
    return await space.send(command, command_id=command_id)


@router.get(
    "/api/workspaces/{workspace}/stream",
    operation_id="stream_workspace",
    response_class=Response,
    responses={200: {"content": {"text/event-stream": {}}}},
)
async def stream_workspace(
    request: Request,
    parts: Installed,
    principal: SignedIn,
    workspace: str,
    after: Annotated[int | None, Query(ge=0)] = None,
    threads: str | None = None,
    runs: str = "",
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """The log as server-sent events, with live frames of the threads named and entries of the runs named (S3.1)."""
    space = await find_workspace(parts, principal, workspace, Action.WORKSPACE_READ)
    begin = after
    if last_event_id is not None and last_event_id.isdecimal():
        begin = max(int(last_event_id), after or 0)
    return await workspace_stream(
        parts,
        principal,
        space,
        after=begin,
        threads=[thread for thread in threads.split(",") if thread] if threads is not None else None,
        runs=[run for run in runs.split(",") if run],
        locale=locale_of(request, principal),
        registry=request.app.state.streams,
    )


async def profile_names(request: Request, parts: Any, principal: Any) -> dict[str, str]:
    """Names of all profiles of the tenant by slug, in the reader's language."""
    locale = locale_of(request, principal)
    return {profile.slug: profile.data.name.text(locale) for profile in await parts.profiles.all(principal.tenant)}
