"""A small installation for the tests of shared work: one tenant, two people, a clock that moves when it is read."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from pydantic_ai.messages import ModelMessage, TextPart, UserPromptPart

from planwerk.access.actors import AgentActor, SystemActor, UserActor
from planwerk.access.ids import DEFAULT_TENANT, TenantId
from planwerk.storage.in_memory.workspace import InMemoryWorkspaceStorage
from planwerk.storage.migrate import upgrade
from planwerk.storage.sqlite.database import SqliteDatabase
from planwerk.storage.sqlite.workspace import SqliteWorkspaceStorage
from planwerk.workflow.ids import ArtifactId, MessageId, RunId, ThreadId, WorkspaceId, new_id
from planwerk.workspace import Artifact, MarkdownArtifact, Workspace, Workspaces
from planwerk.workspace.ports import CursorMove, Storage
from planwerk.workspace.rules.commands import LAST, CreateThread, PostMessage, RequestRun, RetractMessage, StopRun
from planwerk.workspace.rules.envelope import LogEnvelope
from planwerk.workspace.rules.events import (
    ErrorInfo,
    MessagePosted,
    RunEnd,
    RunEnded,
    RunStarted,
    ThreadRenamed,
    TitleSource,
    When,
)
from planwerk.workspace.rules.facts import Fact, RunFact
from planwerk.workspace.rules.outcomes import Outcome

TENANT: Final = DEFAULT_TENANT
OTHER_TENANT: Final = TenantId("other")
ALICE: Final = UserActor(id="alice", name="Alice")
BOB: Final = UserActor(id="bob", name="Bob")
SYSTEM: Final = SystemActor(name="tests")


class Clock:
    """A second passes at each look."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time


def thread_id() -> ThreadId:
    return ThreadId(new_id())


def message_id() -> MessageId:
    return MessageId(new_id())


def run_id() -> RunId:
    return RunId(new_id())


def artifact_id() -> ArtifactId:
    return ArtifactId(new_id())


@asynccontextmanager
async def open_storage(kind: str, at: Path) -> AsyncGenerator[Storage]:
    """The storage of this kind; for SQLite, on a file in this folder, which several may have open."""
    if kind == "in_memory":
        yield InMemoryWorkspaceStorage()
        return
    upgrade(at / "planwerk.db")
    database = SqliteDatabase(at / "planwerk.db")
    try:
        yield SqliteWorkspaceStorage(database)
    finally:
        await database.close()


class World:
    """Alice's private workspace with one thread, and short ways to say what happens in it."""

    def __init__(self, workspaces: Workspaces, clock: Clock, workspace: WorkspaceId) -> None:
        self.workspaces = workspaces
        self.clock = clock
        self.id = workspace
        self.thread = thread_id()

    @classmethod
    async def begin(cls, storage: Storage, types: Sequence[type[Artifact]] = (MarkdownArtifact,)) -> World:
        clock = Clock()
        workspaces = Workspaces(storage, types, now=clock)
        world = cls(workspaces, clock, await workspaces.private_of(TENANT, ALICE))
        await world.alice.send(CreateThread(thread_id=world.thread))
        return world

    @property
    def storage(self) -> Storage:
        return self.workspaces.storage

    @property
    def alice(self) -> Workspace:
        return self.workspaces.of(TENANT, self.id, ALICE)

    async def post(
        self,
        content: str,
        *,
        parent: MessageId | str | None = LAST,
        when: When = "next",
        thread: ThreadId | None = None,
        message: MessageId | None = None,
    ) -> tuple[MessageId, RunId]:
        """Alice posts; gives the message and the run it asks for."""
        command = post_of(thread or self.thread, content, parent=parent, when=when, message=message)
        await self.alice.send(command)
        return command.message_id, command.run_id

    async def answer_again(self, message: MessageId) -> RunId:
        run = run_id()
        await self.alice.send(RequestRun(thread_id=self.thread, message_id=message, run_id=run, profile="assistant"))
        return run

    async def retract(self, message: MessageId) -> Outcome:
        return await self.alice.send(RetractMessage(thread_id=self.thread, message_id=message))

    async def stop(self, run: RunId) -> Outcome:
        return await self.alice.send(StopRun(run_id=run))

    async def record(
        self,
        run: RunId,
        *events: RunFact,
        turn: Sequence[ModelMessage] | None = None,
        cursor: CursorMove | None = None,
        thread: ThreadId | None = None,
    ) -> Outcome | None:
        """What the projector reports of a run."""
        facts = [Fact(thread=thread or self.thread, run=run, actor=agent(self.thread, run), event=e) for e in events]
        turns = {MessageId(run): turn} if turn is not None else None
        return await self.workspaces.record(TENANT, self.id, facts, turns=turns, cursor=cursor)

    async def finish(self, run: RunId, answer: str = "an answer", *, status: RunEnd = "completed") -> MessageId:
        """The run begins, replies and ends; gives the reply."""
        error = None if status == "completed" else ErrorInfo(code=status, message="it ended early")
        await self.record(
            run,
            started(run),
            reply(run, answer, incomplete=status != "completed", error=error),
            ended(run, status),
        )
        return MessageId(run)

    async def exchange(self, question: str, *, parent: MessageId | str | None = LAST) -> tuple[MessageId, MessageId]:
        """A question and its answer, which is the question in capital letters."""
        message, run = await self.post(question, parent=parent)
        return message, await self.finish(run, question.upper())

    async def log(self) -> list[LogEnvelope]:
        return await self.alice.read()

    async def types(self, after: int = 0) -> list[str]:
        return [envelope.type for envelope in await self.alice.read(after_seq=after)]

    async def contents(self) -> list[str]:
        """The texts of the thread's messages, in the order of the log."""
        return [message.content for message in (await self.alice.thread(self.thread)).messages]


def agent(thread: ThreadId | None, run: RunId) -> AgentActor:
    return AgentActor(thread_id=thread, run_id=run, name="Assistant")


def post_of(
    thread: ThreadId,
    content: str,
    *,
    parent: MessageId | str | None = LAST,
    when: When = "next",
    message: MessageId | None = None,
    run: RunId | None = None,
) -> PostMessage:
    return PostMessage.model_validate(
        {
            "thread_id": thread,
            "message_id": message or message_id(),
            "parent_id": parent,
            "content": content,
            "when": when,
            "run_id": run or run_id(),
            "profile": "assistant",
        }
    )


def started(run: RunId) -> RunStarted:
    return RunStarted(run_id=run, profile="assistant", profile_version=3, profile_name="Assistant")


def reply(
    run: RunId, content: str = "an answer", *, incomplete: bool = False, error: ErrorInfo | None = None
) -> MessagePosted:
    return MessagePosted(
        message_id=MessageId(run), role="assistant", content=content, incomplete=incomplete, error=error
    )


def texts_of(history: Sequence[ModelMessage]) -> list[str]:
    """The texts of a history, one for each part."""
    return [
        str(part.content)
        for message in history
        for part in message.parts
        if isinstance(part, UserPromptPart | TextPart)
    ]


def titled(title: str, source: TitleSource = "suggested") -> ThreadRenamed:
    return ThreadRenamed(title=title, source=source)


def ended(run: RunId, status: RunEnd = "completed") -> RunEnded:
    return RunEnded(run_id=run, status=status, duration_seconds=1.5, steps=4)
