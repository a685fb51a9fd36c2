"""What REST gives and takes, as models: from these OpenAPI and the web client's types are made."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Final, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, model_validator

from planwerk.workflow.codec import without_half_characters
from planwerk.workspace.rules.events import (
    ErrorInfo,
    FileRef,
    MessageRole,
    RequestKind,
    TitleSource,
    When,
    WorkspaceKind,
)

T = TypeVar("T")


class Given(BaseModel):
    """What a client sends: a field we do not know is an error, not a silence; half characters are replaced (SRV-25)."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _whole_characters(cls, data: Any) -> Any:
        return without_half_characters(data)


class Items(BaseModel, Generic[T]):
    """A page of a list; `next` is the cursor of the following one."""

    items: list[T]
    next: str | None = None


class Limits(BaseModel):
    message_bytes: int


class SignInWays(BaseModel):
    local: bool
    token: bool


class ServerInfo(BaseModel):
    """What anybody may know of a server."""

    version: str
    demo_model: bool
    default_model: str | None
    sign_in: SignInWays
    locales: list[str]
    limits: Limits


class ProfileModel(BaseModel):
    """Which model answers, and where it runs."""

    name: str
    location: Literal["local", "remote", "demo"]


class ScheduleView(BaseModel):
    """When a profile runs by itself, and with what (E8.3)."""

    cron: str
    zone: str
    message: str | None
    event: dict[str, Any] | None
    locale: str | None
    catch_up_seconds: float
    while_running: Literal["skip", "start"]
    enabled: bool
    next: list[str]
    """The next three times at which it is due; empty while it is paused."""
    problem: str | None
    """Why it is not kept."""


class OccurrenceView(BaseModel):
    """What became of an occurrence of a schedule, or of a start by hand."""

    time: str
    outcome: Literal["started", "skipped", "missed"]
    """`skipped`: an earlier run had not ended; `missed`: nothing ran here in time."""
    run: str | None
    status: str | None
    """Of the run: running, waiting, completed, failed or stopped; None where its record is gone, or comes soon."""
    error: ErrorInfo | None
    by: str | None
    """Who started it by hand."""
    passed_over: bool
    """Whether earlier ones were missed with it."""


class ScheduleStatusView(BaseModel):
    """A profile's schedule with what became of its last occurrences, the newest first."""

    profile: str
    profile_name: str
    schedule: ScheduleView
    recent: list[OccurrenceView]


class ScheduleFailureView(BaseModel):
    """A schedule whose runs have failed since somebody last put that away: the newest of them."""

    profile: str
    profile_name: str
    run: str
    time: str
    error: ErrorInfo | None
    failures: int
    """How many of the last occurrences."""


class ScheduleDismissal(BaseModel):
    """Put away the failure of this run, and those before it."""

    model_config = ConfigDict(extra="forbid")

    run: str


class ProfileView(BaseModel):
    """A profile as people see it; texts in the reader's language."""

    id: str
    artifact_id: str
    name: str
    description: str
    icon: str | None
    starters: list[str]
    data: list[str]
    model: ProfileModel
    version: int
    blueprint: str
    is_default: bool
    when_default: When
    """What a message that comes while a run works does, where its sender does not say (S2.3)."""
    steerable: bool
    """Whether its blueprint takes what is said into a run that works; elsewhere `now` means `next`."""
    config: dict[str, Any] | None = None
    """For those who may edit it: the settings that differ from the defaults."""
    config_schema: dict[str, Any] | None = None
    access: list[str] | None = None
    models: list[str] | None = None
    problem: str | None = None
    """Why it cannot be used: its settings do not fit its blueprint any more."""
    schedule: ScheduleView | None = None
    """For those who may edit it."""


class ScheduleChange(Given):
    """What of a schedule changes; fields left out stay, and null goes back to the default.

    A new one needs `cron` and either `message` or `event`.
    """

    cron: str | None = None
    """Five fields: minute, hour, day of the month, month, day of the week."""
    zone: str | None = None
    """IANA name of a time zone; UTC if missing."""
    message: str | None = None
    """What a chat blueprint is asked."""
    event: dict[str, Any] | None = None
    """Fields of a start event of the blueprint, its class as `type`."""
    locale: str | None = None
    catch_up_seconds: float | None = None
    """How late an occurrence is still run."""
    while_running: Literal["skip", "start"] | None = None
    enabled: bool | None = None


