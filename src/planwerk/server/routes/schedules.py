"""`/api/schedules`: which profiles run by themselves, what became of that, and starting one by hand (E8.3).

All of it is for those who may edit the profile: what nobody may is not in the lists.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Request, Response

from planwerk.access.actions import Action, Resource
from planwerk.access.authorize import allowed, authorize
from planwerk.access.principal import Principal
from planwerk.runtime.agents import profile_resource
from planwerk.runtime.scheduling import ScheduleStatus
from planwerk.server.authentication import SignedIn
from planwerk.server.made_ids import made_id
from planwerk.server.parts import Installed, Parts, find_profile, locale_of
from planwerk.server.schedule_views import failure_view, status_view
from planwerk.server.shapes import (
    Items,
    RunAccepted,
    ScheduleDismissal,
    ScheduleFailureView,
    ScheduleStatusView,
)
from planwerk.workflow.ids import RunId

router = APIRouter(tags=["schedules"])


@router.get("/api/schedules", operation_id="list_schedules")
async def list_schedules(request: Request, parts: Installed, principal: SignedIn) -> Items[ScheduleStatusView]:
    """The schedules of all profiles the person may edit, with what became of their last occurrences."""
    locale, now = locale_of(request, principal), parts.clock()
    return Items(items=[status_view(status, locale, now) for status in await _statuses(parts, principal)])


@router.get("/api/schedules/failures", operation_id="list_schedule_failures")
async def list_schedule_failures(request: Request, parts: Installed, principal: SignedIn) -> Items[ScheduleFailureView]:
    """The schedules whose runs have failed since somebody last put that away; a part of the inbox (U5)."""
    locale = locale_of(request, principal)
    found = (failure_view(status, locale) for status in await _statuses(parts, principal))
    return Items(items=[failure for failure in found if failure is not None])


async def _statuses(parts: Parts, principal: Principal) -> list[ScheduleStatus]:
    authorize(principal, Action.PROFILE_READ, Resource.of_tenant(principal.tenant))
    return [
        await parts.schedules.status(profile)
        for profile in await parts.profiles.all(principal.tenant)
        if profile.data.schedule is not None
        and allowed(principal, Action.PROFILE_EDIT, profile_resource(profile, principal.tenant))
    ]


@router.get("/api/profiles/{profile}/schedule", operation_id="read_schedule")
async def read_schedule(request: Request, parts: Installed, principal: SignedIn, profile: str) -> ScheduleStatusView:
    """A profile's schedule with what became of its last occurrences."""
    found = await find_profile(parts, principal, profile, Action.PROFILE_EDIT)
    status = await parts.schedules.status(found)
    return status_view(status, locale_of(request, principal), parts.clock())


@router.post("/api/profiles/{profile}/schedule/run", operation_id="run_schedule", status_code=202)
async def run_schedule(
    response: Response,
    parts: Installed,
    principal: SignedIn,
    profile: str,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200)] = None,
) -> RunAccepted:
    """Start at once what the schedule starts, as it does, also while it is paused.

    202 once it is accepted; sending it again with the same key changes nothing.
    """
    found = await find_profile(parts, principal, profile, Action.PROFILE_EDIT)
    named = None
    if idempotency_key is not None:
        named = RunId(made_id(principal, f"schedule {found.artifact_id}", idempotency_key))
    run = await parts.schedules.run_now(principal.tenant, found, by=principal.name, run=named)
    response.headers["Location"] = f"/api/runs/{run}"
    return RunAccepted(run_id=run)


@router.post("/api/profiles/{profile}/schedule/dismiss", operation_id="dismiss_schedule_failure", status_code=204)
async def dismiss_schedule_failure(
    parts: Installed, principal: SignedIn, profile: str, given: ScheduleDismissal
) -> None:
    """Put the failure of a run away, and those before it; what fails later is shown again."""
    found = await find_profile(parts, principal, profile, Action.PROFILE_EDIT)
    await parts.schedules.dismiss(found, given.run)
