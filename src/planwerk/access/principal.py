"""Who is asking, as every surface knows them after looking at a session or a key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from planwerk.access.actions import Action, Role
from planwerk.access.actors import UserActor
from planwerk.access.identity import UserIdentity
from planwerk.access.ids import AccountId, TenantId

Via: TypeAlias = Literal["session", "key", "local"]
"""A browser's cookie, an API key, or this process itself (a command that runs without a server)."""


@dataclass(frozen=True, slots=True)
class Principal:
    """An account at work. Made anew for each request, so it holds what the account may do now, not at sign-in."""

    tenant: TenantId
    account: AccountId
    name: str
    role: Role
    locale: str | None = None
    """None follows the browser."""
    scopes: frozenset[Action] | None = None
    """What the key is narrowed to; None is everything the account may do."""
    via: Via = "session"
    credential: str = ""
    """Which session or key, by its public id; never the secret."""
    groups: frozenset[str] = frozenset()

    def actor(self) -> UserActor:
        """The person as the one who did something."""
        return UserActor(id=self.account, name=self.name)

    def identity(self) -> UserIdentity:
        """The person as blueprints see them."""
        return UserIdentity(id=self.account, name=self.name)
