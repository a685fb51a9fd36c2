"""The two questions that the handle asks the rules (A2.1): what a command needs to see, and what it leads to.

`needs` is asked until nothing is missing; `commit` then decides, or raises a `Rejection`, and has changed nothing
either way. Both are pure: the time is part of the state, and every id part of the command.
"""

from __future__ import annotations

from typing import assert_never

from planwerk.access.actors import Actor
from planwerk.workspace.rules import artifact_changes as artifacts
from planwerk.workspace.rules import messages, requests, runs, threads
from planwerk.workspace.rules.commands import (
    AnswerRequest,
    ArchiveArtifact,
    Command,
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
)
from planwerk.workspace.rules.drafting import Decision
from planwerk.workspace.rules.setting_up import commit_create_workspace
from planwerk.workspace.rules.state import Key, State
from planwerk.workspace.rules.visibility import needs_to_see, seen


def needs(command: Command, actor: Actor, state: State) -> frozenset[Key]:
    """The keys that have to be loaded before this command can be decided; empty if all is there."""
    return needs_to_see(actor, state) | _needs(command, state)


def commit(command: Command, state: State, actor: Actor) -> Decision:
    """What the command leads to.

    Raises:
        Rejection: It is refused; nothing changes.
    """
    if isinstance(command, CreateWorkspace):
        return commit_create_workspace(command, state, actor)
    seen(state, actor)
    return _commit(command, state, actor)


def _needs(command: Command, state: State) -> frozenset[Key]:
    match command:
        case CreateWorkspace():
            return frozenset()
        case CreateThread() | RenameThread():
            return threads.needs_thread(command, state)
        case PostMessage():
            return messages.needs_post_message(command, state)
        case RequestRun():
            return runs.needs_request_run(command, state)
        case RetractMessage():
            return messages.needs_retract_message(command, state)
        case StopRun():
            return runs.needs_stop_run(command, state)
        case AnswerRequest():
            return requests.needs_answer_request(command, state)
        case CreateArtifact() | EditArtifact() | ArchiveArtifact() | RestoreArtifact():
            return artifacts.needs_of_artifact(command, state)
        case _:
            assert_never(command)


def _commit(command: Command, state: State, actor: Actor) -> Decision:
    match command:
        case CreateWorkspace():
            return commit_create_workspace(command, state, actor)
        case CreateThread():
            return threads.commit_create_thread(command, state, actor)
        case RenameThread():
            return threads.commit_rename_thread(command, state, actor)
        case PostMessage():
            return messages.commit_post_message(command, state, actor)
        case RequestRun():
            return runs.commit_request_run(command, state, actor)
        case RetractMessage():
            return messages.commit_retract_message(command, state, actor)
        case StopRun():
            return runs.commit_stop_run(command, state, actor)
        case AnswerRequest():
            return requests.commit_answer_request(command, state, actor)
        case CreateArtifact():
            return artifacts.commit_create_artifact(command, state, actor)
        case EditArtifact():
            return artifacts.commit_edit_artifact(command, state, actor)
        case ArchiveArtifact():
            return artifacts.commit_archive_artifact(command, state, actor)
        case RestoreArtifact():
            return artifacts.commit_restore_artifact(command, state, actor)
        case _:
            assert_never(command)
