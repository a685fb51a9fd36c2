"""What can happen in a workspace (A5.1): each a frozen model with a wire name and a version `v`.

`v` grows when an event's fields change in a way that a default cannot bridge; its `upcasters` then lift older data,
one version at a time (E1.10). Data of a type or a version this code does not know is kept as `UnknownLogEvent` and
written back unchanged.

The wire name is the class's name in snake case: `MessagePosted` is `message_posted`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from planwerk.workflow.ids import ArtifactId, EventId, MessageId, RunId
from planwerk.workspace.rules.json_values import JSON, JSONObject
from planwerk.workspace.rules.text import whole

TitleSource: TypeAlias = Literal["person", "suggested", "fallback"]
MessageRole: TypeAlias = Literal["user", "assistant"]
RunEnd: TypeAlias = Literal["completed", "failed", "stopped"]
WorkspaceKind: TypeAlias = Literal["private", "shared", "admin"]
When: TypeAlias = Literal["next", "instead", "now"]
RequestKind: TypeAlias = Literal["input", "confirmation", "chat"]
RequestEnd: TypeAlias = Literal["answered", "timed_out", "run_ended"]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")

    @model_validator(mode="before")
    @classmethod
    def _whole(cls, data: Any) -> Any:
        return whole(data)


class ErrorInfo(_Value):
    """Why a run or an answer ended early: a stable code, what happened, what to do now."""

    code: str
    message: str
    what_to_do: str = ""


class RunUsage(_Value):
    """Tokens of all model calls of a run."""

    input_tokens: int = 0
    output_tokens: int = 0


class FileRef(_Value):
    """A file of a message, by the id that the file store gave it."""

    id: str
    name: str
    media_type: str = "application/octet-stream"
    size: int = 0


class LogEvent(_Value):
    """A fact of a workspace's log. Fields that a later release added are kept."""

    v: ClassVar[int] = 1
    wire_type: ClassVar[str] = ""
    upcasters: ClassVar[Mapping[int, Callable[[JSONObject], JSONObject]]] = {}
    """From version n to n + 1."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.wire_type = snake_case(cls.__name__)

    def to_data(self) -> JSONObject:
        """The event's fields as JSON."""
        return self.model_dump(mode="json")


def snake_case(name: str) -> str:
    """`MessagePosted` as `message_posted`, `PDFDraft` as `pdf_draft`."""
    words = ""
    for index, letter in enumerate(name):
        begins = letter.isupper() and index > 0
        if begins and (not name[index - 1].isupper() or name[index + 1 : index + 2].islower()):
            words += "_"
        words += letter.lower()
    return words


class WorkspaceCreated(LogEvent):
    kind: WorkspaceKind
    name: str
    owner: str | None = None


class ThreadCreated(LogEvent):
    title: str | None = None
    profile: str | None = None


class ThreadRenamed(LogEvent):
    """A new title. One that a run suggested never follows a person's; a fallback only fills a gap (E7.9, C1.1)."""

    title: str
    source: TitleSource


class MessagePosted(LogEvent):
    """A message took its place in the thread's tree. A reply's id is the id of the run that made it."""

    message_id: MessageId
    parent_id: MessageId | None = None
    role: MessageRole
    content: str
    run_id: RunId | None = None
    incomplete: bool = False
    error: ErrorInfo | None = None
    follow_ups: tuple[str, ...] = ()
    files: tuple[FileRef, ...] = ()
    model_messages: str | None = None
    """Hash of the model messages of this turn; they are stored once, by content (A1.6)."""
    request_id: EventId | None = None
    """Of a question that a run asks in the conversation: the request that the next message answers."""


class MessageRetracted(LogEvent):
    """A message and all below it are gone; `below` names those in no particular order. Other branches are untouched."""

    message_id: MessageId
    below: tuple[MessageId, ...] = ()


class RunRequested(LogEvent):
    """A run is to answer a message; the starter opens a thread's runs one after another (E7.9)."""

    run_id: RunId
    message_id: MessageId
    profile: str
    profile_version: int | None = None
    blueprint: str | None = None
    when: When = "next"
    start: JSONObject | None = None
    """The start event as written, without its history, which the starter fills in."""
    steerable: bool = False
    """Whether its blueprint has a step that takes what is said into the run (S2.3)."""


class RunSteered(LogEvent):
    """A message is said into an active run (S2.3); the starter carries it there, and no run of its own answers it."""

    run_id: RunId
    message_id: MessageId
    otherwise: RunRequested
    """What is asked for where the run comes to its stop before a step has taken the message."""


