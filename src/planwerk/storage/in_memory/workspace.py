"""The workspace port in memory: what the tests of every other room run on, and the plainest reading of the port."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from planwerk.access.ids import TenantId
from planwerk.storage.wakeups import WakeUps
from planwerk.workflow.ids import ArtifactId, MessageId, RunId, ThreadId, WorkspaceId
from planwerk.workspace.ports import (
    RESULTS_KEPT,
    CommandResult,
    Commit,
    CursorLease,
    FeedItem,
    Loaded,
    PlacedRun,
    ThreadContents,
    rebuild_from,
    sole_name,
)
from planwerk.workspace.rules.envelope import LogEnvelope
from planwerk.workspace.rules.errors import CursorPassedOn, SoleWorkspaceTaken, StaleCursor, StaleHead
from planwerk.workspace.rules.state import (
    ArtifactEntity,
    ArtifactKey,
    Entity,
    Found,
    Key,
    MessageEntity,
    MessageKey,
    PendingKey,
    Revision,
    RevisionsAfterKey,
    RevisionsToKey,
    RunEntity,
    RunKey,
    RunsKey,
    ThreadEntity,
    ThreadKey,
    TreeKey,
    WorkspaceEntity,
)


@dataclass(slots=True)
class _Kept:
    result: CommandResult
    time: datetime


@dataclass(slots=True)
class _Place:
    """One workspace."""

    entity: WorkspaceEntity
    log: list[LogEnvelope] = field(default_factory=list[LogEnvelope])
    threads: dict[ThreadId, ThreadEntity] = field(default_factory=dict[ThreadId, ThreadEntity])
    messages: dict[MessageId, MessageEntity] = field(default_factory=dict[MessageId, MessageEntity])
    runs: dict[RunId, RunEntity] = field(default_factory=dict[RunId, RunEntity])
    artifacts: dict[ArtifactId, ArtifactEntity] = field(default_factory=dict[ArtifactId, ArtifactEntity])
    revisions: dict[ArtifactId, list[Revision]] = field(default_factory=dict[ArtifactId, list[Revision]])
    results: dict[tuple[str, str], _Kept] = field(default_factory=dict[tuple[str, str], _Kept])

    def find(self, key: Key) -> Found:
        match key:
            case ThreadKey(id=thread):
                return self.threads.get(thread)
            case MessageKey(id=message):
                return self.messages.get(message)
            case RunKey(id=run):
                return self.runs.get(run)
            case ArtifactKey(id=artifact):
                return self.artifacts.get(artifact)
            case TreeKey(thread=thread):
                return self.messages_of(thread)
            case PendingKey(thread=thread):
                return tuple(run for run in self.runs_of(thread) if run.ended is None)
            case RunsKey(thread=thread):
                return self.runs_of(thread)
            case RevisionsAfterKey(artifact=artifact, after=after):
                return tuple(r for r in self.revisions.get(artifact, []) if r.version > after)
            case RevisionsToKey(artifact=artifact, version=version):
                return rebuild_from([r for r in self.revisions.get(artifact, []) if r.version <= version])

    def messages_of(self, thread: ThreadId) -> tuple[MessageEntity, ...]:
        found = (m for m in self.messages.values() if m.thread == thread and not m.retracted)
        return tuple(sorted(found, key=lambda message: message.seq))

    def runs_of(self, thread: ThreadId) -> tuple[RunEntity, ...]:
        found = (run for run in self.runs.values() if run.thread == thread)
        return tuple(sorted(found, key=lambda run: run.requested_seq))

    def save(self, entity: Entity) -> None:
        match entity:
            case WorkspaceEntity():
                self.entity = entity
            case ThreadEntity():
                self.threads[entity.id] = entity
            case MessageEntity():
                self.messages[entity.id] = entity
            case RunEntity():
                self.runs[entity.id] = entity
            case ArtifactEntity():
                self.artifacts[entity.id] = entity


class InMemoryWorkspaceStorage:
    """Everything in dictionaries; a commit is one synchronous stretch, so readers see all of it or nothing."""

    def __init__(self) -> None:
        self._places: dict[WorkspaceId, _Place] = {}
        self._feed: list[FeedItem] = []
        self._contents: dict[tuple[TenantId, str], bytes] = {}
        self._cursors: dict[str, int] = {}
        self._cursor_leases: dict[str, CursorLease] = {}
        self._wakeups = WakeUps()

    async def load(
        self, tenant: TenantId, workspace: WorkspaceId, keys: Collection[Key], command: tuple[str, str] | None = None
    ) -> Loaded:
        place = self._places.get(workspace)
        if place is None or place.entity.tenant != tenant:
            nothing = _Place(WorkspaceEntity.model_construct())
            return Loaded(0, None, {key: nothing.find(key) for key in keys}, None)
        kept = place.results.get(command) if command is not None else None
        found = {key: place.find(key) for key in keys}
        return Loaded(len(place.log), place.entity, found, kept.result if kept else None)

    async def commit(self, commit: Commit) -> None:
        place = self._checked(commit)
        for entity in commit.entities:
            place.save(entity)
        for revision in commit.revisions:
            place.revisions.setdefault(revision.artifact, []).append(revision)
        for envelope in commit.events:
            place.log.append(envelope)
            self._feed.append(FeedItem(len(self._feed) + 1, commit.tenant, envelope))
        for hash_, data in commit.contents.items():
            self._contents.setdefault((commit.tenant, hash_), data)
        self._keep_result(place, commit)
        if commit.cursor is not None:
            self._cursors[commit.cursor.name] = commit.cursor.new
        self._wakeups.wake()

    def _checked(self, commit: Commit) -> _Place:
        """The workspace the commit goes to; everything that can be refused is refused here."""
        cursor = commit.cursor
        if cursor is not None:
            self._refuse_passed_on(cursor.name, cursor.fence)
        if cursor is not None and (stored := self._cursors.get(cursor.name, 0)) != cursor.expected:
            raise StaleCursor(cursor.name, expected=cursor.expected, stored=stored)
        place = self._places.get(commit.workspace)
        head = len(place.log) if place is not None else 0
        if head != commit.expected_head or (place is not None and place.entity.tenant != commit.tenant):
            raise StaleHead(commit.workspace, expected=commit.expected_head)
        return place or self._created(commit)

    def _created(self, commit: Commit) -> _Place:
        entity = next((e for e in commit.entities if isinstance(e, WorkspaceEntity)), None)
        sole = sole_name(entity.kind, entity.owner) if entity else None
        taken = sole is not None and any(
            other.entity.tenant == commit.tenant and sole_name(other.entity.kind, other.entity.owner) == sole
            for other in self._places.values()
        )
        if entity is None:
            raise StaleHead(commit.workspace, expected=commit.expected_head)
        if sole is not None and taken:
            raise SoleWorkspaceTaken(sole)
        self._places[commit.workspace] = place = _Place(entity)
        return place

    def _keep_result(self, place: _Place, commit: Commit) -> None:
        if commit.command is None or commit.outcome is None or commit.time is None:
            return
        old = [key for key, kept in place.results.items() if kept.time < commit.time - RESULTS_KEPT]
        for key in old:
            del place.results[key]
        result = CommandResult(commit.command.body_hash, commit.outcome)
        place.results.setdefault((commit.command.sender, commit.command.id), _Kept(result, commit.time))

    async def read(
        self,
        workspace: WorkspaceId,
        *,
        after_seq: int = 0,
        before_seq: int | None = None,
        threads: Collection[ThreadId] | None = None,
        limit: int | None = None,
        last: int | None = None,
    ) -> list[LogEnvelope]:
        place = self._places.get(workspace)
        log = place.log if place is not None else []
        end = len(log) if before_seq is None else max(before_seq - 1, 0)
        found = [e for e in log[max(after_seq, 0) : end] if threads is None or e.thread is None or e.thread in threads]
        return found[max(len(found) - last, 0) :] if last is not None else found[:limit]

    async def head_seq(self, workspace: WorkspaceId) -> int:
        place = self._places.get(workspace)
        return len(place.log) if place is not None else 0

    async def feed(self, after: int, limit: int) -> list[FeedItem]:
        return self._feed[after : after + limit]

    def changes(self) -> AsyncGenerator[None]:
        return self._wakeups.follow()

    async def cursor(self, name: str) -> int:
        return self._cursors.get(name, 0)

    async def save_cursor(self, name: str, position: int, *, fence: int | None = None) -> None:
        self._refuse_passed_on(name, fence)
        self._cursors[name] = max(position, self._cursors.get(name, 0))

    async def lease_cursor(
        self, name: str, owner: str, *, now_microseconds: int, lease_microseconds: int, heir_of: str | None = None
    ) -> CursorLease | None:
        known = self._cursor_leases.get(name, CursorLease(name, "", 0, 0))
        if known.until_microseconds > now_microseconds and known.owner not in {owner, heir_of}:
            return None
        lease = CursorLease(name, owner, known.fence + 1, now_microseconds + lease_microseconds)
        self._cursor_leases[name] = lease
        return lease

    async def renew_cursor(self, lease: CursorLease, *, until_microseconds: int) -> CursorLease | None:
        if self._cursor_leases[lease.name].fence != lease.fence:
            return None
        renewed = replace(lease, until_microseconds=until_microseconds)
        self._cursor_leases[lease.name] = renewed
        return renewed

    async def release_cursor(self, lease: CursorLease) -> None:
        if self._cursor_leases[lease.name].fence == lease.fence:
            self._cursor_leases[lease.name] = replace(lease, owner="", until_microseconds=0)

    async def cursor_owner(self, name: str) -> str | None:
        known = self._cursor_leases.get(name)
        return known.owner or None if known is not None else None

    def _refuse_passed_on(self, name: str, fence: int | None) -> None:
        known = self._cursor_leases.get(name)
        if known is not None and fence is not None and known.fence > fence:
            raise CursorPassedOn(name, carried=fence, current=known.fence)

    async def contents(self, tenant: TenantId, hashes: Collection[str]) -> dict[str, bytes]:
        return {hash_: self._contents[tenant, hash_] for hash_ in hashes if (tenant, hash_) in self._contents}

    async def find_workspace(self, tenant: TenantId, kind: str, owner: str | None) -> WorkspaceEntity | None:
        sole = sole_name(kind, owner)
        return next((e for e in await self.list_workspaces(tenant) if sole_name(e.kind, e.owner) == sole), None)

    async def list_workspaces(self, tenant: TenantId) -> list[WorkspaceEntity]:
        return [place.entity for place in self._places.values() if place.entity.tenant == tenant]

    async def locate_thread(self, tenant: TenantId, thread: ThreadId) -> WorkspaceId | None:
        found = [p for p in self._places.values() if p.entity.tenant == tenant and thread in p.threads]
        return min(found, key=lambda place: place.threads[thread].created).entity.id if found else None

    async def locate_run(self, tenant: TenantId, run: RunId) -> tuple[WorkspaceId, ThreadId] | None:
        found = [p for p in self._places.values() if p.entity.tenant == tenant and run in p.runs]
        first = min(found, key=lambda place: place.runs[run].requested) if found else None
        return (first.entity.id, first.runs[run].thread) if first is not None else None

    async def list_threads(
        self, workspace: WorkspaceId, *, before_updated_seq: int | None, limit: int
    ) -> list[ThreadEntity]:
        place = self._places.get(workspace)
        threads: Sequence[ThreadEntity] = list(place.threads.values()) if place is not None else []
        found = [t for t in threads if before_updated_seq is None or t.updated_seq < before_updated_seq]
        return sorted(found, key=lambda thread: -thread.updated_seq)[:limit]

    async def thread_contents(self, workspace: WorkspaceId, thread: ThreadId) -> ThreadContents | None:
        place = self._places.get(workspace)
        if place is None or thread not in place.threads:
            return None
        return ThreadContents(
            place.threads[thread], place.messages_of(thread), place.runs_of(thread), head_seq=len(place.log)
        )

    async def find_run(self, workspace: WorkspaceId, run: RunId) -> PlacedRun | None:
        place = self._places.get(workspace)
        found = place.runs.get(run) if place is not None else None
        thread = place.threads.get(found.thread) if place is not None and found is not None else None
        return PlacedRun(found, active=thread.pending[:1] == (run,)) if found is not None and thread else None

    async def active_run(self, workspace: WorkspaceId, thread: ThreadId) -> RunEntity | None:
        place = self._places.get(workspace)
        found = place.threads.get(thread) if place is not None else None
        return place.runs.get(found.pending[0]) if place is not None and found is not None and found.pending else None

    async def message_path(self, workspace: WorkspaceId, message: MessageId) -> list[MessageEntity]:
        place = self._places.get(workspace)
        path: list[MessageEntity] = []
        at: MessageId | None = message
        while place is not None and at is not None:
            found = place.messages.get(at)
            if found is None and path and RunId(at) in place.runs:
                found = place.messages.get(place.runs[RunId(at)].parent_of_reply)
            if found is None or found.retracted:
                break
            path.insert(0, found)
            at = found.parent
        return path

    async def list_artifacts(self, workspace: WorkspaceId, type_: str, *, archived: bool) -> list[ArtifactEntity]:
        place = self._places.get(workspace)
        artifacts = place.artifacts.values() if place is not None else ()
        return [a for a in artifacts if a.type == type_ and (archived or not a.archived)]

    async def list_revisions(self, workspace: WorkspaceId, artifact: ArtifactId) -> list[Revision]:
        place = self._places.get(workspace)
        return list(place.revisions.get(artifact, [])) if place is not None else []
