"""What routes need of the installation they serve, and how they find a thread or a run for whoever asks.

`planwerk.app.Planwerk` has all of it; server/ does not import that. What is foreign, and what does not exist, looks the
same: every finder asks `authorize` before it gives anything back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, Protocol, cast

from fastapi import Depends
from starlette.requests import HTTPConnection

from planwerk.access import errors as refusals
from planwerk.access.actions import Action, Resource
from planwerk.access.actors import SystemActor
from planwerk.access.authorize import allowed, authorize
from planwerk.access.ids import AccountId, TenantId
from planwerk.access.principal import Principal
from planwerk.access.service import AccessService
from planwerk.capabilities.knowledge.library import Library
from planwerk.capabilities.memory.ports import MemoryStore
from planwerk.locales import LOCALES, best_locale
from planwerk.models.catalogue import ModelCatalogue
from planwerk.runtime.agents import profile_resource
from planwerk.runtime.errors import UnknownRun
from planwerk.runtime.forks import Forks
from planwerk.runtime.host import Host
from planwerk.runtime.live import LiveHub
from planwerk.runtime.ports import Clock, RequestRecord, RunRecord
from planwerk.runtime.profiles import BlueprintRegistry, Profile, ProfileDirectory, UnknownProfile
from planwerk.runtime.scheduling import Schedules
from planwerk.server.request_log import concerns
from planwerk.workflow.ids import EventId, RunId, ThreadId, WorkspaceId, parse_id
from planwerk.workspace.rules.errors import NotFound
from planwerk.workspace.views import ThreadSummary
from planwerk.workspace.workspace import Workspace
from planwerk.workspace.workspaces import Workspaces

QUEUED: Final = "queued"
"""Status of a run that is asked for and not opened yet; it has no journal, and no record of its own."""
SERVER_ACTOR: Final = SystemActor(name="server")


class Parts(Protocol):
    """The installation as the server uses it."""

    access: AccessService
    workspaces: Workspaces
    profiles: ProfileDirectory
    blueprints: BlueprintRegistry
    models: ModelCatalogue
    host: Host
    forks: Forks
    schedules: Schedules
    memories: MemoryStore
    live: LiveHub
    library: Library
    file_bytes: int
    """Largest file (S5.4)."""
    started: bool
    stateless_seconds: float
    """How long a run is kept whose request named no conversation (S4.1)."""
    clock: Clock

    async def start(self) -> None: ...

    async def stop(self, *, seconds: float = ...) -> None: ...


def parts_of(connection: HTTPConnection) -> Parts:
    """The installation that this application serves: `app.state.planwerk`."""
    return cast("Parts", connection.app.state.planwerk)


Installed = Annotated[Parts, Depends(parts_of)]


def locale_of(connection: HTTPConnection, principal: Principal | None = None) -> str:
    """The account's language, else the best of `Accept-Language`, else English (E1.9)."""
    if principal is not None and principal.locale:
        return best_locale(principal.locale)
    for part in connection.headers.get("Accept-Language", "").split(","):
        named = part.partition(";")[0].strip()
        if named and named.split("-")[0].lower() in LOCALES:
            return best_locale(named)
    return best_locale("en")


@dataclass(frozen=True, slots=True)
class FoundThread:
    """A thread that the asking person may use, with its workspace in her hands."""

    space: Workspace
    workspace: WorkspaceId
    summary: ThreadSummary
    """Without its messages and runs; `space.thread` reads those."""
    resource: Resource


async def find_workspace(parts: Parts, principal: Principal, workspace: str, action: Action) -> Workspace:
    """The workspace in the person's hands.

    Raises:
        NotFound: There is none, or it is not hers.
    """
    identity = parse_id(workspace, WorkspaceId)
    space = parts.workspaces.of(principal.tenant, identity, principal.actor())
    try:
        about = await space.about()
    except NotFound:
        authorize(principal, action, Resource.missing("workspace", workspace))
        raise
    kind = "admin_workspace" if about.kind == "admin" else "workspace"
    owner = AccountId(about.owner) if about.owner else None
    authorize(principal, action, Resource(kind, workspace, principal.tenant, owner=owner))
    concerns(workspace=workspace)
    return space


