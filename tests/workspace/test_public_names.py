"""What outsiders import from `planwerk.workspace` (design.md §6)."""

from __future__ import annotations

import subprocess
import sys

import pytest

import planwerk.workspace
from planwerk.workspace.rules.commands import COMMAND
from planwerk.workspace.rules.events import LOG_EVENTS

PUBLIC = [
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
    "MessageMoved",
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
    "RunSteered",
    "SteeringTaken",
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


def test_the_public_names_are_these_and_all_of_them_are_there() -> None:
    assert planwerk.workspace.__all__ == PUBLIC
    assert [name for name in PUBLIC if getattr(planwerk.workspace, name).__name__ != name] == ["Actor"]


def test_every_command_and_every_event_is_public() -> None:
    commands = [schema["title"] for schema in COMMAND.json_schema()["$defs"].values() if "type" in schema["properties"]]

    assert set(commands) <= set(PUBLIC)
    assert {event.__name__ for event in LOG_EVENTS.values()} <= set(PUBLIC)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="WorkspaceManager"):
        planwerk.workspace.WorkspaceManager  # noqa: B018  # pyright: ignore


def test_the_rules_are_loaded_without_the_handle() -> None:
    script = (
        "import sys, planwerk.workspace.rules.decide; print('pydantic_ai' in sys.modules, 'sqlalchemy' in sys.modules)"
    )

    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert said.stdout.split() == ["False", "False"]
