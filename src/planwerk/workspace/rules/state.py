"""What the rules see of a workspace: entities, the keys they are loaded by, and the state of one decision.

The rules name what they need by `Key`s; the handle loads those and asks again, until nothing is missing (A2.1). An
entity is the sum of the log's events about one thing, kept so that nobody has to read the log to decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, TypeAlias, TypeVar, cast

from pydantic import BaseModel, ConfigDict

from planwerk.access.actors import Actor
from planwerk.access.ids import TenantId
from planwerk.workflow.ids import ArtifactId, EventId, MessageId, RunId, ThreadId, WorkspaceId
from planwerk.workspace.rules.artifacts import Artifact
from planwerk.workspace.rules.errors import NotFound
from planwerk.workspace.rules.events import (
    ErrorInfo,
    FileRef,
    MessageRole,
    RequestKind,
    RunEnd,
    RunRequested,
    RunUsage,
    TitleSource,
    When,
    WorkspaceKind,
)
from planwerk.workspace.rules.json_values import JSONObject


class _Entity(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class WorkspaceEntity(_Entity):
    id: WorkspaceId
    tenant: TenantId
    kind: WorkspaceKind
    name: str
    owner: str | None = None
    created: datetime


class ThreadEntity(_Entity):
    id: ThreadId
    title: str | None = None
    title_source: TitleSource | None = None
    profile: str | None = None
    creator: Actor
    created: datetime
    updated: datetime
    updated_seq: int
    last_message: MessageId | None = None
    """The message posted last of those that are still there."""
    pending: tuple[RunId, ...] = ()
    """Runs requested and not ended, in the order in which they are to run; the first is the active one."""
    last_status: RunEnd | None = None
    waiting: bool = False
    """Whether the active run waits for people, other runs or timers."""


class MessageEntity(_Entity):
    id: MessageId
    thread: ThreadId
    parent: MessageId | None = None
    role: MessageRole
    content: str
    run: RunId | None = None
    """Of a reply: the run that made it, whose id is the message's own."""
    incomplete: bool = False
    error: ErrorInfo | None = None
    follow_ups: tuple[str, ...] = ()
    files: tuple[FileRef, ...] = ()
    model_messages: str | None = None
    request: EventId | None = None
    """Of a question of a run: the request that the next message answers."""
    retracted: bool = False
    actor: Actor
    time: datetime
    seq: int


class RunRequest(_Entity):
    """What a run asked a person, and what came of it."""

    id: EventId
    kind: RequestKind
    status: Literal["open", "answered", "timed_out", "run_ended"] = "open"
    expires: datetime | None = None
    recipients: tuple[str, ...] = ()
    answered_seq: int | None = None
    """Place in the log of the answer."""
    chat_answer: str = ""
    """Class of the event that an answer in the conversation becomes."""


class Steering(_Entity):
    """A message said into a run that no step has taken yet, and what is asked for where none does (S2.3)."""

    message: MessageId
    otherwise: RunRequested
    actor: Actor


class RunEntity(_Entity):
    id: RunId
    thread: ThreadId
    message: MessageId
    """The message that the run answers; its reply, when it comes, has the run's id and this parent."""
    reply_below: MessageId | None = None
    """The parent of its reply, where it was answered in the conversation, or took what was said into it."""
    profile: str
    profile_version: int | None = None
    profile_name: str = ""
    blueprint: str | None = None
    when: When = "next"
    start: JSONObject | None = None
    requested_by: Actor
    requested: datetime
    stop_requested_by: Actor | None = None
    """Who asked it to stop first; None if nobody did."""
    dropped: bool = False
    """The message it answers was retracted: its reply is not posted."""
    started: datetime | None = None
    ended: datetime | None = None
    status: RunEnd | None = None
    """None until it ended."""
    error: ErrorInfo | None = None
    usage: RunUsage = RunUsage()
    cost: Decimal | None = None
    duration_seconds: float = 0.0
    steps: int = 0
    requested_seq: int
    waiting: bool = False
    requests: tuple[RunRequest, ...] = ()
    """What it asked people: all that is open, and what was closed last."""
    steerable: bool = False
    """Whether something can be said into it (S2.3)."""
    steering: tuple[Steering, ...] = ()
    """What was said into it and is not taken yet, in order."""
    has_stopped: bool = False
    """It came to its stop: no step takes anything any more."""

    @property
    def parent_of_reply(self) -> MessageId:
        """The message below which its reply stands."""
        return self.reply_below or self.message

    @property
    def stop_requested(self) -> bool:
        return self.stop_requested_by is not None


class ArtifactEntity(_Entity):
    id: ArtifactId
    type: str
    version: int
    schema_version: int
    data: JSONObject
    archived: bool = False
    created_by: Actor
    created: datetime
    updated_by: Actor
    updated: datetime


