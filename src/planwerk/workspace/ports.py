"""What the workspace wing needs stored: `Storage` and `FileStore`, and the values that go in and out of them (A6)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Protocol

from planwerk.access.ids import TenantId
from planwerk.workflow.ids import ArtifactId, MessageId, RunId, ThreadId, WorkspaceId
from planwerk.workspace.files import StoredFile
from planwerk.workspace.rules.envelope import LogEnvelope
from planwerk.workspace.rules.outcomes import Outcome
from planwerk.workspace.rules.state import (
    ArtifactEntity,
    Entity,
    Found,
    Key,
    MessageEntity,
    Revision,
    RunEntity,
    ThreadEntity,
    WorkspaceEntity,
)


@dataclass(frozen=True, slots=True)
class CommandRef:
    """A command by its sender and id, and what it said (A2.3)."""

    sender: str
    """Kind and id of the participant: `user:0198…`."""
    id: str
    body_hash: str


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The first outcome of a command, kept for 30 days."""

    body_hash: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class CursorMove:
    """A stored position that moves in the same transaction as what was read up to it."""

    name: str
    expected: int
    new: int
    fence: int | None = None
    """Fence of the owner's lease; None where nobody else can be the owner."""


@dataclass(frozen=True, slots=True)
class CursorLease:
    """A cursor leased to one process until `until_microseconds`: nobody else moves it (E7.9)."""

    name: str
    owner: str
    fence: int
    until_microseconds: int


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a workspace has under some keys, at one head or a later one. `head` was read first."""

    head: int
    workspace: WorkspaceEntity | None
    found: Mapping[Key, Found]
    result: CommandResult | None


@dataclass(frozen=True, slots=True)
class Commit:
    """Everything one decision changes; it is written whole or not at all."""

    tenant: TenantId
    workspace: WorkspaceId
    expected_head: int
    events: Sequence[LogEnvelope] = ()
    entities: Sequence[Entity] = ()
    revisions: Sequence[Revision] = ()
    contents: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """Model messages by their hash; a hash that is stored already is left as it is."""
    command: CommandRef | None = None
    outcome: Outcome | None = None
    time: datetime | None = None
    """When the command was decided; results older than 30 days are forgotten by it."""
    cursor: CursorMove | None = None


@dataclass(frozen=True, slots=True)
class FeedItem:
    """One envelope in the order in which all workspaces committed; `position` grows and may have gaps."""

    position: int
    tenant: TenantId
    envelope: LogEnvelope


@dataclass(frozen=True, slots=True)
class ThreadContents:
    """A thread with its messages that are still there and its runs, each in the order of the log."""

    thread: ThreadEntity
    messages: tuple[MessageEntity, ...]
    runs: tuple[RunEntity, ...]
    head_seq: int


@dataclass(frozen=True, slots=True)
class PlacedRun:
    """A run, and whether its turn has come: whether it is the first of its thread's pending ones."""

    run: RunEntity
    active: bool


RESULTS_KEPT: Final = timedelta(days=30)
"""How long the first outcome of a command answers its repetitions (A2.3)."""


def sole_name(kind: str, owner: str | None) -> str | None:
    """The name of a workspace of which its tenant has only one: the admin workspace, and each person's private one."""
    return {"private": f"private:{owner}", "admin": "admin"}.get(kind)


def rebuild_from(revisions: Sequence[Revision]) -> tuple[Revision, ...]:
    """The last of these revisions and those that it needs: from the newest snapshot on."""
    whole = [index for index, revision in enumerate(revisions) if revision.snapshot is not None]
    return tuple(revisions[whole[-1] :]) if whole else ()


