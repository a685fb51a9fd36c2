"""`/api/inbox` and `/api/requests`: what runs ask people, and the answers (S2.4, E8.1)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Final

from fastapi import APIRouter, Header, Query, Request

from planwerk.access.actions import Action, Resource
from planwerk.access.authorize import allowed, authorize
from planwerk.access.principal import Principal
from planwerk.runtime.ports import NEVER, RequestRecord
from planwerk.server.authentication import SignedIn
from planwerk.server.made_ids import made_id
from planwerk.server.parts import Installed, Parts, find_request, find_run, locale_of, run_resource
from planwerk.server.request_views import request_view
from planwerk.server.routes.runs import CursorInvalid
from planwerk.server.shapes import AnswerGiven, Items, RequestAnsweredView, RequestView
from planwerk.workflow.ids import EventId, MessageId, RunId
from planwerk.workflow.people import RequestKind

router = APIRouter(tags=["requests"])

LOOKED_AT: Final = 1_000
"""After so many answers a page of them ends, whether or not it is full."""


@router.get("/api/inbox", operation_id="read_inbox")
async def read_inbox(
    request: Request,
    parts: Installed,
    principal: SignedIn,
    profile: str | None = None,
    kind: Annotated[list[RequestKind] | None, Query()] = None,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Items[RequestView]:
    """Everything that waits for the asking person, across threads: what expires first, then what was asked first.

    `kind` may be given several times.
    """
    places = await _places(parts, principal)
    after = _parsed(cursor)
    found: list[RequestRecord] = []
    while len(found) <= limit:
        page = await parts.host.waiting_requests(places, after=after, limit=limit + 1)
        found += [record for record in page if _is_for(record, principal, profile, kind)]
        if len(page) <= limit:
            break
        after = _place(page[-1])
    locale = locale_of(request, principal)
    shown, now = found[:limit], parts.clock()
    return Items(
        items=[request_view(record, principal, locale, now) for record in shown],
        next="{}:{}".format(*_place(shown[-1])) if len(found) > limit else None,
    )


@router.get("/api/inbox/answered", operation_id="list_answered")
async def list_answered(
    request: Request,
    parts: Installed,
    principal: SignedIn,
    profile: str | None = None,
    kind: Annotated[list[RequestKind] | None, Query()] = None,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Items[RequestView]:
    """What waited for the asking person and was answered, by whomever: what was answered last, first.

    `kind` may be given several times. A page that has looked at 1,000 answers ends, however many of them fit: `next`
    goes on from there.
    """
    places = await _places(parts, principal)
    before = _parsed(cursor)
    found: list[RequestRecord] = []
    looked_at = 0
    while True:
        page = await parts.host.answered_requests(places, before=before, limit=limit + 1)
        for record in page[:limit]:
            before = _answered_place(record)
            if _is_for(record, principal, profile, kind):
                found.append(record)
                if len(found) == limit:
                    break
        looked_at += limit
        more = len(page) > limit or (bool(page) and before != _answered_place(page[-1]))
        if not more or len(found) == limit or looked_at >= LOOKED_AT:
            break
    locale, now = locale_of(request, principal), parts.clock()
    return Items(
        items=[request_view(record, principal, locale, now) for record in found],
        next="{}:{}".format(*before) if more and before is not None else None,
    )


async def _places(parts: Parts, principal: Principal) -> list[str]:
    """Where what is asked there is asked of her too."""
    authorize(principal, Action.RUN_READ, Resource("run", "any", principal.tenant, owner=principal.account))
    spaces = [space.id for space in await parts.workspaces.list_for(principal.tenant, principal.actor())]
    if allowed(principal, Action.RUN_ANSWER, Resource("scheduled_run", "any", principal.tenant)):
        spaces.append(await parts.profiles.home(principal.tenant))  # where runs of schedules ask
    return [f"account:{principal.account}", *(f"workspace:{space}" for space in spaces)]


def _is_for(
    record: RequestRecord, principal: Principal, profile: str | None, kinds: Collection[RequestKind] | None
) -> bool:
    recipients = record.request.get("recipients") or ()
    is_hers = not recipients or principal.account in recipients
    return is_hers and profile in (None, record.profile) and (not kinds or record.kind in kinds)


def _place(record: RequestRecord) -> tuple[int, str]:
    return (NEVER if record.expires_microseconds is None else record.expires_microseconds), record.id


def _answered_place(record: RequestRecord) -> tuple[int, str]:
    return record.closed_microseconds or 0, record.id


def _parsed(cursor: str | None) -> tuple[int, str] | None:
    if cursor is None:
        return None
    time, _, identity = cursor.partition(":")
    if not time.isdecimal() or len(time) > 19 or not identity:
        raise CursorInvalid
    return int(time), identity


@router.get("/api/runs/{run}/requests", operation_id="list_requests")
async def list_requests(request: Request, parts: Installed, principal: SignedIn, run: str) -> Items[RequestView]:
    """All that a run has asked people, in the order in which it did; answered ones too."""
    record = await find_run(parts, principal, run, Action.RUN_READ)
    found = await parts.host.requests_of(RunId(record.run))
    has_access = allowed(principal, Action.RUN_ANSWER, run_resource(record))
    locale, now = locale_of(request, principal), parts.clock()
    return Items(items=[request_view(asked, principal, locale, now, has_access=has_access) for asked in found])


@router.get("/api/requests/{request_id}", operation_id="read_request")
async def read_request(request: Request, parts: Installed, principal: SignedIn, request_id: str) -> RequestView:
    """What a run asks, or asked, a person."""
    return await _view(request, parts, principal, request_id)


async def _view(request: Request, parts: Parts, principal: Principal, request_id: str) -> RequestView:
    found = await find_request(parts, principal, request_id, Action.RUN_READ)
    has_access = allowed(principal, Action.RUN_ANSWER, run_resource(found.run))
    locale = locale_of(request, principal)
    return request_view(found.request, principal, locale, parts.clock(), has_access=has_access)


@router.post("/api/requests/{request_id}/answer", operation_id="answer_request", status_code=202)
async def answer_request(
    parts: Installed,
    principal: SignedIn,
    request_id: str,
    given: AnswerGiven,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200)] = None,
) -> RequestAnsweredView:
    """Answer a request: 202 once the answer is accepted, and the run goes on. The first answer counts."""
    found = await find_request(parts, principal, request_id, Action.RUN_ANSWER)
    answered = await parts.host.answer(
        EventId(found.request.id),
        given.answer,
        actor=principal.actor(),
        tenant=principal.tenant,
        command_id=idempotency_key,
        message_id=MessageId(made_id(principal, request_id, idempotency_key)) if idempotency_key is not None else None,
    )
    return RequestAnsweredView(request_id=answered.request_id, run_id=answered.run_id, seq=answered.seq)
