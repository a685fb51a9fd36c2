"""What people, agents and scripts ask of a workspace (A2): the one write path.

A command carries every id it creates, so the same command on the same state gives the same result (A2.1). Fields that
a server fills in after the sender spoke (`server_filled`) do not count when a repeated command is compared with the
first.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, model_validator

from planwerk.workflow import ids
from planwerk.workspace.rules.events import FileRef, TitleSource, When, WorkspaceKind
from planwerk.workspace.rules.json_values import JSONObject
from planwerk.workspace.rules.text import whole

LAST: Final = "last"
"""As the parent of a post: the last message of the thread, or the reply to come of its last pending run."""

_ThreadId = Annotated[ids.ThreadId, BeforeValidator(lambda text: ids.parse_id(text, ids.ThreadId))]
_MessageId = Annotated[ids.MessageId, BeforeValidator(lambda text: ids.parse_id(text, ids.MessageId))]
_RunId = Annotated[ids.RunId, BeforeValidator(lambda text: ids.parse_id(text, ids.RunId))]
_ParentId = Annotated[
    ids.MessageId | Literal["last"] | None,
    BeforeValidator(lambda text: text if text in (None, LAST) else ids.parse_id(text, ids.MessageId)),
]
_RequestId = Annotated[ids.EventId, BeforeValidator(lambda text: ids.parse_id(text, ids.EventId))]
_ArtifactId = Annotated[ids.ArtifactId, BeforeValidator(lambda text: ids.parse_id(text, ids.ArtifactId))]


class _Command(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    server_filled: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="before")
    @classmethod
    def _whole(cls, data: Any) -> Any:
        return whole(data)

    def body(self) -> JSONObject:
        """What the sender said, as JSON: by this a repeated command is told from another one (A2.3)."""
        return self.model_dump(mode="json", exclude=set(self.server_filled))


class CreateWorkspace(_Command):
    type: Literal["create_workspace"] = "create_workspace"
    kind: WorkspaceKind = "shared"
    name: str
    owner: str | None = None
    """Account of the owner of a private workspace."""


class CreateThread(_Command):
    type: Literal["create_thread"] = "create_thread"
    thread_id: _ThreadId
    title: str | None = None
    profile: str | None = None


class RenameThread(_Command):
    type: Literal["rename_thread"] = "rename_thread"
    thread_id: _ThreadId
    title: str
    only_if: Literal["untitled"] | None = None
    """`"untitled"`: only where the thread has no title yet, or a fallback; else the command changes nothing."""
    replaces: tuple[str | None, TitleSource | None] | None = None
    """The title and its source that the sender has read; where they have changed, the command is rejected."""


class PostMessage(_Command):
    """Post a message and ask for a run that answers it. The command's id is the message's id (A2.3)."""

    server_filled = frozenset(
        {"run_id", "profile_version", "blueprint", "start", "answers", "when_default", "steerable"}
    )

    type: Literal["post_message"] = "post_message"
    thread_id: _ThreadId
    message_id: _MessageId
    parent_id: _ParentId = LAST
    """A message of the thread, a pending run of it (its reply to come), `LAST`, or None for a new root."""
    content: str
    files: tuple[FileRef, ...] = ()
    when: When | None = None
    """What it does while a run works; `when_default` if the sender does not say (S2.3)."""
    when_default: When = "next"
    run_id: _RunId
    profile: str
    profile_version: int | None = None
    blueprint: str | None = None
    start: JSONObject | None = None
    """The start event as written, without its history."""
    steerable: bool = False
    """Whether more can be said into the run that is asked for (S2.3)."""
    answers: _RequestId | None = None
    """Only as the answer to this question in the conversation; where it takes none, the message is refused."""

    @property
    def when_chosen(self) -> When:
        return self.when or self.when_default


class RequestRun(_Command):
    """Ask for another run on a message that is there: answer again, or go on after a failure."""

    server_filled = frozenset({"profile_version", "blueprint", "start", "steerable"})

    type: Literal["request_run"] = "request_run"
    thread_id: _ThreadId
    message_id: _MessageId
    run_id: _RunId
    profile: str
    profile_version: int | None = None
    blueprint: str | None = None
    when: Literal["next", "instead"] = "next"
    start: JSONObject | None = None
    steerable: bool = False

    @property
    def when_chosen(self) -> When:
        return self.when


class RetractMessage(_Command):
    """Remove a message and all below it, and nothing else."""

    type: Literal["retract_message"] = "retract_message"
    thread_id: _ThreadId
    message_id: _MessageId


class StopRun(_Command):
    type: Literal["stop_run"] = "stop_run"
    run_id: _RunId


class AnswerRequest(_Command):
    """Answer what a run asks a person. One in the conversation is answered by `PostMessage`."""

    type: Literal["answer_request"] = "answer_request"
    run_id: _RunId
    request_id: _RequestId
    response: JSONObject
    """The event that answers, as written; whoever sends the command has checked it against the request."""


class CreateArtifact(_Command):
    type: Literal["create_artifact"] = "create_artifact"
    artifact_id: _ArtifactId
    artifact_type: str
    data: JSONObject


class TextEdit(BaseModel):
    """Replace a passage by quoting it. `old` occurs exactly once; empty, it writes into an empty field (A3.1)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    field: str = "text"
    """A field's name, or a JSON pointer to a text further inside."""
    old: str
    new: str


class EditArtifact(_Command):
    """Change an artifact by a JSON patch (RFC 6902) or by text edits, on the version that the sender has read."""

    type: Literal["edit_artifact"] = "edit_artifact"
    artifact_id: _ArtifactId
    base_version: int = Field(ge=1)
    json_patch: tuple[JSONObject, ...] | None = None
    text_edits: tuple[TextEdit, ...] | None = None

    @model_validator(mode="after")
    def _one_form(self) -> EditArtifact:
        if (self.json_patch is None) == (self.text_edits is None):
            raise ValueError("give either json_patch or text_edits (A3.1)")
        return self


class ArchiveArtifact(_Command):
    type: Literal["archive_artifact"] = "archive_artifact"
    artifact_id: _ArtifactId
    archived: bool = True


class RestoreArtifact(_Command):
    """Make the data of an older version the newest version; an archived artifact comes back with it (A1.5)."""

    type: Literal["restore_artifact"] = "restore_artifact"
    artifact_id: _ArtifactId
    base_version: int = Field(ge=1)
    version: int = Field(ge=1)


Command: TypeAlias = Annotated[
    CreateWorkspace
    | CreateThread
    | RenameThread
    | PostMessage
    | RequestRun
    | RetractMessage
    | StopRun
    | AnswerRequest
    | CreateArtifact
    | EditArtifact
    | ArchiveArtifact
    | RestoreArtifact,
    Field(discriminator="type"),
]
COMMAND: Final[TypeAdapter[Command]] = TypeAdapter(Command)
"""Reads and writes any command as JSON: `{"type": "post_message", …}`."""