class ProfileGiven(Given):
    """A new profile. Texts are plain, or one per language: `{"en": …, "de": …}`."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")
    blueprint: str
    name: str | dict[str, str]
    description: str | dict[str, str] = ""
    icon: str | None = None
    starters: list[str | dict[str, str]] = Field(default_factory=list[str | dict[str, str]])
    config: dict[str, Any] = Field(default_factory=dict[str, Any])
    access: list[str] = Field(default_factory=list[str])
    models: list[str] = Field(default_factory=list[str])
    when_default: When = "next"
    schedule: ScheduleChange | None = None


class ProfileChange(Given):
    """What of a profile changes; fields left out stay."""

    name: str | dict[str, str] | None = None
    description: str | dict[str, str] | None = None
    icon: str | None = None
    starters: list[str | dict[str, str]] | None = None
    config: dict[str, Any] | None = None
    access: list[str] | None = None
    models: list[str] | None = None
    when_default: When | None = None
    schedule: ScheduleChange | None = None
    """Null takes it away."""


class TemplateView(BaseModel):
    name: str
    description: str
    config: dict[str, Any]
    is_default: bool


class BlueprintView(BaseModel):
    """A blueprint that is served, with the form of its profiles."""

    name: str
    description: str
    config_schema: dict[str, Any]
    starts: list[str]
    templates: list[TemplateView]


class WorkspaceView(BaseModel):
    id: str
    name: str
    kind: WorkspaceKind


class ThreadSummaryView(BaseModel):
    """A thread in a list."""

    id: str
    workspace: str
    title: str | None
    title_source: TitleSource | None
    profile: str | None
    profile_name: str | None
    created: datetime
    updated: datetime
    active_run: str | None
    last_status: Literal["completed", "failed", "stopped", "working", "waiting"] | None


class MessageRunView(BaseModel):
    """Of a reply: the run that made it."""

    id: str
    status: str
    usage: dict[str, int]
    cost: Decimal | None
    duration_seconds: float
    steps: int
    profile_name: str
    profile_version: int | None


class MessageView(BaseModel):
    id: str
    parent_id: str | None
    role: MessageRole
    content: str
    run: MessageRunView | None
    incomplete: bool
    error: ErrorInfo | None
    follow_ups: list[str]
    files: list[FileRef]
    actor: dict[str, Any]
    time: datetime
    seq: int


class ThreadFull(ThreadSummaryView):
    """A thread with its messages, in the order in which they were posted."""

    messages: list[MessageView]
    queued: list[str]
    head_seq: int


class ThreadGiven(Given):
    """A new thread; the client makes its id."""

    id: str
    workspace: str | None = None
    profile: str | None = None
    title: str | None = None


class ThreadChange(Given):
    title: str = Field(min_length=1, max_length=200)


class MessageGiven(Given):
    """A message; the client makes its id, so posting it again changes nothing."""

    message_id: str
    content: str
    parent_id: str | None = "last"
    when: When | None = None
    """While a run works: after it, in its place, or said into it; the profile's default if missing (S2.3)."""
    profile: str | None = None
    requested_features: list[str] = Field(default_factory=list[str])
    run_id: str | None = None


class RunAgain(Given):
    """Answer a message that is there again; the client makes the run's id."""

    message_id: str
    run_id: str
    profile: str | None = None


class PostedView(BaseModel):
    """The message and the run that answers it are accepted; `seq` is their place in the log."""

    run_id: str
    message_id: str
    seq: int


class CommandGiven(Given):
    """A command of a workspace (A2), by `type`; `command_id` makes it safe to send again."""

    command_id: str | None = None
    command: dict[str, Any]


class RunGiven(Given):
    """Start a run: by a start event of the blueprint, or by a message alone."""

    event: dict[str, Any] | None = None
    message: str | None = None
    thread: str | None = None
    run_id: str | None = None


class RunAccepted(BaseModel):
    run_id: str


class ForkGiven(Given):
    """Go on from a position of a run, in a run of its own."""

    position: int = Field(ge=1)
    """Position of an entry of the journal; what it says is part of the new run."""
    config: dict[str, Any] = Field(default_factory=dict[str, Any])
    """A merge patch of the settings the run had; null goes back to the default."""
    run_id: str | None = None


class ForkAccepted(RunAccepted):
    """The fork, and where it begins: what one execution returned stays together."""

    position: int
    first: list[str]
    """Steps that are executed first."""