class SteeringTaken(LogEvent):
    """A step of the run has taken the message: it is part of this turn, and the run's reply stands below it."""

    run_id: RunId
    message_id: MessageId


class MessageMoved(LogEvent):
    """A message said into a run, with all below it, has another place: its turn is another, or became certain."""

    message_id: MessageId
    parent_id: MessageId | None = None


class StopRequested(LogEvent):
    run_id: RunId


class RunStarted(LogEvent):
    run_id: RunId
    message_id: MessageId | None = None
    profile: str
    profile_version: int | None = None
    profile_name: str = ""


class RunPaused(LogEvent):
    """Nothing of the run works: it waits for people, other runs or timers (E1.8)."""

    run_id: RunId
    requests: tuple[EventId, ...] = ()
    """Open requests to people, by id."""
    until: datetime | None = None
    """When it goes on by itself; None if it does not."""


class RunResumed(LogEvent):
    """The run works again."""

    run_id: RunId


class RequestOpened(LogEvent):
    """A run asks a person; `request` is the event that asks, as written."""

    run_id: RunId
    request_id: EventId
    kind: RequestKind
    request: JSONObject
    profile: str = ""
    profile_name: str = ""
    expires: datetime | None = None
    recipients: tuple[str, ...] = ()
    """Accounts that may answer; all with access if empty."""


class RequestAnswered(LogEvent):
    """A person answered; that is the acceptance, and the starter carries it into the run (E7.9)."""

    run_id: RunId
    request_id: EventId
    kind: RequestKind
    response: JSONObject
    """The event that answers, as written."""


class RequestClosed(LogEvent):
    """No answer is accepted any more: the time was over, or the run ended."""

    run_id: RunId
    request_id: EventId
    reason: RequestEnd


class RunEnded(LogEvent):
    run_id: RunId
    status: RunEnd
    error: ErrorInfo | None = None
    usage: RunUsage = RunUsage()
    cost: Decimal | None = None
    """In US dollars; None where no price is known."""
    duration_seconds: float = 0.0
    steps: int = 0


class ArtifactCreated(LogEvent):
    artifact_id: ArtifactId
    type: str
    version: int = 1
    schema_version: int = 1
    data: JSONObject


class ArtifactChanged(LogEvent):
    """A new version: `patch` leads from the stored data of the version before exactly to this one's (A3.1)."""

    artifact_id: ArtifactId
    type: str
    version: int
    schema_version: int = 1
    patch: tuple[JSONObject, ...]
    restored_from: int | None = None


class ArtifactArchived(LogEvent):
    artifact_id: ArtifactId
    type: str
    version: int
    archived: bool = True


class UnknownLogEvent(LogEvent):
    """An event that this code does not know, or a later version of one it knows; written back unchanged."""

    type: str
    version: int
    fields: JSON

    def to_data(self) -> JSONObject:
        return self.fields


LOG_EVENTS: Final[Mapping[str, type[LogEvent]]] = {
    event.wire_type: event
    for event in (
        WorkspaceCreated,
        ThreadCreated,
        ThreadRenamed,
        MessagePosted,
        MessageRetracted,
        MessageMoved,
        RunRequested,
        RunSteered,
        SteeringTaken,
        StopRequested,
        RunStarted,
        RunPaused,
        RunResumed,
        RequestOpened,
        RequestAnswered,
        RequestClosed,
        RunEnded,
        ArtifactCreated,
        ArtifactChanged,
        ArtifactArchived,
    )
}


def read_log_event(type_: str, version: int, data: JSONObject) -> LogEvent:
    """The event of this wire name, lifted to the version of today; an `UnknownLogEvent` where that cannot be done."""
    event = LOG_EVENTS.get(type_)
    if event is None or version > event.v:
        return UnknownLogEvent(type=type_, version=version, fields=data)
    lifted = data
    for step in range(version, event.v):
        if step not in event.upcasters:
            return UnknownLogEvent(type=type_, version=version, fields=data)
        lifted = event.upcasters[step](lifted)
    try:
        return event.model_validate(lifted)
    except ValidationError:
        return UnknownLogEvent(type=type_, version=version, fields=data)


def wire_name(event: LogEvent) -> tuple[str, int]:
    """An event's wire name and version."""
    return (event.type, event.version) if isinstance(event, UnknownLogEvent) else (event.wire_type, event.v)