class Storage(Protocol):
    """Workspaces and their logs. Every reading method sees only what is committed."""

    async def load(
        self, tenant: TenantId, workspace: WorkspaceId, keys: Collection[Key], command: tuple[str, str] | None = None
    ) -> Loaded:
        """What is under these keys, and the result of a command given as sender and id.

        A workspace of another tenant is loaded as none at all.
        """
        ...

    async def commit(self, commit: Commit) -> None:
        """Write the commit in one transaction, and wake who waits for changes.

        Raises:
            StaleHead: The workspace is no longer at the expected head.
            SoleWorkspaceTaken: There is another workspace of the new one's kind and owner.
            StaleCursor: The cursor stands elsewhere.
            CursorPassedOn: Its lease has passed to another owner.
        """
        ...

    async def read(
        self,
        workspace: WorkspaceId,
        *,
        after_seq: int = 0,
        before_seq: int | None = None,
        threads: Collection[ThreadId] | None = None,
        limit: int | None = None,
        last: int | None = None,
    ) -> list[LogEnvelope]:
        """The log between two places, both left out; the first `limit` or the `last` of it, in order of `seq`.

        Args:
            threads: Leave out what belongs to other threads; what belongs to no thread is always given.
        """
        ...

    async def head_seq(self, workspace: WorkspaceId) -> int:
        """The `seq` of the last event; 0 for a workspace that does not exist."""
        ...

    async def feed(self, after: int, limit: int) -> list[FeedItem]:
        """The logs of all workspaces in commit order, after this position. None appears below one already given."""
        ...

    def changes(self) -> AsyncGenerator[None]:
        """Give one item at once, and one whenever something may have been committed since the last, by any process.

        Commits of this process are told at once, those of others within a fraction of a second. Nothing is missed
        between two items: read everything after your position for each.
        """
        ...

    async def cursor(self, name: str) -> int:
        """A stored position; 0 if there is none yet."""
        ...

    async def save_cursor(self, name: str, position: int, *, fence: int | None = None) -> None:
        """Store a position; one that lies behind the stored one changes nothing.

        Args:
            fence: Fence of the owner's lease; None where nobody else can be the owner.

        Raises:
            CursorPassedOn: The lease has passed to another owner.
        """
        ...

    async def lease_cursor(
        self, name: str, owner: str, *, now_microseconds: int, lease_microseconds: int, heir_of: str | None = None
    ) -> CursorLease | None:
        """Lease a cursor that nobody holds, or whose lease has lapsed; None while somebody else holds it.

        Each later lease has a larger fence, and an owner with a smaller one moves the cursor no more (E7.9).

        Args:
            heir_of: An owner that is known to be dead, whose lease need not lapse.
        """
        ...

    async def renew_cursor(self, lease: CursorLease, *, until_microseconds: int) -> CursorLease | None:
        """Keep a lease longer; None if it has passed to another owner."""
        ...

    async def release_cursor(self, lease: CursorLease) -> None:
        """Give a lease back, for the next owner to take at once."""
        ...

    async def cursor_owner(self, name: str) -> str | None:
        """Who holds the lease of a cursor, lapsed or not."""
        ...

    async def contents(self, tenant: TenantId, hashes: Collection[str]) -> dict[str, bytes]:
        """Stored model messages by hash; what is not there is left out."""
        ...

    async def find_workspace(self, tenant: TenantId, kind: str, owner: str | None) -> WorkspaceEntity | None:
        """The private workspace of an owner, or the tenant's admin workspace."""
        ...

    async def list_workspaces(self, tenant: TenantId) -> list[WorkspaceEntity]:
        """All workspaces of a tenant, oldest first."""
        ...

    async def locate_thread(self, tenant: TenantId, thread: ThreadId) -> WorkspaceId | None:
        """The workspace of a thread; the one that had this id first, should two have it."""
        ...

    async def locate_run(self, tenant: TenantId, run: RunId) -> tuple[WorkspaceId, ThreadId] | None:
        """The workspace and the thread that asked for a run; those that did first, should two have it."""
        ...

    async def list_threads(
        self, workspace: WorkspaceId, *, before_updated_seq: int | None, limit: int
    ) -> list[ThreadEntity]:
        """Threads by their last event, newest first, beginning below this `seq`."""
        ...

    async def thread_contents(self, workspace: WorkspaceId, thread: ThreadId) -> ThreadContents | None:
        """A thread as it is now, in one consistent reading."""
        ...

    async def find_run(self, workspace: WorkspaceId, run: RunId) -> PlacedRun | None:
        """One run. What else its thread holds is not read, however long that is."""
        ...

    async def active_run(self, workspace: WorkspaceId, thread: ThreadId) -> RunEntity | None:
        """The run whose turn it is in a thread; None if none is pending. Nothing else of the thread is read."""
        ...

    async def message_path(self, workspace: WorkspaceId, message: MessageId) -> list[MessageEntity]:
        """The messages from the root to this one; empty if it is not there.

        Where a parent is a run whose reply never came, the path goes on from the message that run was to answer.
        """
        ...

    async def list_artifacts(self, workspace: WorkspaceId, type_: str, *, archived: bool) -> list[ArtifactEntity]:
        """Artifacts of a type in the order of their creation; archived ones only if asked for."""
        ...

    async def list_revisions(self, workspace: WorkspaceId, artifact: ArtifactId) -> list[Revision]:
        """All revisions of an artifact, oldest first."""
        ...


class FileWriter(Protocol):
    """A file that is being written."""

    def write(self, data: bytes) -> None:
        """Add to it.

        Raises:
            FileTooLarge: It would be larger than the limit; nothing of it is left.
        """
        ...

    def finish(self) -> StoredFile:
        """Keep it."""
        ...

    def drop(self) -> None:
        """Leave nothing of it; does nothing once it is kept."""
        ...


class FileStore(Protocol):
    """Files per tenant, streamed in and out."""

    def begin(self, tenant: str, *, most_bytes: int) -> FileWriter:
        """Begin a new file."""
        ...

    def on_disk(self, tenant: str, file: str) -> AbstractContextManager[Path]:
        """A path under which another program can read it, while the context is open.

        Raises:
            FileNotFoundError: There is none.
        """
        ...

    def read(self, tenant: str, file: str) -> AsyncIterator[bytes]:
        """Its content in pieces; raises as `on_disk`."""
        ...

    async def delete(self, tenant: str, file: str) -> bool:
        """Delete it; False if there is none."""
        ...
