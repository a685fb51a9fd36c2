"""Decides what happens to artifacts: `create_artifact`, `edit_artifact`, `archive_artifact`, `restore_artifact`.

An edit names the version it is based on; on any other one it is refused with what was changed since (A2.2). The new
data is validated by the type, and what is stored is what the type made of it: the patch of the new revision is computed
from stored to stored, so it replays exactly whatever the sender sent (A3.1).
"""

from __future__ import annotations

from typing import Final, TypeAlias

from planwerk.access.actors import Actor
from planwerk.workspace.rules.artifact_data import to_new_data, to_readable_data
from planwerk.workspace.rules.artifacts import Artifact
from planwerk.workspace.rules.commands import ArchiveArtifact, CreateArtifact, EditArtifact, RestoreArtifact
from planwerk.workspace.rules.diffs import diff
from planwerk.workspace.rules.drafting import Decision, Draft
from planwerk.workspace.rules.errors import Forbidden, InvalidState, NotFound, PatchFailed, PatchSince, VersionConflict
from planwerk.workspace.rules.events import ArtifactArchived, ArtifactChanged, ArtifactCreated
from planwerk.workspace.rules.json_values import JSONObject, same_json
from planwerk.workspace.rules.outcomes import Applied
from planwerk.workspace.rules.patches import apply_patch
from planwerk.workspace.rules.state import (
    ArtifactEntity,
    ArtifactKey,
    Key,
    Revision,
    RevisionsAfterKey,
    RevisionsToKey,
    State,
    changed,
)
from planwerk.workspace.rules.text_edits import apply_text_edits

SNAPSHOT_EVERY: Final = 20
"""A revision of each such version holds the whole, so that no version is more than this many patches away."""

AnyArtifactCommand: TypeAlias = CreateArtifact | EditArtifact | ArchiveArtifact | RestoreArtifact


def needs_of_artifact(command: AnyArtifactCommand, state: State) -> frozenset[Key]:
    missing = state.missing(ArtifactKey(command.artifact_id))
    if missing or isinstance(command, CreateArtifact | ArchiveArtifact):
        return missing
    artifact = state.find_artifact(command.artifact_id)
    if artifact is None:
        return frozenset()
    if artifact.version != command.base_version:
        return state.missing(RevisionsAfterKey(artifact.id, command.base_version))
    if isinstance(command, RestoreArtifact):
        return state.missing(RevisionsToKey(artifact.id, command.version))
    return frozenset()


def commit_create_artifact(command: CreateArtifact, state: State, actor: Actor) -> Decision:
    """Version 1, with its data whole in the log."""
    type_ = _type(state, command.artifact_type)
    _refuse_workspace(state, actor)
    _refuse_direct_change(type_, actor)
    if state.find_artifact(command.artifact_id) is not None:
        raise InvalidState(
            f"artifact {command.artifact_id} exists already (A2.3: an id is used once).", what_to_do="Make a new id."
        )
    data = to_new_data(type_, command.data)
    artifact = ArtifactEntity(
        id=command.artifact_id,
        type=type_.type_name,
        version=1,
        schema_version=type_.schema_version,
        data=data,
        created_by=actor,
        created=state.now,
        updated_by=actor,
        updated=state.now,
    )
    draft = Draft(state, actor)
    draft.emit(
        ArtifactCreated(
            artifact_id=artifact.id, type=artifact.type, version=1, schema_version=type_.schema_version, data=data
        )
    )
    draft.save(artifact)
    draft.revisions.append(_revision(draft, artifact, (), snapshot=data))
    return draft.decide(Applied(seq=draft.seq, artifact_id=artifact.id, version=1))


def commit_edit_artifact(command: EditArtifact, state: State, actor: Actor) -> Decision:
    """The next version, made by a patch on the version that the sender has read."""
    artifact = _based_on(command, state)
    type_ = _type(state, artifact.type)
    _refuse_workspace(state, actor)
    _refuse_direct_change(type_, actor)
    if artifact.archived:
        raise InvalidState(f"artifact {artifact.id} is archived.", what_to_do="Bring it back first.")
    read = to_readable_data(type_, artifact)
    if command.json_patch is not None:
        wanted = apply_patch(read, command.json_patch)
    else:
        wanted = apply_text_edits(read, command.text_edits or ())
    data = to_new_data(type_, wanted)
    if same_json(data, read):
        raise PatchFailed("it changes nothing")
    return _new_version(state, actor, artifact, type_, data)


