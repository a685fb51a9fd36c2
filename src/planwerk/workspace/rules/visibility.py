"""Who may see a workspace and who may change it (A1.7): what is not seen does not exist.

Roles are not asked here: that is `authorize`, which every surface asks before it comes to the handle (S5.2). These
rules hold whoever asks: a private workspace is its owner's alone, and an agent never changes profiles.
"""

from __future__ import annotations

from typing import assert_never

from planwerk.access.actors import Actor, AgentActor, EvaluatorActor, ExternalAgentActor, SystemActor, UserActor
from planwerk.workflow.ids import ThreadId
from planwerk.workspace.rules.errors import Forbidden, NotFound
from planwerk.workspace.rules.state import Key, State, ThreadEntity, ThreadKey, WorkspaceEntity


def may_see(workspace: WorkspaceEntity, actor: Actor, thread: ThreadEntity | None) -> bool:
    """Whether the workspace exists for this actor.

    Args:
        thread: The workspace's thread of the id that `agent_thread` names; None if it has none.
    """
    match actor:
        case SystemActor():
            return True
        case UserActor(id=account):
            return workspace.kind == "admin" or workspace.owner == account
        case AgentActor():
            return thread is not None
        case ExternalAgentActor() | EvaluatorActor():
            return False
        case _:
            assert_never(actor)


def agent_thread(actor: Actor) -> ThreadId | None:
    """The thread that must be the workspace's for the workspace to exist for this agent."""
    return actor.thread_id if isinstance(actor, AgentActor) else None


def needs_to_see(actor: Actor, state: State) -> frozenset[Key]:
    thread = agent_thread(actor)
    return state.missing(ThreadKey(thread)) if thread is not None else frozenset()


def seen(state: State, actor: Actor) -> WorkspaceEntity:
    """The workspace.

    Raises:
        NotFound: It does not exist, or not for this actor.
    """
    workspace, named = state.workspace, agent_thread(actor)
    thread = state.find_thread(named) if named is not None else None
    if workspace is None or not may_see(workspace, actor, thread):
        raise NotFound("workspace", state.id)
    return workspace


def only_people(actor: Actor, what: str) -> None:
    """Refuse agents and evaluators.

    Raises:
        Forbidden: The actor is neither a person nor the installation itself.
    """
    if not isinstance(actor, UserActor | SystemActor):
        raise Forbidden(
            f"{actor.kind.replace('_', ' ')} {actor.name!r} may not {what} (A2.4).",
            what_to_do="A person has to do this.",
        )
