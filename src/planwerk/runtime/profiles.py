"""Profiles: versioned configurations of blueprints, kept as artifacts of the admin workspace (S2.1)."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from pydantic import Field, ValidationError

from planwerk.access.actors import Actor, SystemActor
from planwerk.access.ids import TenantId
from planwerk.runtime.capability_agents import CapabilityAgent
from planwerk.runtime.errors import RuntimeFault
from planwerk.runtime.schedules import MIN_SECONDS, ProfileSchedule, changed_schedule, check_schedule
from planwerk.workflow.blueprint import Agent, AgentConfig, ProfileTemplate
from planwerk.workflow.composition import start_classes
from planwerk.workflow.events import Event
from planwerk.workflow.ids import ArtifactId, WorkspaceId, new_id
from planwerk.workflow.locale_string import LocaleString
from planwerk.workspace.rules.artifacts import Artifact
from planwerk.workspace.rules.commands import CreateArtifact, EditArtifact
from planwerk.workspace.rules.events import When
from planwerk.workspace.workspaces import Workspaces

log = logging.getLogger(__name__)

PROFILES: Final = SystemActor(name="profiles")
SLUG: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


class ProfileArtifact(Artifact, name="profile"):
    """An admin's named configuration of a blueprint; `slug` is its id for people and in `/v1`."""

    slug: str = Field(pattern=SLUG.pattern)
    name: LocaleString
    description: LocaleString = LocaleString("")
    icon: str | None = None
    starters: tuple[LocaleString, ...] = ()
    blueprint: str
    config: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Settings that differ from the blueprint's defaults."""
    access: tuple[str, ...] = ()
    """`account:ID`, `role:NAME` and `group:NAME` that may use it; empty is everyone of the tenant."""
    models: tuple[str, ...] = ()
    """Models the profile may use, as `provider:name`; empty is every model of the server."""
    when: When = "next"
    """What a message that comes while a run works does, where its sender does not say (S2.3)."""
    schedule: ProfileSchedule | None = None
    """When it runs by itself, and with what (E8.3)."""


class UnknownProfile(RuntimeFault):
    """There is no profile of this id here."""

    code = "profile_not_found"
    http_status = 404

    def __init__(self, slug: str, known: Iterable[str] = ()) -> None:
        listed = ", ".join(known)
        super().__init__(
            f"there is no profile {slug[:80]!r}.",
            what_to_do=f"Use one of: {listed}." if listed else "List the profiles.",
        )
        self.slug = slug


class UnknownBlueprint(RuntimeFault):
    """The blueprint of a profile or a run is not served here."""

    code = "blueprint_not_found"
    http_status = 409

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the blueprint {name!r} is not served here.",
            what_to_do="Serve the module that defines it: planwerk serve FILE.",
        )
        self.name = name


class ProfileInvalid(RuntimeFault):
    """A profile's settings do not fit its blueprint's config."""

    code = "profile_invalid"
    http_status = 422

    def __init__(self, slug: str, errors: Sequence[Mapping[str, Any]]) -> None:
        shown = "; ".join(f"{'.'.join(map(str, error['loc'])) or 'config'}: {error['msg']}" for error in errors)
        super().__init__(
            f"the settings of profile {slug!r} are not valid: {shown}.", what_to_do="Correct the fields named."
        )
        self.slug = slug
        self.errors = [{"loc": list(error["loc"]), "msg": error["msg"], "type": error["type"]} for error in errors]


class SlugTaken(RuntimeFault):
    """Another profile has this id."""

    code = "profile_exists"
    http_status = 409


class BlueprintTakesNoMessages(RuntimeFault):
    """The blueprint has no step that takes this start event."""

    code = "start_not_taken"
    http_status = 409

    def __init__(self, blueprint: str, start: str, taken: Iterable[str]) -> None:
        super().__init__(
            f"{blueprint} cannot be started with {start}.",
            what_to_do=f"Start it with {' or '.join(taken) or 'nothing'}.",
        )


class NotABlueprint(RuntimeFault):
    """What is to be served is no class of an agent."""

    code = "not_a_blueprint"

    def __init__(self, found: object, *, what_to_do: str) -> None:
        named = found.__name__ if isinstance(found, type) else f"an object of {type(found).__name__}"
        super().__init__(f"blueprints are a list of classes; {named} is none.", what_to_do=what_to_do)


