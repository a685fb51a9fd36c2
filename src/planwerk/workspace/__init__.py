"""Shared work: artifacts, threads and one log per workspace; rules that decide, and the handle around them.

The names are resolved when they are used (PEP 562): whoever needs the rules alone does not load the handle.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from planwerk.access.actors import Actor, AgentActor, EvaluatorActor, ExternalAgentActor, SystemActor, UserActor
    from planwerk.workspace.rules.artifacts import Artifact, MarkdownArtifact
    from planwerk.workspace.rules.commands import (
        AnswerRequest,
        ArchiveArtifact,
        CreateArtifact,
        CreateThread,
        CreateWorkspace,
        EditArtifact,
        PostMessage,
        RenameThread,
        RequestRun,
        RestoreArtifact,
        RetractMessage,
        StopRun,
        TextEdit,
    )
    from planwerk.workspace.rules.envelope import LogEnvelope
    from planwerk.workspace.rules.errors import (
        ArtifactUnreadable,
        Forbidden,
        InvalidState,
        MergeConflict,
        NotFound,
        PatchFailed,
        Rejection,
        RequestAnsweredBefore,
        RequestNotOpen,
        RequestTimedOut,
        ValidationFailed,
        VersionConflict,
    )
    from planwerk.workspace.rules.events import (
        ArtifactArchived,
        ArtifactChanged,
        ArtifactCreated,
        LogEvent,
        MessagePosted,
        MessageRetracted,
        RequestAnswered,
        RequestClosed,
        RequestOpened,
        RunEnded,
        RunPaused,
        RunRequested,
        RunResumed,
        RunStarted,
        StopRequested,
        ThreadCreated,
        ThreadRenamed,
        UnknownLogEvent,
        WorkspaceCreated,
    )
    from planwerk.workspace.rules.outcomes import Applied, Recorded
    from planwerk.workspace.versioned import Versioned
    from planwerk.workspace.workspace import Workspace
    from planwerk.workspace.workspaces import Workspaces

_HOMES: Final = {
    "planwerk.access.actors": (
        "Actor",
        "AgentActor",
        "EvaluatorActor",
        "ExternalAgentActor",
        "SystemActor",
        "UserActor",
    ),
    "planwerk.workspace.rules.artifacts": ("Artifact", "MarkdownArtifact"),
    "planwerk.workspace.rules.commands": (
        "AnswerRequest",
        "ArchiveArtifact",
        "CreateArtifact",
        "CreateThread",
        "CreateWorkspace",
        "EditArtifact",
        "PostMessage",
        "RenameThread",
        "RequestRun",
        "RestoreArtifact",
        "RetractMessage",
        "StopRun",
        "TextEdit",
    ),
    "planwerk.workspace.rules.envelope": ("LogEnvelope",),
    "planwerk.workspace.rules.errors": (
        "ArtifactUnreadable",
        "Forbidden",
        "InvalidState",
        "MergeConflict",
        "NotFound",
        "PatchFailed",
        "Rejection",
        "RequestAnsweredBefore",
        "RequestNotOpen",
        "RequestTimedOut",
        "ValidationFailed",
        "VersionConflict",
    ),
    "planwerk.workspace.rules.events": (
        "ArtifactArchived",
        "ArtifactChanged",
        "ArtifactCreated",
        "LogEvent",
        "MessagePosted",
        "MessageRetracted",
        "RequestAnswered",
        "RequestClosed",
        "RequestOpened",
        "RunEnded",
        "RunPaused",
        "RunRequested",
        "RunResumed",
        "RunStarted",
        "StopRequested",
        "ThreadCreated",
        "ThreadRenamed",
        "UnknownLogEvent",
        "WorkspaceCreated",
    ),
    "planwerk.workspace.rules.outcomes": ("Applied", "Recorded"),
    "planwerk.workspace.versioned": ("Versioned",),
    "planwerk.workspace.workspace": ("Workspace",),
    "planwerk.workspace.workspaces": ("Workspaces",),
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [  # noqa: RUF022 - in the order of the imports above
    "Actor",
    "AgentActor",
    "EvaluatorActor",
    "ExternalAgentActor",
    "SystemActor",
    "UserActor",
    "Artifact",
    "MarkdownArtifact",
    "AnswerRequest",
    "ArchiveArtifact",
    "CreateArtifact",
    "CreateThread",
    "CreateWorkspace",
    "EditArtifact",
    "PostMessage",
    "RenameThread",
    "RequestRun",
    "RestoreArtifact",
    "RetractMessage",
    "StopRun",
    "TextEdit",
    "LogEnvelope",
    "ArtifactUnreadable",
    "Forbidden",
    "InvalidState",
    "MergeConflict",
    "NotFound",
    "PatchFailed",
    "Rejection",
    "RequestAnsweredBefore",
    "RequestNotOpen",
    "RequestTimedOut",
    "ValidationFailed",
    "VersionConflict",
    "ArtifactArchived",
    "ArtifactChanged",
    "ArtifactCreated",
    "LogEvent",
    "MessagePosted",
    "MessageRetracted",
    "RequestAnswered",
    "RequestClosed",
    "RequestOpened",
    "RunEnded",
    "RunPaused",
    "RunRequested",
    "RunResumed",
    "RunStarted",
    "StopRequested",
    "ThreadCreated",
    "ThreadRenamed",
    "UnknownLogEvent",
    "WorkspaceCreated",
    "Applied",
    "Recorded",
    "Versioned",
    "Workspace",
    "Workspaces",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)
