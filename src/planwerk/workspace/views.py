"""What readers of a workspace get: threads with their messages and runs, workspaces, pages."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Generic, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict

from planwerk.access.actors import Actor
from planwerk.workflow.ids import MessageId, RunId, ThreadId, WorkspaceId
from planwerk.workspace.rules.events import (
    ErrorInfo,
    FileRef,
    MessageRole,
    RunEnd,
    RunUsage,
    TitleSource,
    When,
    WorkspaceKind,
)
from planwerk.workspace.rules.json_values import JSONObject

T = TypeVar("T")
ThreadStatus: TypeAlias = Literal["completed", "failed", "stopped", "working", "waiting"]
RunStatus: TypeAlias = RunEnd | Literal["queued", "requested", "running", "waiting"]


class _View(BaseModel):
    model_config = ConfigDict(frozen=True)


class WorkspaceSummary(_View):
    id: WorkspaceId
    name: str
    kind: WorkspaceKind


class RunView(_View):
    """A run as the log knows it. `queued` waits behind another run of its thread; `requested` waits to be opened."""

    id: RunId
    thread: ThreadId
    message: MessageId
    status: RunStatus
    profile: str
    profile_version: int | None
    profile_name: str
    blueprint: str | None
    when: When
    start: JSONObject | None
    steerable: bool
    """Whether something can be said into it: a step takes that, and it is not at its stop (S2.3)."""
    requested_by: Actor
    requested: datetime
    stop_requested_by: Actor | None
    """Who asked it to stop first; None if nobody did."""
    started: datetime | None
    ended: datetime | None
    error: ErrorInfo | None
    usage: RunUsage
    cost: Decimal | None
    duration_seconds: float
    steps: int

    @property
    def stop_requested(self) -> bool:
        return self.stop_requested_by is not None


class MessageView(_View):
    id: MessageId
    parent_id: MessageId | None
    role: MessageRole
    content: str
    run: RunView | None
    """Of a reply: the run that made it."""
    incomplete: bool
    error: ErrorInfo | None
    follow_ups: tuple[str, ...]
    files: tuple[FileRef, ...]
    actor: Actor
    time: datetime
    seq: int


class ThreadSummary(_View):
    id: ThreadId
    workspace: WorkspaceId
    title: str | None
    title_source: TitleSource | None
    profile: str | None
    creator: Actor
    created: datetime
    updated: datetime
    updated_seq: int
    active_run: RunId | None
    queued: tuple[RunId, ...]
    """Runs that wait behind the active one, in the order in which they will run."""
    last_status: ThreadStatus | None


class ThreadView(ThreadSummary):
    """A thread with all messages that are still there, in the order in which they were posted, and all its runs."""

    messages: tuple[MessageView, ...]
    runs: tuple[RunView, ...]
    head_seq: int


class Page(_View, Generic[T]):
    items: tuple[T, ...]
    next: str | None = None
    """Cursor of the next page; None on the last."""
