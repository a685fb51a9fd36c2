"""`/api/threads`: conversations, their messages and the runs that answer them (S2.2, S2.3)."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response

from planwerk.access.actions import Action
from planwerk.access.principal import Principal
from planwerk.runtime.host import Posted
from planwerk.server.authentication import SignedIn
from planwerk.server.etags import text_etag
from planwerk.server.log_entries import may_see_costs
from planwerk.server.parts import (
    FoundThread,
    Installed,
    Parts,
    find_profile,
    find_thread,
    find_workspace,
    locale_of,
    usable_profiles,
)
from planwerk.server.routes.runs import refuse_foreign_run
from planwerk.server.shapes import (
    MessageGiven,
    MessageRunView,
    MessageView,
    PostedView,
    RunAgain,
    ThreadChange,
    ThreadFull,
    ThreadGiven,
    ThreadSummaryView,
)
from planwerk.workflow.errors import PlanwerkError
from planwerk.workflow.ids import MessageId, RunId, ThreadId, parse_id
from planwerk.workspace import views
from planwerk.workspace.rules.commands import LAST, CreateThread, RenameThread
from planwerk.workspace.rules.errors import InvalidState, TitleChanged

router = APIRouter(tags=["threads"])


class MessageTooLarge(PlanwerkError):
    """A message's text is longer than this server takes (S5.4)."""

    code = "message_too_large"
    http_status = 413

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(
            f"the message has {size} bytes, and this server takes {limit}.",
            what_to_do="Shorten it, or send what is long as a file.",
        )


class EmptyMessage(PlanwerkError):
    """A message without a word."""

    code = "empty_message"
    http_status = 422

    def __init__(self) -> None:
        super().__init__("the message is empty.", what_to_do="Write something first.")


@router.post("/api/threads", operation_id="create_thread", status_code=201)
async def create_thread(
    request: Request, response: Response, parts: Installed, principal: SignedIn, given: ThreadGiven
) -> ThreadFull:
    """Make a thread, in the private workspace unless another is named."""
    identity = parse_id(given.id, ThreadId)
    workspace = given.workspace or await parts.workspaces.private_of(principal.tenant, principal.actor())
    space = await find_workspace(parts, principal, workspace, Action.THREAD_WRITE)
    if given.profile is not None:
        await find_profile(parts, principal, given.profile, Action.PROFILE_USE)
    command = CreateThread(thread_id=identity, title=given.title, profile=given.profile)
    await space.send(command, command_id=given.id)
    response.headers["Location"] = f"/api/threads/{identity}"
    return await _full(request, response, parts, principal, identity)


@router.get("/api/threads/{thread}", operation_id="read_thread")
async def read_thread(
    request: Request, response: Response, parts: Installed, principal: SignedIn, thread: str
) -> ThreadFull:
    """A thread with its messages."""
    return await _full(request, response, parts, principal, thread)


@router.patch("/api/threads/{thread}", operation_id="rename_thread")
async def rename_thread(
    request: Request,
    response: Response,
    parts: Installed,
    principal: SignedIn,
    thread: str,
    change: ThreadChange,
    if_match: Annotated[str | None, Header()] = None,
) -> ThreadFull:
    """Give a thread a title; a person's own title is never replaced by a generated one."""
    found = await find_thread(parts, principal, thread, Action.THREAD_WRITE)
    summary, read = found.summary, None
    if if_match is not None and if_match.strip() != "*":
        read = (summary.title, summary.title_source)
        if if_match.strip() != title_etag(summary):
            raise TitleChanged(summary.id, title=summary.title)
    await found.space.send(RenameThread(thread_id=summary.id, title=change.title, replaces=read))
    return await _full(request, response, parts, principal, thread)


@router.post("/api/threads/{thread}/messages", operation_id="post_message", status_code=202)
async def post_message(
    request: Request, response: Response, parts: Installed, principal: SignedIn, thread: str, given: MessageGiven
) -> PostedView:
    """Post a message: 202 once it and the run that answers it are in the log."""
    size, limit = len(given.content.encode("utf-8", "surrogatepass")), request.app.state.message_bytes
    if size > limit:
        raise MessageTooLarge(size, limit)
    if not given.content.strip():
        raise EmptyMessage
    found = await find_thread(parts, principal, thread, Action.THREAD_WRITE)
    parent = given.parent_id
    run = parse_id(given.run_id, RunId) if given.run_id is not None else None
    if run is not None:
        await refuse_foreign_run(parts, run, principal, found.summary.id)
    posted = await parts.host.post_message(
        tenant=principal.tenant,
        workspace=found.workspace,
        thread=found.summary.id,
        message_id=parse_id(given.message_id, MessageId),
        content=given.content,
        actor=principal.actor(),
        profile=await _profile(parts, principal, found, given.profile),
        parent_id=LAST if parent == LAST else parse_id(parent, MessageId) if parent is not None else None,
        when=given.when,
        requested_features=tuple(given.requested_features),
        locale=locale_of(request, principal),
        run_id=run,
    )
    return _posted(response, posted)