class BlueprintRegistry:
    """The blueprints served here, in order; of two of one name the first one, so that one's own replaces a shipped one.

    Those of capabilities (`CapabilityAgent`) are found by name, and are neither listed nor there for profiles.

    Raises:
        NotABlueprint: Something among them is no class of an agent.
    """

    def __init__(
        self, blueprints: Iterable[type[Agent]] = (), *, of_capabilities: Iterable[type[CapabilityAgent]] = ()
    ) -> None:
        if isinstance(blueprints, type):
            raise NotABlueprint(blueprints, what_to_do=f"Give a list: [{blueprints.__name__}].")
        self._blueprints: dict[str, type[Agent]] = {}
        for blueprint in cast("Iterable[object]", (*blueprints, *of_capabilities)):
            if not (isinstance(blueprint, type) and issubclass(blueprint, Agent)):
                raise NotABlueprint(
                    cast("object", blueprint), what_to_do="Give classes that derive from Agent, not objects of them."
                )
            self._blueprints.setdefault(blueprint.__name__, blueprint)

    def __iter__(self) -> Any:
        return (blueprint for blueprint in self._blueprints.values() if not issubclass(blueprint, CapabilityAgent))

    def __contains__(self, name: object) -> bool:
        return any(blueprint.__name__ == name for blueprint in self)

    def get(self, name: str) -> type[Agent]:
        """The blueprint of this name.

        Raises:
            UnknownBlueprint: It is not served here.
        """
        blueprint = self._blueprints.get(name)
        if blueprint is None:
            raise UnknownBlueprint(name)
        return blueprint


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile as it is now, with its blueprint and settings ready to use."""

    artifact_id: ArtifactId
    version: int
    data: ProfileArtifact
    blueprint: type[Agent]
    config: AgentConfig
    """The blueprint's defaults where there is a problem."""
    problem: ProfileInvalid | None = None
    """Why it cannot be used: its blueprint's config has changed since it was stored. It can be read and edited."""
    updated_microseconds: int = 0
    """When this version was made."""

    @property
    def slug(self) -> str:
        return self.data.slug

    def refuse_unless_started_by(self, start: type[Event]) -> None:
        """Refuse a start event that no step of the blueprint takes."""
        taken = start_classes(self.blueprint)
        if start not in taken:
            raise BlueprintTakesNoMessages(self.blueprint.__name__, start.__name__, (cls.__name__ for cls in taken))