def commit_archive_artifact(command: ArchiveArtifact, state: State, actor: Actor) -> Decision:
    """Put an artifact away, or bring it back; its data and its version stay."""
    artifact = state.artifact(command.artifact_id)
    _refuse_workspace(state, actor)
    _refuse_direct_change(_type(state, artifact.type), actor)
    draft = Draft(state, actor)
    if artifact.archived is not command.archived:
        draft.emit(
            ArtifactArchived(
                artifact_id=artifact.id, type=artifact.type, version=artifact.version, archived=command.archived
            )
        )
        draft.save(changed(artifact, archived=command.archived, updated_by=actor, updated=state.now))
    return draft.decide(Applied(seq=draft.seq, artifact_id=artifact.id, version=artifact.version))


def commit_restore_artifact(command: RestoreArtifact, state: State, actor: Actor) -> Decision:
    """An older version's data as the newest version: versions never go backwards (A1.5)."""
    artifact = _based_on(command, state)
    type_ = _type(state, artifact.type)
    _refuse_workspace(state, actor)
    _refuse_direct_change(type_, actor)
    revisions = state.revisions(RevisionsToKey(artifact.id, command.version))
    if not revisions or revisions[-1].version != command.version:
        raise NotFound("version", str(command.version))
    old = changed(artifact, data=rebuilt(revisions), schema_version=revisions[-1].schema_version)
    data = to_new_data(type_, to_readable_data(type_, old))
    if not artifact.archived and same_json(data, to_readable_data(type_, artifact)):
        raise PatchFailed("it changes nothing")
    return _new_version(state, actor, artifact, type_, data, restored_from=command.version)


def rebuilt(revisions: tuple[Revision, ...]) -> JSONObject:
    """The data of the last of these revisions; the first has a snapshot."""
    data = revisions[0].snapshot or {}
    for revision in revisions[1:]:
        data = apply_patch(data, revision.patch)
    return data


def _new_version(
    state: State,
    actor: Actor,
    artifact: ArtifactEntity,
    type_: type[Artifact],
    data: JSONObject,
    *,
    restored_from: int | None = None,
) -> Decision:
    patch = tuple(diff(artifact.data, data))
    after = changed(
        artifact,
        version=artifact.version + 1,
        schema_version=type_.schema_version,
        data=data,
        archived=False,
        updated_by=actor,
        updated=state.now,
    )
    draft = Draft(state, actor)
    draft.emit(
        ArtifactChanged(
            artifact_id=after.id,
            type=after.type,
            version=after.version,
            schema_version=after.schema_version,
            patch=patch,
            restored_from=restored_from,
        )
    )
    draft.save(after)
    snapshot = data if after.version % SNAPSHOT_EVERY == 1 else None
    draft.revisions.append(_revision(draft, after, patch, snapshot=snapshot, restored_from=restored_from))
    return draft.decide(Applied(seq=draft.seq, artifact_id=after.id, version=after.version))


def _revision(
    draft: Draft,
    artifact: ArtifactEntity,
    patch: tuple[JSONObject, ...],
    *,
    snapshot: JSONObject | None,
    restored_from: int | None = None,
) -> Revision:
    return Revision(
        artifact=artifact.id,
        version=artifact.version,
        schema_version=artifact.schema_version,
        patch=patch,
        snapshot=snapshot,
        actor=draft.actor,
        time=draft.state.now,
        seq=draft.seq,
        restored_from=restored_from,
    )


def _based_on(command: EditArtifact | RestoreArtifact, state: State) -> ArtifactEntity:
    """The artifact, at the version that the command is based on.

    Raises:
        VersionConflict: It has moved on, or never was at that version; has the patches made since.
    """
    artifact = state.artifact(command.artifact_id)
    if artifact.version != command.base_version:
        since = state.revisions(RevisionsAfterKey(artifact.id, command.base_version))
        raise VersionConflict(
            artifact.id,
            base=command.base_version,
            head=artifact.version,
            patches=[PatchSince(r.version, r.patch, r.actor.model_dump(mode="json")) for r in since],
        )
    return artifact


def _type(state: State, name: str) -> type[Artifact]:
    if name not in state.types:
        raise NotFound("artifact type", name)
    return state.types[name]


def _refuse_direct_change(type_: type[Artifact], actor: Actor) -> None:
    """Agents propose changes to a `propose` type, they do not make them (A4.1)."""
    if type_.write_policy == "propose" and actor.kind in ("agent", "external_agent", "evaluator"):
        raise Forbidden(
            f"artifacts of type {type_.type_name!r} are changed by people; agents propose (A4.1).",
            what_to_do="Propose the change, and a person decides.",
        )


def _refuse_workspace(state: State, actor: Actor) -> None:
    """The admin workspace is changed by people and the installation alone; who of them may is `authorize`'s (S5.2)."""
    if state.workspace is not None and state.workspace.kind == "admin" and actor.kind not in ("user", "system"):
        raise Forbidden(
            f"{actor.name!r} may not change profiles and collections (A2.4).", what_to_do="A person has to do this."
        )
