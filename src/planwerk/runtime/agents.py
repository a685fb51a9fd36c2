"""Which agent a run asks for, whether it may, and what the other run begins with (E8.2, E8.4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from planwerk.access.actions import Action, Resource
from planwerk.access.authorize import allowed
from planwerk.access.identity import UserIdentity
from planwerk.access.ids import AccountId, TenantId
from planwerk.access.parts import principal_of
from planwerk.access.ports import Accounts
from planwerk.messages.events import UserMessageEvent
from planwerk.messages.prompts import user_prompt
from planwerk.runtime.capability_agents import CapabilityAgent
from planwerk.runtime.errors import RuntimeFault
from planwerk.runtime.profiles import (
    BlueprintRegistry,
    BlueprintTakesNoMessages,
    Profile,
    ProfileDirectory,
    UnknownProfile,
)
from planwerk.workflow import entries as journal
from planwerk.workflow.agents import Asked
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.composition import compose, start_classes
from planwerk.workflow.events import Event
from planwerk.workflow.ids import EventId, RunId, derived_id

MAX_DEPTH: Final = 4
"""Runs in a chain of agents that ask each other, the first one counted."""


class AgentsTooDeep(RuntimeFault):
    """An agent asks another one where the chain of runs is as long as it may be (E8.2)."""

    code = "agents_too_deep"
    http_status = 409

    def __init__(self, chain: Sequence[str], asked: str, limit: int) -> None:
        super().__init__(
            f"{chain[-1]} may not ask {asked}: the chain {'>'.join(chain)} has {len(chain)} runs, and {limit} is the "
            "limit (E8.2).",
            what_to_do="Answer without asking another agent; or raise the setting max_agent_depth.",
        )
        self.chain, self.asked, self.limit = tuple(chain), asked, limit


class StartNotReadable(RuntimeFault):
    """The start event that a run gives another one is of a class that is not known here."""

    code = "start_not_readable"
    http_status = 409

    def __init__(self, name: str) -> None:
        super().__init__(
            f"no class {name} of a start event is known here.",
            what_to_do="Serve the module that defines it together with both blueprints.",
        )


@dataclass(frozen=True, slots=True)
class FoundAgent:
    """A blueprint with the settings of one profile, or with its defaults."""

    blueprint: type[Agent]
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    profile: Profile | None = None


class FindsAgents(Protocol):
    """Finds what a run asks for."""

    async def find(self, parent: journal.RunOpened, asked: Asked) -> FoundAgent:
        """The agent that is asked for.

        Raises:
            PlanwerkError: There is none, it cannot be used, or who asks may not use it.
        """
        ...


class ServedAgents:
    """Finds agents among the profiles of an installation, with the rights of the person whose run asks.

    Runs that no person stands behind, such as those of a schedule, may use every profile of their tenant.
    """

    def __init__(self, profiles: ProfileDirectory, accounts: Accounts) -> None:
        self._profiles = profiles
        self._accounts = accounts

    async def find(self, parent: journal.RunOpened, asked: Asked) -> FoundAgent:
        if asked.profile is None:
            return _without_profile(self._profiles.blueprints.get(asked.agent), parent)
        tenant = TenantId(parent.tenant)
        asker = asker_of(parent)
        if asker.get("kind") == "user":
            usable = await self._usable(tenant, AccountId(str(asker.get("id"))))
            if asked.profile not in usable:
                raise UnknownProfile(asked.profile, usable)
        profile = await self._profiles.get(tenant, asked.profile)
        return FoundAgent(profile.blueprint, profile.data.config, profile)

    async def _usable(self, tenant: TenantId, account: AccountId) -> list[str]:
        found = await self._accounts.account(account)
        if found is None or found.disabled:
            return []
        principal = principal_of(found, "local")
        return [
            profile.slug
            for profile in await self._profiles.all(tenant)
            if allowed(principal, Action.PROFILE_USE, profile_resource(profile, tenant))
        ]


class NamedAgents:
    """Finds agents among blueprints, where there are no profiles: in tests and simulations.

    Args:
        blueprints: Those that can be asked by name.
        profiles: Blueprints by the id of the profile they stand for.
    """

    def __init__(
        self, blueprints: Iterable[type[Agent]] = (), profiles: Mapping[str, type[Agent]] | None = None
    ) -> None:
        self._profiles = dict(profiles or {})
        self.blueprints = BlueprintRegistry([*blueprints, *self._profiles.values()])

    async def find(self, parent: journal.RunOpened, asked: Asked) -> FoundAgent:
        if asked.profile is None:
            return _without_profile(self.blueprints.get(asked.agent), parent)
        if asked.profile not in self._profiles:
            raise UnknownProfile(asked.profile, self._profiles)
        return FoundAgent(self._profiles[asked.profile])


def _without_profile(blueprint: type[Agent], parent: journal.RunOpened) -> FoundAgent:
    """A blueprint with its defaults; one of a capability with settings of the run that asks."""
    if issubclass(blueprint, CapabilityAgent):
        return FoundAgent(blueprint, blueprint.settings_of(parent.config))
    return FoundAgent(blueprint)


def profile_resource(profile: Profile, tenant: TenantId) -> Resource:
    """A profile as `authorize` knows it."""
    access = frozenset(profile.data.access) or None
    return Resource("profile", profile.slug, tenant, access=access)


def asker_of(opened: journal.RunOpened) -> Mapping[str, Any]:
    """The actor with whose rights a run works."""
    return opened.on_behalf_of or opened.actor


def child_id(parent: str, request: EventId) -> RunId:
    """The id of the run that a request asks for: the same, whoever opens it and however often."""
    return RunId(derived_id(request, parent))


def chain_of(opened: journal.RunOpened) -> list[str]:
    """The agents of the runs above a run, and its own."""
    return [*opened.chain, opened.profile or opened.blueprint]


def refuse_too_deep(parent: journal.RunOpened, asked: Asked, limit: int) -> None:
    """Refuse one more run where the chain is as long as it may be.

    Raises:
        AgentsTooDeep: It is.
    """
    chain = chain_of(parent)
    if len(chain) >= limit:
        raise AgentsTooDeep(chain, asked.agent, limit)


def start_event(asked: Asked, parent: journal.RunOpened, parent_start: Event | None) -> Event:
    """What the other run begins with; a message is sent as the person who asks.

    Raises:
        StartNotReadable: It is of a class that is not known here.
    """
    if asked.message is None:
        assert asked.start is not None
        if asked.start.event_type == "UnknownEvent":
            raise StartNotReadable(str(getattr(asked.start, "wire_type", "")))
        return asked.start
    asker = asker_of(parent)
    user = getattr(parent_start, "user", None)
    if user is None and asker.get("kind") == "user":
        user = UserIdentity(id=str(asker["id"]), name=str(asker["name"]))
    locale = getattr(parent_start, "locale", None) or parent.locale
    return UserMessageEvent(messages=(user_prompt(asked.message),), user=user, locale=locale)


def opened_for(
    asked: Asked,
    parent: journal.RunOpened,
    run: RunId,
    found: FoundAgent | None,
    start: Event,
    now: int,
    *,
    request: EventId | None = None,
) -> journal.RunOpened:
    """The first entry of the run that is asked for.

    Args:
        found: The agent; None for a run that is recorded without being run.
        request: Of the parent, which its end answers.

    Raises:
        BlueprintTakesNoMessages: The blueprint is not started by this class of event.
    """
    taken = start_classes(found.blueprint) if found is not None else ()
    if found is not None and type(start) not in taken:
        names = (cls.__name__ for cls in taken)
        raise BlueprintTakesNoMessages(found.blueprint.__name__, type(start).__name__, names)
    profile = found.profile if found is not None else None
    return journal.RunOpened(
        run=run,
        at=now,
        blueprint=found.blueprint.__name__ if found is not None else asked.agent,
        fingerprint=compose(found.blueprint, type(start)).fingerprint if found is not None else "",
        config=dict(found.config) if found is not None else {},
        actor=dict(parent.actor),
        tenant=parent.tenant,
        workspace=parent.workspace,
        profile=profile.slug if profile is not None else asked.profile,
        profile_name=profile.data.name.text(parent.locale) if profile is not None else asked.profile,
        profile_version=profile.version if profile is not None else None,
        profile_description=profile.data.description.text(parent.locale) if profile is not None else "",
        locale=getattr(start, "locale", None) or parent.locale,
        traceparent=parent.traceparent,
        expires=parent.expires,
        parent=parent.run,
        request=request,
        chain=chain_of(parent),
        on_behalf_of=dict(parent.on_behalf_of) if parent.on_behalf_of is not None else None,
        scheduled=parent.scheduled,
    )
