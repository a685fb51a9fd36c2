"""What can be done, and to what: the closed words of `authorize`, and the scopes of API keys."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal, TypeAlias

from planwerk.access.ids import DEFAULT_TENANT, AccountId, TenantId


class Role(StrEnum):
    """What an account is in its tenant, the mightiest first."""

    OWNER = "owner"
    ADMIN = "admin"
    BUILDER = "builder"
    MEMBER = "member"


class Action(StrEnum):
    """Everything a surface can ask for; each value is also a scope of an API key."""

    SERVER_READ = "server.read"
    """Version, locales, ways to sign in, health. Public."""
    SERVER_MANAGE = "server.manage"
    """Settings of the installation and its full report."""
    V1_USE = "v1.use"
    """The OpenAI-compatible surface; each profile there is asked for by `profile.use` besides."""
    ACCOUNT_READ = "account.read"
    ACCOUNT_EDIT = "account.edit"
    """Name and locale of an account."""
    ACCOUNT_PASSWORD = "account.password"
    """Set a password; whoever can, can sign in as that account."""
    ACCOUNT_MANAGE = "account.manage"
    """Create accounts, change roles, disable and enable."""
    KEY_MANAGE = "key.manage"
    """On an account: list and make its keys; on a key: see and revoke it; on a tenant: list all keys."""
    BLUEPRINT_READ = "blueprint.read"
    PROFILE_READ = "profile.read"
    PROFILE_USE = "profile.use"
    """Start runs of it: post messages, start it by REST, name it as a model on `/v1`."""
    PROFILE_CREATE = "profile.create"
    PROFILE_EDIT = "profile.edit"
    """Change it, and see its configuration."""
    WORKSPACE_READ = "workspace.read"
    WORKSPACE_WRITE = "workspace.write"
    THREAD_READ = "thread.read"
    THREAD_WRITE = "thread.write"
    """On a workspace: make a thread in it; on a thread: post, rename, retract."""
    RUN_READ = "run.read"
    """On a run: all that it did; on a tenant: list one's own."""
    RUN_STOP = "run.stop"
    RUN_FORK = "run.fork"
    """Make a run that goes on from a position of it; with other settings only with `profile.edit` besides."""
    RUN_ANSWER = "run.answer"
    """Answer what it asks a person."""
    RUN_INSPECT = "run.inspect"
    """Whole prompts, arguments marked secret, cost (S2.4)."""
    MEMORY_READ = "memory.read"
    """On memories: what is remembered of oneself; on a namespace or a tenant: what the organisation keeps."""
    MEMORY_EDIT = "memory.edit"
    """Change and delete it; on a namespace: add to it."""
    COLLECTION_READ = "collection.read"
    """Search a collection, and read its documents."""
    COLLECTION_CREATE = "collection.create"
    COLLECTION_EDIT = "collection.edit"
    """Bring and delete documents, say who may read it, delete it."""


ResourceKind: TypeAlias = Literal[
    "server",
    "tenant",
    "account",
    "key",
    "profile",
    "workspace",
    "admin_workspace",
    "thread",
    "run",
    "scheduled_run",
    "memory",
    "namespace",
    "collection",
]


@dataclass(frozen=True, slots=True)
class Resource:
    """A thing that is asked for, with all that decides who may.

    A route that finds nothing asks with `Resource.missing(kind, id)`: the answer is then the same as for a foreign one.
    """

    kind: ResourceKind
    id: str
    tenant: TenantId | None
    """None only for what does not exist."""
    owner: AccountId | None = None
    """Whose it is: the account itself, the key's account, the person of a private workspace, thread or run."""
    members: frozenset[AccountId] = frozenset()
    """Accounts beside the owner that share it: members of the workspace, those a thread is shared with."""
    access: frozenset[str] | None = None
    """The access list of a profile or a collection: `role:NAME`, `group:NAME`, `account:ID`, of a collection also
    `profile:SLUG`; None is the whole tenant, empty nobody."""
    role: Role | None = None
    """Of an account: the mightier of the role it has and the role the change would give it."""

    @classmethod
    def missing(cls, kind: ResourceKind, name: str) -> Resource:
        """What does not exist."""
        return cls(kind, name, None)

    @classmethod
    def of_tenant(cls, tenant: TenantId) -> Resource:
        """The tenant as the place where new things are made and all things of a kind are listed."""
        return cls("tenant", tenant, tenant)


SERVER: Final = Resource("server", "server", DEFAULT_TENANT)
"""The installation; managing it belongs to the tenant `default`."""