class Revision(_Entity):
    """One version of an artifact: the patch from the version before, and now and then the whole (A1.5)."""

    artifact: ArtifactId
    version: int
    schema_version: int
    patch: tuple[JSONObject, ...] = ()
    snapshot: JSONObject | None = None
    actor: Actor
    time: datetime
    seq: int
    restored_from: int | None = None


@dataclass(frozen=True, slots=True)
class ThreadKey:
    id: ThreadId


@dataclass(frozen=True, slots=True)
class MessageKey:
    id: MessageId


@dataclass(frozen=True, slots=True)
class RunKey:
    id: RunId


@dataclass(frozen=True, slots=True)
class TreeKey:
    """All messages of a thread that are still there."""

    thread: ThreadId


@dataclass(frozen=True, slots=True)
class PendingKey:
    """All runs of a thread that have not ended."""

    thread: ThreadId


@dataclass(frozen=True, slots=True)
class RunsKey:
    """All runs of a thread, ended ones too."""

    thread: ThreadId


@dataclass(frozen=True, slots=True)
class ArtifactKey:
    id: ArtifactId


@dataclass(frozen=True, slots=True)
class RevisionsAfterKey:
    """The revisions of an artifact after this version."""

    artifact: ArtifactId
    after: int


@dataclass(frozen=True, slots=True)
class RevisionsToKey:
    """The revisions that rebuild this version: from the newest snapshot at or before it."""

    artifact: ArtifactId
    version: int


Key: TypeAlias = (
    ThreadKey | MessageKey | RunKey | TreeKey | PendingKey | RunsKey | ArtifactKey | RevisionsAfterKey | RevisionsToKey
)
Entity: TypeAlias = WorkspaceEntity | ThreadEntity | MessageEntity | RunEntity | ArtifactEntity
Found: TypeAlias = Entity | tuple[MessageEntity, ...] | tuple[RunEntity, ...] | tuple[Revision, ...] | None
"""What a key led to; None where there is no such thing."""


@dataclass(frozen=True, slots=True)
class State:
    """The workspace as far as one decision needs it, at one head, and the time of the decision."""

    id: WorkspaceId
    tenant: TenantId
    head: int
    now: datetime
    workspace: WorkspaceEntity | None
    types: Mapping[str, type[Artifact]] = field(default_factory=dict[str, type[Artifact]])
    loaded: Mapping[Key, Found] = field(default_factory=dict[Key, Found])

    def missing(self, *keys: Key) -> frozenset[Key]:
        return frozenset(key for key in keys if key not in self.loaded)

    def find_thread(self, thread: ThreadId) -> ThreadEntity | None:
        return cast("ThreadEntity | None", self.loaded[ThreadKey(thread)])

    def find_message(self, message: MessageId) -> MessageEntity | None:
        return cast("MessageEntity | None", self.loaded[MessageKey(message)])

    def find_run(self, run: RunId) -> RunEntity | None:
        return cast("RunEntity | None", self.loaded[RunKey(run)])

    def find_artifact(self, artifact: ArtifactId) -> ArtifactEntity | None:
        return cast("ArtifactEntity | None", self.loaded[ArtifactKey(artifact)])

    def tree(self, thread: ThreadId) -> tuple[MessageEntity, ...]:
        return cast("tuple[MessageEntity, ...]", self.loaded[TreeKey(thread)])

    def runs(self, thread: ThreadId) -> tuple[RunEntity, ...]:
        return cast("tuple[RunEntity, ...]", self.loaded[RunsKey(thread)])

    def pending(self, thread: ThreadId) -> tuple[RunEntity, ...]:
        return cast("tuple[RunEntity, ...]", self.loaded[PendingKey(thread)])

    def revisions(self, key: RevisionsAfterKey | RevisionsToKey) -> tuple[Revision, ...]:
        return cast("tuple[Revision, ...]", self.loaded[key])

    def thread(self, thread: ThreadId) -> ThreadEntity:
        """The thread.

        Raises:
            NotFound: There is none of this id in the workspace.
        """
        found = self.find_thread(thread)
        if found is None:
            raise NotFound("thread", thread)
        return found

    def artifact(self, artifact: ArtifactId) -> ArtifactEntity:
        """The artifact.

        Raises:
            NotFound: There is none of this id in the workspace.
        """
        found = self.find_artifact(artifact)
        if found is None:
            raise NotFound("artifact", artifact)
        return found


ModelT = TypeVar("ModelT", bound=BaseModel)


def changed(entity: ModelT, **changes: Any) -> ModelT:
    """A copy of a frozen entity or event with these fields changed."""
    return entity.model_copy(update=changes)