class ProfileDirectory:
    """Finds profiles, makes the default ones, and keeps what it read until the admin workspace changes."""

    def __init__(
        self, workspaces: Workspaces, blueprints: BlueprintRegistry, *, schedule_min_seconds: float = MIN_SECONDS
    ) -> None:
        self.blueprints = blueprints
        self._schedule_min_seconds = schedule_min_seconds
        self._workspaces = workspaces
        self._cache: dict[TenantId, tuple[int, dict[str, Profile]]] = {}
        self._homes: dict[TenantId, WorkspaceId] = {}
        self._changing = asyncio.Lock()
        """Two who choose one slug at one moment: the second is refused."""
        workspaces.register(ProfileArtifact)

    async def home(self, tenant: TenantId) -> WorkspaceId:
        """The tenant's admin workspace."""
        if tenant not in self._homes:
            self._homes[tenant] = await self._workspaces.admin_of(tenant)
        return self._homes[tenant]

    async def ensure_defaults(self, tenant: TenantId) -> None:
        """Make a profile of each served blueprint that has none, from its default template (S2.1)."""
        known = {profile.data.blueprint for profile in await self._stored(tenant)}
        for blueprint in self.blueprints:
            if blueprint.__name__ not in known:
                data = _from_template(blueprint, await self._free_slug(tenant, blueprint))
                await self.create(tenant, data, actor=PROFILES)
        for profile in await self.all(tenant):
            if profile.problem is not None:
                log.warning("%s It is not offered until an admin does: planwerk profiles edit", profile.problem)

    async def list(self, tenant: TenantId) -> list[Profile]:
        """The usable profiles: first those of the first blueprint served, in the order of their creation."""
        return [profile for profile in await self.all(tenant) if profile.problem is None]

    async def all(self, tenant: TenantId) -> list[Profile]:
        """The profiles in the same order, those among them that have a problem."""
        return list((await self._current(tenant)).values())

    async def get(self, tenant: TenantId, slug: str) -> Profile:
        """The profile of this id.

        Raises:
            UnknownProfile: There is none.
            ProfileInvalid: Its settings do not fit its blueprint any more.
        """
        profile = await self._find(tenant, slug)
        if profile.problem is not None:
            raise profile.problem
        return profile

    async def _find(self, tenant: TenantId, slug: str) -> Profile:
        profiles = await self._current(tenant)
        found = profiles.get(slug)
        if found is None:
            raise UnknownProfile(slug, (profile.slug for profile in profiles.values() if profile.problem is None))
        return found

    async def create(
        self, tenant: TenantId, data: ProfileArtifact, *, actor: Actor, artifact_id: ArtifactId | None = None
    ) -> Profile:
        """Store a new profile.

        Raises:
            SlugTaken: Another profile has its slug.
            UnknownBlueprint: Its blueprint is not served here.
            ProfileInvalid: Its settings do not fit the blueprint.
            ScheduleInvalid: Its schedule cannot be kept.
        """
        self.check(data)
        self._check_schedule(data)
        identity = artifact_id or ArtifactId(new_id())
        async with self._changing:
            await self._refuse_if_taken(tenant, data.slug)
            workspace = self._workspaces.of(tenant, await self.home(tenant), actor)
            await workspace.send(CreateArtifact(artifact_id=identity, artifact_type="profile", data=data.to_data()))
        return await self.get(tenant, data.slug)

    async def edit(
        self, tenant: TenantId, slug: str, changes: Mapping[str, Any], *, actor: Actor, base_version: int | None = None
    ) -> Profile:
        """Change fields of a profile; what is not named stays, also within its schedule.

        Args:
            base_version: The version the changes were made on; the current one if missing.

        Raises:
            VersionConflict: The profile has changed since.
            ProfileInvalid: The settings do not fit the blueprint.
            SlugTaken: Another profile has the new slug.
            ScheduleInvalid: The schedule cannot be kept.
        """
        profile = await self._find(tenant, slug)
        fields = {**profile.data.to_data(), **changes}
        if "schedule" in changes:
            fields["schedule"] = changed_schedule(profile.data.schedule, changes["schedule"])
        try:
            edited = ProfileArtifact.model_validate(fields)
        except ValidationError as error:
            raise ProfileInvalid(slug, [dict(found) for found in error.errors(include_url=False)]) from error
        self.check(edited)
        if edited.schedule != profile.data.schedule:
            self._check_schedule(edited)
        before, after = profile.data.to_data(), edited.to_data()
        patch = tuple(
            {"op": "replace", "path": f"/{name}", "value": after[name]} for name in after if after[name] != before[name]
        )
        if patch:
            workspace = self._workspaces.of(tenant, await self.home(tenant), actor)
            version = base_version if base_version is not None else profile.version
            async with self._changing:
                if edited.slug != profile.slug:
                    await self._refuse_if_taken(tenant, edited.slug)
                await workspace.send(
                    EditArtifact(artifact_id=profile.artifact_id, base_version=version, json_patch=patch)
                )
        return await self.get(tenant, edited.slug)

    async def _refuse_if_taken(self, tenant: TenantId, slug: str) -> None:
        if any(profile.data.slug == slug for profile in await self._stored(tenant)):
            raise SlugTaken(f"there is a profile {slug!r} already.", what_to_do="Choose another id, or edit that one.")

    def check(self, data: ProfileArtifact) -> AgentConfig:
        """The profile's settings as its blueprint's config.

        Raises:
            UnknownBlueprint: Its blueprint is not served here.
            ProfileInvalid: The settings do not fit.
        """
        if data.blueprint not in self.blueprints:
            raise UnknownBlueprint(data.blueprint)
        blueprint = self.blueprints.get(data.blueprint)
        try:
            return blueprint.config.model_validate(data.config)
        except ValidationError as error:
            raise ProfileInvalid(data.slug, [dict(found) for found in error.errors(include_url=False)]) from error

    def _check_schedule(self, data: ProfileArtifact) -> None:
        if data.schedule is not None:
            blueprint = self.blueprints.get(data.blueprint)
            check_schedule(data.schedule, blueprint, least_seconds=self._schedule_min_seconds)

    async def _current(self, tenant: TenantId) -> dict[str, Profile]:
        home = await self.home(tenant)
        head = await self._workspaces.storage.head_seq(home)
        cached = self._cache.get(tenant)
        if cached is None or cached[0] != head:
            cached = (head, await self._load(tenant))
            self._cache[tenant] = cached
        return cached[1]

    async def _load(self, tenant: TenantId) -> dict[str, Profile]:
        order = {blueprint.__name__: place for place, blueprint in enumerate(self.blueprints)}
        found: list[Profile] = []
        for stored in await self._stored(tenant):
            if stored.data.blueprint in self.blueprints:
                blueprint = self.blueprints.get(stored.data.blueprint)
                problem = None
                try:
                    config = self.check(stored.data)
                except ProfileInvalid as error:
                    config, problem = blueprint.config(), error
                updated = round(stored.updated.timestamp() * 1e6)
                found.append(Profile(stored.id, stored.version, stored.data, blueprint, config, problem, updated))
        found.sort(key=lambda profile: order[profile.data.blueprint])
        return {profile.slug: profile for profile in found}

    async def _stored(self, tenant: TenantId) -> Any:
        workspace = self._workspaces.of(tenant, await self.home(tenant), PROFILES)
        return await workspace.artifacts(ProfileArtifact)

    async def _free_slug(self, tenant: TenantId, blueprint: type[Agent]) -> str:
        taken = {stored.data.slug for stored in await self._stored(tenant)}
        wanted = slug_of(_template(blueprint).name.text()) or slug_of(blueprint.__name__) or "profile"
        slug, number = wanted, 2
        while slug in taken:
            slug, number = f"{wanted}-{number}", number + 1
        return slug


def slug_of(text: str) -> str:
    """A text as an id: lower case, words joined by hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:64]


def _template(blueprint: type[Agent]) -> ProfileTemplate:
    templates = blueprint.templates
    chosen = next((template for template in templates if template.is_default), templates[0] if templates else None)
    if chosen is not None:
        return chosen
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", blueprint.__name__)
    return ProfileTemplate(name=LocaleString(words), description=LocaleString(blueprint.summary()))


def _from_template(blueprint: type[Agent], slug: str) -> ProfileArtifact:
    template = _template(blueprint)
    return ProfileArtifact(
        slug=slug,
        name=template.name,
        description=template.description,
        icon=template.icon,
        starters=template.starters,
        blueprint=blueprint.__name__,
        config=dict(template.config),
    )
