"""The workspaces of an installation: found, made once, handed out to actors, and told what runs did."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Final

from pydantic_ai.messages import ModelMessage

from planwerk.access.actors import Actor, SystemActor, UserActor
from planwerk.access.ids import TenantId
from planwerk.workflow.errors import DefinitionError
from planwerk.workflow.ids import MessageId, RunId, ThreadId, WorkspaceId, new_id
from planwerk.workspace.deciding import Decider, Question, utc_now
from planwerk.workspace.ports import CursorMove, Storage
from planwerk.workspace.rules.artifacts import Artifact
from planwerk.workspace.rules.commands import CreateWorkspace
from planwerk.workspace.rules.errors import NotFound, SoleWorkspaceTaken, StaleCursor
from planwerk.workspace.rules.events import MessagePosted, WorkspaceKind
from planwerk.workspace.rules.facts import Fact
from planwerk.workspace.rules.outcomes import Outcome
from planwerk.workspace.rules.recording import commit_facts, needs_of_facts
from planwerk.workspace.rules.state import changed
from planwerk.workspace.turns import packed
from planwerk.workspace.views import WorkspaceSummary
from planwerk.workspace.workspace import Workspace

PROJECTOR: Final = SystemActor(name="projector")
INSTALLATION: Final = SystemActor(name="installation")


class Workspaces:
    """All workspaces over one storage.

    Args:
        artifact_types: The types whose artifacts can be created and read; more with `register`.
        now: The time, in UTC.
        ids: Makes ids of envelopes and workspaces.
    """

    def __init__(
        self,
        storage: Storage,
        artifact_types: Sequence[type[Artifact]] = (),
        *,
        now: Callable[[], datetime] = utc_now,
        ids: Callable[[], str] = new_id,
    ) -> None:
        self.storage = storage
        self._types: dict[str, type[Artifact]] = {}
        self._ids = ids
        self._decider = Decider(storage, self._types, now=now, ids=ids)
        for type_ in artifact_types:
            self.register(type_)

    def register(self, type_: type[Artifact]) -> None:
        """Let artifacts of this type be created and read.

        Raises:
            DefinitionError: Another type has this name.
        """
        if self._types.setdefault(type_.type_name, type_) is not type_:
            raise DefinitionError(
                f"{type_.__qualname__} and {self._types[type_.type_name].__qualname__} are both named"
                f" {type_.type_name!r} (A1.3).",
                what_to_do="Give one of them another name: class Plan(Artifact, name='roadmap').",
            )

    def of(self, tenant: TenantId, workspace: WorkspaceId, actor: Actor) -> Workspace:
        """The workspace in this actor's hands; whether it exists for the actor is asked at each use."""
        return Workspace(self.storage, self._decider, self._types, tenant=tenant, id_=workspace, actor=actor)

    async def private_of(self, tenant: TenantId, user: UserActor) -> WorkspaceId:
        """A person's private workspace, made at first sign-in (A1.7)."""
        return await self._sole(tenant, "private", owner=user.id, name=user.name)

    async def admin_of(self, tenant: TenantId) -> WorkspaceId:
        """The tenant's one workspace of profiles, collections and templates (A1.7)."""
        return await self._sole(tenant, "admin", owner=None, name="Administration")

    async def list_for(self, tenant: TenantId, user: UserActor) -> list[WorkspaceSummary]:
        """The workspaces whose threads and artifacts are this person's to see, oldest first."""
        return [
            WorkspaceSummary(id=entity.id, name=entity.name, kind=entity.kind)
            for entity in await self.storage.list_workspaces(tenant)
            if entity.owner == user.id
        ]

    async def locate_thread(self, tenant: TenantId, thread: ThreadId) -> WorkspaceId | None:
        """The workspace that a thread is in. Whether the asker may see it is for the workspace to say."""
        return await self.storage.locate_thread(tenant, thread)

    async def locate_run(self, tenant: TenantId, run: RunId) -> tuple[WorkspaceId, ThreadId] | None:
        """The workspace and the thread that asked for a run, whether it has been opened or not."""
        return await self.storage.locate_run(tenant, run)

    async def record(
        self,
        tenant: TenantId,
        workspace: WorkspaceId,
        facts: Sequence[Fact],
        *,
        turns: Mapping[MessageId, Sequence[ModelMessage]] | None = None,
        cursor: CursorMove | None = None,
    ) -> Outcome | None:
        """Record what runs did, and move the projector's cursor in the same transaction (E7.9).

        Args:
            facts: In the order of the journal. What the log has already gives no event.
            turns: The model messages of the replies among the facts, the person's message left out.
            cursor: Where the facts were read up to. If it stands there already, nothing is done.

        Raises:
            NotFound: There is no such workspace.
            StaleCursor: The cursor stands elsewhere: another projector owns it.
        """
        contents: dict[str, bytes] = {}
        told = [_with_turn(fact, turns or {}, contents) for fact in facts]
        question = Question(
            tenant=tenant,
            workspace=workspace,
            needs=partial(needs_of_facts, told),
            commit=partial(commit_facts, told, actor=PROJECTOR),
            contents=contents,
            cursor=cursor,
        )
        try:
            return await self._decider.decide(question)
        except StaleCursor as error:
            if cursor is not None and error.stored >= cursor.new:
                return None
            raise

    def changes(self) -> AsyncGenerator[None]:
        """One item at once, and one whenever something may have been committed to any workspace since the last."""
        return self.storage.changes()

    async def _sole(self, tenant: TenantId, kind: WorkspaceKind, *, owner: str | None, name: str) -> WorkspaceId:
        """The one workspace of this kind and owner; whoever asks first makes it, also among processes."""
        found = await self.storage.find_workspace(tenant, kind, owner)
        if found is not None:
            return found.id
        workspace = WorkspaceId(self._ids())
        try:
            await self.of(tenant, workspace, INSTALLATION).send(CreateWorkspace(kind=kind, owner=owner, name=name))
        except SoleWorkspaceTaken:
            found = await self.storage.find_workspace(tenant, kind, owner)
            if found is None:
                raise NotFound("workspace", workspace) from None
            return found.id
        return workspace


def _with_turn(fact: Fact, turns: Mapping[MessageId, Sequence[ModelMessage]], contents: dict[str, bytes]) -> Fact:
    """The fact with the hash of its turn's model messages, which are put into `contents`."""
    event = fact.event
    if not isinstance(event, MessagePosted) or event.message_id not in turns:
        return fact
    hash_, data = packed(turns[event.message_id])
    contents[hash_] = data
    return changed(fact, event=changed(event, model_messages=hash_))
