"""An artifact as a reader has it: its data at one version, and the ways to change it from there (A1.4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Generic, TypeVar

from planwerk.access.actors import Actor
from planwerk.workflow.ids import ArtifactId
from planwerk.workspace.rules.artifacts import Artifact
from planwerk.workspace.rules.commands import ArchiveArtifact, EditArtifact, RestoreArtifact, TextEdit
from planwerk.workspace.rules.diffs import diff
from planwerk.workspace.rules.errors import PatchFailed

if TYPE_CHECKING:
    from planwerk.workspace.workspace import Workspace

ArtifactT = TypeVar("ArtifactT", bound=Artifact)


@dataclass(frozen=True, slots=True)
class Versioned(Generic[ArtifactT]):
    """One version of an artifact. Changing it gives the next one, and leaves this object as it is."""

    id: ArtifactId
    version: int
    data: ArtifactT
    updated_by: Actor
    archived: bool
    workspace: Workspace
    updated: datetime

    async def edit(self, change: Callable[[ArtifactT], object]) -> Versioned[ArtifactT]:
        """Let `change` alter a copy of the data, and send the difference.

        Raises:
            VersionConflict: The artifact has moved on since this version.
            PatchFailed: Nothing was changed.
        """
        after = self.data.model_copy(deep=True)
        change(after)
        patch = diff(self.data.to_data(), after.to_data())
        if not patch:
            raise PatchFailed("it changes nothing")
        await self.workspace.send(EditArtifact(artifact_id=self.id, base_version=self.version, json_patch=tuple(patch)))
        return await self._again()

    async def edit_text(self, old: str, new: str, field: str = "text") -> Versioned[ArtifactT]:
        """Replace the one passage `old` of a text by `new`.

        Raises:
            VersionConflict: The artifact has moved on since this version.
            PatchFailed: The passage does not occur, or more than once.
        """
        edit = TextEdit(field=field, old=old, new=new)
        await self.workspace.send(EditArtifact(artifact_id=self.id, base_version=self.version, text_edits=(edit,)))
        return await self._again()

    async def archive(self, *, archived: bool = True) -> Versioned[ArtifactT]:
        """Put the artifact away, or bring it back."""
        await self.workspace.send(ArchiveArtifact(artifact_id=self.id, archived=archived))
        return await self._again()

    async def restore(self, version: int) -> Versioned[ArtifactT]:
        """Make an older version's data the newest version.

        Raises:
            VersionConflict: The artifact has moved on since this version.
            NotFound: There is no such version.
        """
        await self.workspace.send(RestoreArtifact(artifact_id=self.id, base_version=self.version, version=version))
        return await self._again()

    async def _again(self) -> Versioned[ArtifactT]:
        return await self.workspace.artifact(type(self.data), self.id)