async def find_thread(parts: Parts, principal: Principal, thread: str, action: Action) -> FoundThread:
    """A thread by its id alone.

    Raises:
        NotFound: There is none, or it is not hers.
    """
    identity = parse_id(thread, ThreadId)
    workspace = await parts.workspaces.locate_thread(principal.tenant, identity)
    if workspace is None:
        authorize(principal, action, Resource.missing("thread", thread))
        raise NotFound("thread", thread)
    space = parts.workspaces.of(principal.tenant, workspace, principal.actor())
    try:
        about = await space.about()
        summary = await space.summary(identity)
    except NotFound:
        authorize(principal, action, Resource.missing("thread", thread))
        raise
    owner = AccountId(about.owner) if about.owner else None
    resource = Resource("thread", thread, principal.tenant, owner=owner)
    authorize(principal, action, resource)
    concerns(workspace=workspace, thread=thread)
    return FoundThread(space, workspace, summary, resource)


async def find_run(parts: Parts, principal: Principal, run: str, action: Action) -> RunRecord:
    """A run's record; of one that waits to be opened, what the log knows of it.

    Raises:
        NotFound: There is none, or it is not hers.
    """
    identity = parse_id(run, RunId)
    record = await known_run(parts, identity) or await _queued_run(parts, principal.tenant, identity)
    if record is None:
        authorize(principal, action, Resource.missing("run", run))
        raise NotFound("run", run)
    authorize(principal, action, run_resource(record))
    concerns(run=run, **({"thread": record.thread} if record.thread is not None else {}))
    return record


@dataclass(frozen=True, slots=True)
class FoundRequest:
    """What a run asks a person, and the run."""

    request: RequestRecord
    run: RunRecord


async def find_request(parts: Parts, principal: Principal, request: str, action: Action) -> FoundRequest:
    """A request to a person by its id alone; who may do what with it is who may with its run.

    Raises:
        NotFound: There is none, or its run is not hers.
    """
    identity = parse_id(request, EventId)
    try:
        record = await parts.host.request(identity, tenant=principal.tenant)
        run = await find_run(parts, principal, record.run, action)
    except (NotFound, refusals.NotFound):
        authorize(principal, action, Resource.missing("run", request))
        raise NotFound("request", request) from None
    return FoundRequest(record, run)


async def known_run(parts: Parts, run: RunId) -> RunRecord | None:
    """The record of a run that was opened; ask `authorize` before anything of it is shown."""
    try:
        return await parts.host.status(run)
    except UnknownRun:
        return None


async def _queued_run(parts: Parts, tenant: TenantId, run: RunId) -> RunRecord | None:
    place = await parts.workspaces.locate_run(tenant, run)
    if place is None:
        return None
    workspace, thread = place
    found = await parts.workspaces.of(tenant, workspace, SERVER_ACTOR).run(run)
    return RunRecord(
        run=run,
        tenant=tenant,
        workspace=workspace,
        thread=thread,
        message=found.message,
        profile=found.profile,
        profile_name=found.profile_name or None,
        profile_version=found.profile_version,
        blueprint=found.blueprint or "",
        status=QUEUED,
        actor=found.requested_by.model_dump(mode="json"),
        started_microseconds=round(found.requested.timestamp() * 1e6),
    )


def run_resource(record: RunRecord) -> Resource:
    """A run as `authorize` knows it: its owner is who started it, or on whose behalf it was; a schedule's has none."""
    owner = AccountId(record.owner) if record.owner is not None else None
    kind = "scheduled_run" if owner is None and record.scheduled_microseconds is not None else "run"
    return Resource(kind, record.run, TenantId(record.tenant), owner=owner)


def may_inspect(principal: Principal, record: RunRecord) -> bool:
    """Whether she may see whole prompts and what the run cost (S2.4)."""
    return allowed(principal, Action.RUN_INSPECT, run_resource(record))


async def find_profile(parts: Parts, principal: Principal, slug: str, action: Action) -> Profile:
    """A profile by its slug; to read or edit it, also one that cannot be used.

    Raises:
        UnknownProfile: There is none, or it is not hers to see: nobody can tell which.
        ProfileInvalid: It cannot be used until it is edited.
    """
    known = {profile.slug: profile for profile in await parts.profiles.all(principal.tenant)}
    profile = known.get(slug)
    missing = Resource.missing("profile", slug)
    try:
        authorize(principal, action, profile_resource(profile, principal.tenant) if profile is not None else missing)
    except refusals.NotFound:
        raise UnknownProfile(slug, [usable.slug for usable in await usable_profiles(parts, principal)]) from None
    found = known[slug]
    if found.problem is not None and action not in {Action.PROFILE_READ, Action.PROFILE_EDIT}:
        raise found.problem
    return found


async def usable_profiles(parts: Parts, principal: Principal) -> list[Profile]:
    """The profiles a person may use, the default one first."""
    return [
        profile
        for profile in await parts.profiles.list(principal.tenant)
        if allowed(principal, Action.PROFILE_USE, profile_resource(profile, principal.tenant))
    ]
