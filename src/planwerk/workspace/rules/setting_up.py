"""Decides `create_workspace`."""

from __future__ import annotations

from planwerk.access.actors import Actor, SystemActor, UserActor
from planwerk.workspace.rules.commands import CreateWorkspace
from planwerk.workspace.rules.drafting import Decision, Draft
from planwerk.workspace.rules.errors import Forbidden, InvalidState, ValidationFailed
from planwerk.workspace.rules.events import WorkspaceCreated
from planwerk.workspace.rules.outcomes import Recorded
from planwerk.workspace.rules.state import State, WorkspaceEntity
from planwerk.workspace.rules.visibility import only_people


def commit_create_workspace(command: CreateWorkspace, state: State, actor: Actor) -> Decision:
    """A workspace with its kind, name and owner, and the log's first event."""
    only_people(actor, "create a workspace")
    if state.workspace is not None:
        raise InvalidState(f"workspace {state.id} exists already (A2.3).", what_to_do="Use it, or choose a new id.")
    if not command.name.strip():
        raise ValidationFailed.of("create_workspace", "name", "a workspace needs a name")
    owner = _owner(command, actor)
    draft = Draft(state, actor)
    draft.save(
        WorkspaceEntity(
            id=state.id, tenant=state.tenant, kind=command.kind, name=command.name, owner=owner, created=state.now
        )
    )
    seq = draft.emit(WorkspaceCreated(kind=command.kind, name=command.name, owner=owner))
    return draft.decide(Recorded(seq=seq))


def _owner(command: CreateWorkspace, actor: Actor) -> str | None:
    """The account a workspace belongs to; the admin workspace belongs to nobody."""
    if isinstance(actor, SystemActor):
        if (command.kind == "admin") is not (command.owner is None):
            raise ValidationFailed.of("create_workspace", "owner", "all workspaces but the admin one have an owner")
        return command.owner
    if command.kind == "admin":
        raise Forbidden(
            "only the installation itself makes the admin workspace (A1.7).",
            what_to_do="Ask for it by Workspaces.admin_of(tenant).",
        )
    if isinstance(actor, UserActor) and command.owner not in (None, actor.id):
        raise Forbidden("a person makes workspaces of their own only (A1.7).", what_to_do="Leave out the owner.")
    return actor.id if isinstance(actor, UserActor) else None
