"""One workspace in one actor's hands: send commands, read and follow the log, read threads and artifacts."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any, Final, TypeVar

from pydantic_ai.messages import ModelMessage

from planwerk.access.actors import Actor
from planwerk.access.ids import TenantId
from planwerk.workflow.ids import ArtifactId, MessageId, RunId, ThreadId, WorkspaceId
from planwerk.workspace.deciding import Decider, Question, hash_of, sender_of
from planwerk.workspace.ports import CommandRef, Storage
from planwerk.workspace.reading import run_view, thread_summary, thread_view
from planwerk.workspace.rules.artifact_data import to_object
from planwerk.workspace.rules.artifacts import Artifact
from planwerk.workspace.rules.commands import Command, PostMessage
from planwerk.workspace.rules.decide import commit, needs
from planwerk.workspace.rules.envelope import LogEnvelope
from planwerk.workspace.rules.errors import ArtifactUnreadable, InvalidState, NotFound
from planwerk.workspace.rules.outcomes import Outcome
from planwerk.workspace.rules.state import (
    ArtifactEntity,
    ArtifactKey,
    MessageEntity,
    MessageKey,
    Revision,
    ThreadEntity,
    ThreadKey,
    WorkspaceEntity,
)
from planwerk.workspace.rules.visibility import agent_thread, may_see
from planwerk.workspace.turns import history_of
from planwerk.workspace.versioned import Versioned
from planwerk.workspace.views import Page, RunView, ThreadSummary, ThreadView

ArtifactT = TypeVar("ArtifactT", bound=Artifact)

_logger: Final = logging.getLogger(__name__)

BATCH: Final = 500
"""Envelopes that a subscriber reads at a time."""


class Workspace:
    """A workspace as one actor sees it. What the actor may not see raises `NotFound`, as what does not exist."""

    def __init__(
        self,
        storage: Storage,
        decider: Decider,
        types: Mapping[str, type[Artifact]],
        *,
        tenant: TenantId,
        id_: WorkspaceId,
        actor: Actor,
    ) -> None:
        self.tenant, self.id, self.actor = tenant, id_, actor
        self._storage = storage
        self._decider = decider
        self._types = types

    async def send(self, command: Command, *, command_id: str | None = None, traceparent: str | None = None) -> Outcome:
        """Let the rules decide a command and save what follows from it; a rejected one changes nothing.

        Args:
            command_id: Unique per sender; repeated with the same command, it gives the first outcome again (A2.3).
                That of a post is its message's id.

        Raises:
            Rejection: The rules refuse the command, and say why.
        """
        if isinstance(command, PostMessage):
            if command_id not in (None, command.message_id):
                raise InvalidState(
                    f"the post of message {command.message_id} came under command id {command_id} (A2.3).",
                    what_to_do="Use the message's id as command id, or leave it out.",
                )
            command_id = command.message_id
        reference = None
        if command_id is not None:
            reference = CommandRef(sender_of(self.actor), command_id, hash_of(command.body()))
        return await self._decider.decide(
            Question(
                tenant=self.tenant,
                workspace=self.id,
                needs=partial(needs, command, self.actor),
                commit=partial(commit, command, actor=self.actor),
                command=reference,
                traceparent=traceparent,
            )
        )

    async def about(self) -> WorkspaceEntity:
        """The workspace itself.

        Raises:
            NotFound: It does not exist, or not for this actor.
        """
        named = agent_thread(self.actor)
        keys = [ThreadKey(named)] if named is not None else []
        loaded = await self._storage.load(self.tenant, self.id, keys)
        thread = loaded.found[keys[0]] if keys else None
        assert thread is None or isinstance(thread, ThreadEntity)
        if loaded.workspace is None or not may_see(loaded.workspace, self.actor, thread):
            raise NotFound("workspace", self.id)
        return loaded.workspace

    async def read(
        self,
        *,
        after_seq: int = 0,
        before_seq: int | None = None,
        threads: Collection[ThreadId] | None = None,
        limit: int | None = None,
        last: int | None = None,
    ) -> list[LogEnvelope]:
        """The log between two places, both left out: the first `limit` of it, or the `last`.

        Args:
            threads: Leave out what belongs to other threads.
        """
        await self.about()
        return await self._storage.read(
            self.id, after_seq=after_seq, before_seq=before_seq, threads=threads, limit=limit, last=last
        )

    async def subscribe(
        self, after_seq: int = 0, threads: Collection[ThreadId] | None = None
    ) -> AsyncGenerator[LogEnvelope]:
        """Replay the log after a place, then follow it: each envelope once, in order, without a gap (A5.2).

        It never ends by itself; close it (`contextlib.aclosing`) when nobody listens any more.
        """
        await self.about()
        position = after_seq
        async with aclosing(self._storage.changes()) as changes:
            async for _ in changes:
                head = await self._storage.head_seq(self.id)
                while position < head:
                    batch = await self._storage.read(
                        self.id, after_seq=position, before_seq=head + 1, threads=threads, limit=BATCH
                    )
                    for envelope in batch:
                        position = envelope.seq
                        yield envelope
                    if len(batch) < BATCH:
                        position = head

    async def head_seq(self) -> int:
        """The `seq` of the last event."""
        await self.about()
        return await self._storage.head_seq(self.id)

    async def threads(self, cursor: str | None = None, limit: int = 50) -> Page[ThreadSummary]:
        """Threads by their last activity, newest first.

        Args:
            cursor: `next` of the page before.
        """
        await self.about()
        before = int(cursor) if cursor is not None and cursor.isdecimal() else None
        found = await self._storage.list_threads(self.id, before_updated_seq=before, limit=limit + 1)
        page = tuple(thread_summary(self.id, thread) for thread in found[:limit])
        return Page[ThreadSummary](items=page, next=str(page[-1].updated_seq) if len(found) > limit else None)

    async def thread(self, thread: ThreadId) -> ThreadView:
        """A thread with its messages and runs.

        Raises:
            NotFound: There is none of this id here.
        """
        await self.about()
        contents = await self._storage.thread_contents(self.id, thread)
        if contents is None:
            raise NotFound("thread", thread)
        return thread_view(self.id, contents)

    async def summary(self, thread: ThreadId) -> ThreadSummary:
        """A thread without its messages and runs.

        Raises:
            NotFound: There is none of this id here.
        """
        await self.about()
        found = (await self._storage.load(self.tenant, self.id, [ThreadKey(thread)])).found[ThreadKey(thread)]
        if not isinstance(found, ThreadEntity):
            raise NotFound("thread", thread)
        return thread_summary(self.id, found)

    async def run(self, run: RunId) -> RunView:
        """One run of a thread; the rest of the thread is not read.

        Raises:
            NotFound: There is none of this id here.
        """
        await self.about()
        found = await self._storage.find_run(self.id, run)
        if found is None:
            raise NotFound("run", run)
        return run_view(found.run, active=found.active)

    async def active_run(self, thread: ThreadId) -> RunView | None:
        """The run whose turn it is in a thread, opened or not; None if none is pending, or there is no such thread."""
        await self.about()
        found = await self._storage.active_run(self.id, thread)
        return run_view(found, active=True) if found is not None else None

    async def said(self, message: MessageId) -> tuple[ModelMessage, ...]:
        """What one message says, as a model reads it; nothing if it is not there any more."""
        key = MessageKey(message)
        loaded = await self._storage.load(self.tenant, self.id, [key])
        found = loaded.found[key]
        return history_of([found], {}) if isinstance(found, MessageEntity) and not found.retracted else ()

    async def history(self, message: MessageId) -> tuple[ModelMessage, ...]:
        """The model messages along the path from the root to this message, it included (A1.6).

        Raises:
            NotFound: There is no such message here.
        """
        await self.about()
        path = await self._storage.message_path(self.id, message)
        if not path:
            raise NotFound("message", message)
        hashes = {entity.model_messages for entity in path if entity.model_messages is not None}
        return history_of(path, await self._storage.contents(self.tenant, hashes))

    async def artifact(self, type_: type[ArtifactT], artifact: ArtifactId) -> Versioned[ArtifactT]:
        """An artifact of this type.

        Raises:
            NotFound: There is none of this id and type here, or the type is not registered.
            ArtifactUnreadable: Its stored data does not fit the class.
        """
        await self.about()
        loaded = await self._storage.load(self.tenant, self.id, [ArtifactKey(artifact)])
        stored = loaded.found[ArtifactKey(artifact)]
        if not isinstance(stored, ArtifactEntity) or stored.type != self._registered(type_).type_name:
            raise NotFound("artifact", artifact)
        return self._versioned(type_, stored)

    async def artifacts(self, type_: type[ArtifactT], *, archived: bool = False) -> list[Versioned[ArtifactT]]:
        """The artifacts of a type in the order of their creation, archived ones only if asked for.

        One whose stored data does not fit the class is left out and logged; asked for by itself, it raises (A1.3).

        Raises:
            NotFound: The type is not registered.
        """
        await self.about()
        name = self._registered(type_).type_name
        readable: list[Versioned[ArtifactT]] = []
        for stored in await self._storage.list_artifacts(self.id, name, archived=archived):
            try:
                readable.append(self._versioned(type_, stored))
            except ArtifactUnreadable as error:
                _logger.warning("%s", error)
        return readable

    async def revisions(self, artifact: ArtifactId) -> list[Revision]:
        """All revisions of an artifact, oldest first.

        Raises:
            NotFound: There is no such artifact here.
        """
        await self.about()
        found = await self._storage.list_revisions(self.id, artifact)
        if not found:
            raise NotFound("artifact", artifact)
        return found

    def _registered(self, type_: type[Artifact]) -> type[Artifact]:
        if self._types.get(type_.type_name) is not type_:
            raise NotFound("artifact type", type_.type_name)
        return type_

    def _versioned(self, type_: type[ArtifactT], stored: ArtifactEntity) -> Versioned[ArtifactT]:
        data: Any = to_object(type_, stored)
        return Versioned(stored.id, stored.version, data, stored.updated_by, stored.archived, self, stored.updated)
