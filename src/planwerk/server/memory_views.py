"""Memories as REST gives and takes them: what is remembered, and where it was said (C2.3)."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, StringConstraints

from planwerk.access.actions import Action
from planwerk.access.authorize import allowed
from planwerk.access.principal import Principal
from planwerk.capabilities.memory.ports import MOST_CHARACTERS, StoredMemory
from planwerk.runtime.wire import wire_time
from planwerk.server.parts import SERVER_ACTOR, Parts, known_run, run_resource
from planwerk.server.shapes import Given, Items
from planwerk.workflow.ids import RunId, ThreadId, WorkspaceId
from planwerk.workspace.rules.errors import NotFound

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MOST_CHARACTERS)]


class MemorySourceView(BaseModel):
    """Where something was said that is remembered, as far as it is still there."""

    run: str
    thread: str | None
    title: str | None
    """Of the thread."""


class MemoryView(BaseModel):
    """One thing that is remembered."""

    id: str
    text: str
    created: str
    updated: str
    source: MemorySourceView | None
    """None where a person wrote it down, or what it came from is gone."""


class MemoryList(Items[MemoryView]):
    """A page of memories, those changed last first."""

    total: int
    """How many there are."""
    most: int
    """How many there may be."""


class MemoryGiven(Given):
    """New words for a memory."""

    text: Text


class NewMemoryGiven(Given):
    """Something an organisation keeps; the same id twice keeps it once."""

    id: str | None = None
    text: Text


class MemoriesDeleted(BaseModel):
    """How many memories were deleted."""

    deleted: int


class ExportedMemory(BaseModel):
    """A memory as it is stored."""

    id: str
    text: str
    created: str
    updated: str
    source_run: str | None
    superseded_by: str | None
    """The memory that took its place; such a one is not used any more."""


class MemoryExport(BaseModel):
    """All that is remembered of a person."""

    account: str
    exported: str
    memories: list[ExportedMemory]


class NamespaceView(BaseModel):
    """A name in the organisation's memory."""

    namespace: str
    memories: int


def exported(memory: StoredMemory) -> ExportedMemory:
    """A memory for the export."""
    return ExportedMemory(
        id=memory.id,
        text=memory.text,
        created=wire_time(memory.created_microseconds),
        updated=wire_time(memory.updated_microseconds),
        source_run=memory.source_run,
        superseded_by=memory.superseded_by,
    )


class MemorySources:
    """Finds where memories come from, for whoever may see that; each run is looked up once."""

    def __init__(self, parts: Parts, principal: Principal) -> None:
        self._parts = parts
        self._principal = principal
        self._found: dict[str, MemorySourceView | None] = {}

    async def view(self, memory: StoredMemory) -> MemoryView:
        """The memory with its source."""
        run = memory.source_run
        if run is not None and run not in self._found:
            self._found[run] = await self._source(run)
        return MemoryView(
            id=memory.id,
            text=memory.text,
            created=wire_time(memory.created_microseconds),
            updated=wire_time(memory.updated_microseconds),
            source=self._found[run] if run is not None else None,
        )

    async def _source(self, run: str) -> MemorySourceView | None:
        record = await known_run(self._parts, RunId(run))
        if record is None or not allowed(self._principal, Action.RUN_READ, run_resource(record)):
            return None
        title = None
        if record.thread is not None and record.workspace is not None:
            space = self._parts.workspaces.of(self._principal.tenant, WorkspaceId(record.workspace), SERVER_ACTOR)
            try:
                title = (await space.summary(ThreadId(record.thread))).title
            except NotFound:
                return MemorySourceView(run=run, thread=None, title=None)
        return MemorySourceView(run=run, thread=record.thread, title=title)