class DivergenceView(BaseModel):
    """Where the journal has something else than the rules would have made."""

    position: int
    step: str | None
    expected: str
    found: str


class ReplayView(BaseModel):
    """What came of a replay: nothing was executed, and no model was called."""

    entries: int
    """Entries that were followed without a divergence."""
    executions: int
    divergence: DivergenceView | None


class RunView(BaseModel):
    """A run without its journal."""

    id: str
    tenant: str
    workspace: str | None
    thread: str | None
    message: str | None
    profile: str | None
    profile_name: str | None
    profile_version: int | None
    blueprint: str
    title: str
    """The first words of what was asked; empty where the run began otherwise."""
    status: str
    """queued, running, waiting, completed, failed or stopped."""
    started: str | None
    """None while it is queued."""
    ended: str | None
    started_by: dict[str, Any]
    usage: dict[str, int]
    cost: str | None
    error: ErrorInfo | None
    model_calls: int
    executions: int
    forked_from: str | None
    """The run it was forked from."""
    forked_at: int | None
    """The position there that it goes on from."""
    expires: str | None
    """When it is deleted with all that it holds, once it has ended; None keeps it."""
    parent_run: str | None
    """The run that asked for it (E8.2, E8.4); its timeline names this one."""
    scheduled: str | None = None
    """The occurrence of its profile's schedule that it is of (E8.3)."""


class RequestChoice(BaseModel):
    value: str
    label: str


class RequestView(BaseModel):
    """What a run asks a person, in the reader's language; once it is closed, what came of it."""

    id: str
    run: str
    workspace: str | None
    thread: str | None
    profile: str | None
    profile_name: str | None
    kind: RequestKind
    type: str
    label: str
    icon: str | None
    question: str
    details: str
    """More to know, as Markdown."""
    subject: str
    """Of a confirmation: what is to be confirmed."""
    choices: list[RequestChoice]
    only_choices: bool
    default: str | bool | None
    confirm_label: str | None
    decline_label: str | None
    response_schema: dict[str, Any]
    """JSON Schema of the answer."""
    recipients: list[str]
    """Accounts that may answer; everybody with access if empty."""
    asked: str
    expires: str | None
    status: Literal["open", "answered", "timed_out", "closed"]
    closed: str | None
    answer: dict[str, Any] | None
    answered_by: dict[str, Any] | None
    may_answer: bool
    """Whether the reader may answer it now."""


ANSWER_SCHEMAS: Final[dict[str, Any]] = {
    "oneOf": [
        {
            "title": "TextAnswer",
            "description": "To an input or a question in the conversation.",
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
            "additionalProperties": False,
        },
        {
            "title": "ConfirmationAnswer",
            "description": "To a confirmation.",
            "type": "object",
            "properties": {"confirmed": {"type": "boolean"}, "reason": {"type": "string"}},
            "required": ["confirmed"],
            "additionalProperties": False,
        },
    ]
}


class AnswerGiven(Given):
    """An answer to a request; its `response_schema` says what fits."""

    answer: Annotated[dict[str, Any], WithJsonSchema(ANSWER_SCHEMAS)]


class RequestAnsweredView(BaseModel):
    """The answer is accepted; `seq` is its place in the log, null for a run outside any thread."""

    request_id: str
    run_id: str
    seq: int | None


class EnvelopeView(BaseModel):
    """One entry of a log or a journal (S3.1)."""

    model_config = ConfigDict(extra="allow")

    position: int
    id: str
    type: str
    time: str
    tenant: str | None
    workspace: str | None
    thread: str | None
    run: str | None
    call: str | None
    actor: dict[str, Any] | None
    cause: str | None
    traceparent: str | None
    v: int
    data: dict[str, Any]


class LogPage(BaseModel):
    items: list[EnvelopeView]
    head_seq: int


class TimelinePage(BaseModel):
    items: list[EnvelopeView]
    next: int | None
    ended: bool


class GraphNode(BaseModel):
    id: str
    step: str
    label: str
    icon: str | None
    group: str | None
    kind: Literal["start", "step", "stop"]


class GraphGroup(BaseModel):
    id: str
    label: str


class GraphEdge(BaseModel):
    source: str
    target: str
    event: str


class GraphView(BaseModel):
    """The composed workflow: steps, the capabilities they belong to, and the events between them."""

    nodes: list[GraphNode]
    groups: list[GraphGroup]
    edges: list[GraphEdge]


class Health(BaseModel):
    status: Literal["ok", "starting"]
    version: str
