"""`/api/profiles` and `/api/blueprints`: what people chat with, and what it is made of (S2.1)."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import ValidationError

from planwerk.access.actions import Action, Resource
from planwerk.access.authorize import allowed, authorize
from planwerk.access.principal import Principal
from planwerk.runtime.agents import profile_resource
from planwerk.runtime.profiles import Profile, ProfileArtifact, ProfileInvalid
from planwerk.runtime.schedules import ProfileSchedule
from planwerk.runtime.steering import is_steerable
from planwerk.server.authentication import SignedIn
from planwerk.server.etags import IfMatchFailed, etag, version_of
from planwerk.server.parts import (
    Installed,
    Parts,
    find_profile,
    locale_of,
    usable_profiles,
)
from planwerk.server.schedule_views import schedule_view
from planwerk.server.shapes import (
    BlueprintView,
    Items,
    ProfileChange,
    ProfileGiven,
    ProfileModel,
    ProfileView,
    ScheduleView,
    TemplateView,
)
from planwerk.workflow.composition import start_classes
from planwerk.workflow.locale_string import LocaleString
from planwerk.workspace.rules.errors import VersionConflict

router = APIRouter(tags=["profiles"])


@router.get("/api/profiles", operation_id="list_profiles")
async def list_profiles(
    request: Request,
    parts: Installed,
    principal: SignedIn,
    broken: Annotated[bool, Query(description="Also those that the person may edit and nobody can use.")] = False,
) -> Items[ProfileView]:
    """The profiles the person may use, the default one first."""
    locale = locale_of(request, principal)
    profiles = await usable_profiles(parts, principal)
    if broken:
        profiles += [
            profile
            for profile in await parts.profiles.all(principal.tenant)
            if profile.problem is not None
            and allowed(principal, Action.PROFILE_EDIT, profile_resource(profile, principal.tenant))
        ]
    items = [
        profile_view(parts, profile, principal, locale, is_default=place == 0 and profile.problem is None)
        for place, profile in enumerate(profiles)
    ]
    return Items(items=items)


@router.get("/api/profiles/{profile}", operation_id="read_profile")
async def read_profile(
    request: Request, response: Response, parts: Installed, principal: SignedIn, profile: str
) -> ProfileView:
    """One profile; with its settings for those who may edit it."""
    found = await find_profile(parts, principal, profile, Action.PROFILE_READ)
    response.headers["ETag"] = etag(found.version)
    return await _full(request, parts, principal, found)


@router.post("/api/profiles", operation_id="create_profile", status_code=201)
async def create_profile(
    request: Request, response: Response, parts: Installed, principal: SignedIn, given: ProfileGiven
) -> ProfileView:
    """Make a profile of a served blueprint."""
    authorize(principal, Action.PROFILE_CREATE, Resource.of_tenant(principal.tenant))
    data = ProfileArtifact(
        slug=given.id,
        name=_text(given.name),
        description=_text(given.description),
        icon=given.icon,
        starters=tuple(map(_text, given.starters)),
        blueprint=given.blueprint,
        config=given.config,
        access=tuple(given.access),
        models=tuple(given.models),
        when=given.when_default,
        schedule=_schedule(given),
    )
    made = await parts.profiles.create(principal.tenant, data, actor=principal.actor())
    response.headers["ETag"] = etag(made.version)
    response.headers["Location"] = f"/api/profiles/{made.slug}"
    return await _full(request, parts, principal, made)


@router.patch("/api/profiles/{profile}", operation_id="change_profile")
async def change_profile(
    request: Request,
    response: Response,
    parts: Installed,
    principal: SignedIn,
    profile: str,
    change: ProfileChange,
    if_match: Annotated[str | None, Header()] = None,
) -> ProfileView:
    """Change a profile; with `If-Match`, only the version the change was made on."""
    await find_profile(parts, principal, profile, Action.PROFILE_EDIT)
    changes: dict[str, Any] = change.model_dump(exclude_unset=True)
    for name in ("name", "description"):
        if changes.get(name) is not None:
            changes[name] = _text(changes[name]).model_dump()
    if changes.get("starters") is not None:
        changes["starters"] = [_text(starter).model_dump() for starter in changes["starters"]]
    if "when_default" in changes:
        changes["when"] = changes.pop("when_default") or "next"
    base = version_of(if_match)
    try:
        edited = await parts.profiles.edit(
            principal.tenant, profile, changes, actor=principal.actor(), base_version=base
        )
    except VersionConflict as conflict:
        raise IfMatchFailed.of(conflict) if base is not None else conflict from None
    response.headers["ETag"] = etag(edited.version)
    return await _full(request, parts, principal, edited)


@router.get("/api/blueprints", operation_id="list_blueprints")
async def list_blueprints(request: Request, parts: Installed, principal: SignedIn) -> Items[BlueprintView]:
    """The blueprints served here, with the forms of their profiles."""
    authorize(principal, Action.BLUEPRINT_READ, Resource.of_tenant(principal.tenant))
    locale = locale_of(request, principal)
    views = [
        BlueprintView(
            name=blueprint.__name__,
            description=blueprint.summary(),
            config_schema=blueprint.config.model_json_schema(),
            starts=[cls.__name__ for cls in start_classes(blueprint)],
            templates=[
                TemplateView(
                    name=template.name.text(locale),
                    description=template.description.text(locale),
                    config=dict(template.config),
                    is_default=template.is_default,
                )
                for template in blueprint.templates
            ],
        )
        for blueprint in parts.blueprints
    ]
    return Items(items=views)


async def _full(request: Request, parts: Parts, principal: Principal, profile: Profile) -> ProfileView:
    profiles = await usable_profiles(parts, principal)
    is_default = bool(profiles) and profiles[0].slug == profile.slug
    view = profile_view(parts, profile, principal, locale_of(request, principal), is_default=is_default)
    if allowed(principal, Action.PROFILE_EDIT, profile_resource(profile, principal.tenant)):
        view.config = dict(profile.data.config)
        view.config_schema = profile.blueprint.config.model_json_schema()
        view.access = list(profile.data.access)
        view.models = list(profile.data.models)
    return view


def _schedule(given: ProfileGiven) -> ProfileSchedule | None:
    """The schedule of a new profile.

    Raises:
        ProfileInvalid: Its fields do not fit.
    """
    if given.schedule is None:
        return None
    try:
        return ProfileSchedule.model_validate(given.schedule.model_dump(exclude_none=True))
    except ValidationError as error:
        found = [{**one, "loc": ("schedule", *one["loc"])} for one in error.errors(include_url=False)]
        raise ProfileInvalid(given.id, found) from error


def profile_view(parts: Parts, profile: Profile, principal: Principal, locale: str, *, is_default: bool) -> ProfileView:
    """A profile as people see it: what it is for, what data it sees, and where its model runs."""
    model = parts.models.describe(getattr(profile.config, "llm", None) or parts.models.default.name)
    return ProfileView(
        id=profile.slug,
        artifact_id=profile.artifact_id,
        name=profile.data.name.text(locale),
        description=profile.data.description.text(locale),
        icon=profile.data.icon,
        starters=[starter.text(locale) for starter in profile.data.starters],
        data=[],
        model=ProfileModel(name=model.name, location=model.location),
        version=profile.version,
        blueprint=profile.data.blueprint,
        is_default=is_default,
        when_default=profile.data.when,
        steerable=is_steerable(profile.blueprint),
        problem=str(profile.problem) if profile.problem is not None else None,
        schedule=_schedule_view(parts, profile, principal),
    )


def _schedule_view(parts: Parts, profile: Profile, principal: Principal) -> ScheduleView | None:
    schedule = profile.data.schedule
    if schedule is None or not allowed(principal, Action.PROFILE_EDIT, profile_resource(profile, principal.tenant)):
        return None
    return schedule_view(schedule, profile.blueprint, parts.clock())


def _text(given: str | dict[str, str]) -> LocaleString:
    return LocaleString(given) if isinstance(given, str) else LocaleString(**given)