@router.post("/api/threads/{thread}/runs", operation_id="answer_again", status_code=202)
async def answer_again(
    request: Request, response: Response, parts: Installed, principal: SignedIn, thread: str, given: RunAgain
) -> PostedView:
    """Answer a message once more: a sibling of the earlier answer, which stays."""
    found = await find_thread(parts, principal, thread, Action.THREAD_WRITE)
    run = parse_id(given.run_id, RunId)
    await refuse_foreign_run(parts, run, principal, found.summary.id)
    posted = await parts.host.request_run(
        tenant=principal.tenant,
        workspace=found.workspace,
        thread=found.summary.id,
        message_id=parse_id(given.message_id, MessageId),
        actor=principal.actor(),
        profile=await _profile(parts, principal, found, given.profile),
        locale=locale_of(request, principal),
        run_id=run,
    )
    return _posted(response, posted)


async def _profile(parts: Parts, principal: Principal, found: FoundThread, named: str | None) -> str:
    """The profile that answers: the one named, the thread's, or the default; the person must be allowed to use it."""
    slug = named or found.summary.profile
    if slug is None:
        profiles = await usable_profiles(parts, principal)
        if not profiles:
            raise InvalidState("there is no profile to answer.", what_to_do="Let an admin make one.")
        slug = profiles[0].slug
    return (await find_profile(parts, principal, slug, Action.PROFILE_USE)).slug


def _posted(response: Response, posted: Posted) -> PostedView:
    response.headers["Location"] = f"/api/runs/{posted.run_id}"
    return PostedView(run_id=posted.run_id, message_id=posted.message_id, seq=posted.seq)


async def _full(request: Request, response: Response, parts: Parts, principal: Principal, thread: str) -> ThreadFull:
    found = await find_thread(parts, principal, thread, Action.THREAD_READ)
    locale = locale_of(request, principal)
    names = {profile.slug: profile.data.name.text(locale) for profile in await parts.profiles.all(principal.tenant)}
    view = await found.space.thread(found.summary.id)
    response.headers["ETag"] = title_etag(view)
    return thread_full(view, names, shows_cost=may_see_costs(principal))


def title_etag(thread: views.ThreadSummary) -> str:
    """Changes with the title: what a rename was made on."""
    return text_etag(thread.title, thread.title_source)


def summary_view(thread: views.ThreadSummary, names: dict[str, str]) -> ThreadSummaryView:
    """A thread in a list."""
    return ThreadSummaryView(**_summary(thread, names))


def thread_full(thread: views.ThreadView, names: dict[str, str], *, shows_cost: bool) -> ThreadFull:
    """A thread with its messages."""
    return ThreadFull(
        **_summary(thread, names),
        messages=[_message(message, shows_cost=shows_cost) for message in thread.messages],
        queued=list(thread.queued),
        head_seq=thread.head_seq,
    )


def _summary(thread: views.ThreadSummary, names: dict[str, str]) -> dict[str, Any]:
    return {
        "id": thread.id,
        "workspace": thread.workspace,
        "title": thread.title,
        "title_source": thread.title_source,
        "profile": thread.profile,
        "profile_name": names.get(thread.profile) if thread.profile is not None else None,
        "created": thread.created,
        "updated": thread.updated,
        "active_run": thread.active_run,
        "last_status": thread.last_status,
    }


def _message(message: views.MessageView, *, shows_cost: bool) -> MessageView:
    run = message.run
    return MessageView(
        id=message.id,
        parent_id=message.parent_id,
        role=message.role,
        content=message.content,
        run=MessageRunView(
            id=run.id,
            status=run.status,
            usage=run.usage.model_dump(),
            cost=run.cost if shows_cost else None,
            duration_seconds=run.duration_seconds,
            steps=run.steps,
            profile_name=run.profile_name,
            profile_version=run.profile_version,
        )
        if run is not None
        else None,
        incomplete=message.incomplete,
        error=message.error,
        follow_ups=list(message.follow_ups),
        files=list(message.files),
        actor=message.actor.model_dump(mode="json"),
        time=message.time,
        seq=message.seq,
    )
