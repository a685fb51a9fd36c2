"""A run's journal: entries in order, from which the run is rebuilt (E7.1, E7.2).

Positions count from 1 without gaps; an entry's position is its place. Events are named by the position of the
`EventPublished` entry that holds them, so a binding is a tuple of positions per parameter; executions by that of the
entry that made them due. Only what is known outside has an id of its own: what asks for an answer or a run, and what
came from outside under one. Readers derive the others' (`ids.derived_id` of the run and the name).

One append holds what one thing caused: published events, then the end of the execution that published them, then the
executions it made due. Rules never read a clock: times are microseconds since the epoch, given by the driver.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from planwerk.workflow.events import Event
from planwerk.workflow.ids import EventId, ExecutionId, RunId

Microseconds = int
Binding = tuple[tuple[int, ...], ...]
"""Per event parameter of the step, in order, the positions of the events it took; `()` for None or an empty list."""

RunStatus = Literal["running", "waiting", "completed", "failed", "stopped"]


BY_POSITION: Final = EventId("")
"""For an event that needs no id of its own."""


@dataclass(slots=True)
class ErrorInfo:
    """An error as it is journaled: a code and texts, never a pickle."""

    code: str
    message: str
    what_to_do: str = ""
    error_type: str = ""
    http_status: int = 500


@dataclass(slots=True)
class RunOpened:
    """First entry: what the run is. The start event follows as position 2."""

    run: RunId
    at: Microseconds
    blueprint: str
    fingerprint: str
    config: dict[str, Any]
    actor: dict[str, Any]
    tenant: str
    workspace: str | None = None
    thread: str | None = None
    message: str | None = None
    profile: str | None = None
    profile_name: str | None = None
    profile_version: int | None = None
    profile_description: str = ""
    locale: str | None = None
    traceparent: str | None = None
    titled: bool | None = None
    """Whether the thread had a title that is not a fallback; None where there is no thread (C1.1)."""
    expires: Microseconds | None = None
    """When the run, once it has ended, is forgotten with its journal; None keeps it."""
    parent: str | None = None
    """The run that asked for this one (E8.2, E8.4)."""
    request: str | None = None
    """The request there that its end answers; None for a run that nobody waits for."""
    chain: list[str] = field(default_factory=list[str])
    """Agents of the runs above, the first one first."""
    context_thread: str | None = None
    """The thread whose context it shares without being a run of it."""
    on_behalf_of: dict[str, Any] | None = None
    """With whose rights it works, where that is not its actor (E8.4)."""
    detached: dict[str, Any] | None = None
    """Of a detached run: what `runtime.detaching` keeps of its order and its retries (E8.4)."""
    forked_from: str | None = None
    """The run this one was forked from (E7.8)."""
    forked_at: int | None = None
    """The position there that it goes on from."""
    forked_entries: int = 0
    """So many entries of this journal, from the first on, say again what had happened there."""
    forked_changes: dict[str, Any] | None = None
    """Settings that differ from the other run's: a merge patch of its config."""
    scheduled: Microseconds | None = None
    """The occurrence of a schedule that it is of, or that the runs above it are of (E8.3)."""


@dataclass(slots=True)
class EventPublished:
    """An event entered the run: returned or shown by an execution, or brought from outside."""

    event: Event
    id: EventId
    """Its own, or `BY_POSITION`."""
    at: Microseconds
    execution: ExecutionId | None = None
    """The execution that returned or showed it; None for the start event and for answers from outside."""
    answers: int | None = None
    """Position of the request it answers (E8.1)."""
    shown: bool = False
    """Displayed while its execution was still working; never dispatched."""
    discarded: bool = False
    """Came after the stop; recorded, not delivered (E4.2)."""
    actor: dict[str, Any] | None = None
    """Of an answer: who gave it; None where nobody did, as when a time was over."""


@dataclass(slots=True)
class ExecutionDue:
    """A step is to be executed with these events."""

    execution: ExecutionId
    """The position of this entry as text; a UUID in journals of old."""
    step: str
    """Full name: `begin`, `Memory.search`."""
    scope: int
    """Position of the request that opened the call it belongs to; 0 for the blueprint's own scope."""
    binding: Binding
    at: Microseconds = 0


@dataclass(slots=True)
class ExecutionStarted:
    """An execution is started again after a takeover, or after a failed attempt (E7.2)."""

    execution: ExecutionId
    attempt: int
    at: Microseconds


@dataclass(slots=True)
class AttemptFailed:
    """An attempt raised and will be tried again at `retry_at` (E4.4)."""

    execution: ExecutionId
    attempt: int
    at: Microseconds
    error: ErrorInfo
    retry_at: Microseconds


@dataclass(slots=True)
class ExecutionFinished:
    """An execution ended; the events it returned were published just before, in order."""

    execution: ExecutionId
    at: Microseconds
    attempt: int = 1
    outputs: tuple[int, ...] = ()
    """Positions of the control events it returned."""


@dataclass(slots=True)
class ExecutionFailed:
    """An execution ended without an event: it failed, or was cancelled (`code` cancelled)."""

    execution: ExecutionId
    at: Microseconds
    error: ErrorInfo
    attempt: int = 1


@dataclass(slots=True)
class PreconditionAnswered:
    """A precondition gave its verdict on one binding (E3.6)."""

    step: str
    scope: int
    binding: Binding
    verdict: bool
    at: Microseconds


@dataclass(slots=True)
class OwnershipTaken:
    """A worker took the run over under this fence (E7.3)."""

    fence: int
    at: Microseconds
    worker: str = ""
    fingerprint: str | None = None
    """Of the workflow it is driven with from here on, if the code has changed (E7.6)."""


@dataclass(slots=True)
class OwnershipReleased:
    """The owner handed the run over with what still works in it: the next attempt follows no crash (E7.2, E7.5)."""

    fence: int
    at: Microseconds


@dataclass(slots=True)
class StopReached:
    """The run's stop is the event at this position; nothing new becomes due (E4.2)."""

    event: int
    at: Microseconds


@dataclass(slots=True)
class ModelCalled:
    """A model was called: what it used and cost (S2.4). Not read by the rules."""

    execution: ExecutionId
    at: Microseconds
    model: str
    usage: dict[str, int]
    cost: str | None = None
    duration_microseconds: int = 0
    purpose: str = ""
    exchange: Event | None = None
    """What it was sent and what came back; None in journals of old."""


@dataclass(slots=True)
class RunEnded:
    """Last entry: everything drained."""

    status: Literal["completed", "failed", "stopped"]
    at: Microseconds
    error: ErrorInfo | None = None
    untaken: tuple[str, ...] = ()
    """Classes of events no step took (E4.5)."""
    summary: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Usage, cost, executions and active time, for lists of runs."""


@dataclass(slots=True)
class UnknownEntry:
    """An entry of a kind this release does not know, kept as it was written (E1.5)."""

    text: str


Entry = (
    RunOpened
    | EventPublished
    | ExecutionDue
    | ExecutionStarted
    | AttemptFailed
    | ExecutionFinished
    | ExecutionFailed
    | PreconditionAnswered
    | OwnershipTaken
    | OwnershipReleased
    | StopReached
    | ModelCalled
    | RunEnded
    | UnknownEntry
)
