"""What the starter tells of a stop, and what starting costs: counted in statements and in the database's own steps."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import pytest

from planwerk.access.actors import SystemActor, UserActor
from planwerk.app import DEFAULT_TENANT, Planwerk
from planwerk.runtime.starter import who_stopped
from planwerk.storage.sqlite.database import SqliteDatabase
from planwerk.testing import ScriptedModel
from planwerk.workflow import entries as journal
from planwerk.workflow.events import ExceptionEvent, StopEvent
from planwerk.workflow.ids import MessageId, RunId, ThreadId, WorkspaceId, new_id
from planwerk.workspace.rules.commands import CreateThread
from planwerk.workspace.rules.events import RunEnded, RunStarted
from planwerk.workspace.rules.facts import Fact
from planwerk.workspace.workspaces import PROJECTOR
from tests.counting import Work, counted

ANNA = UserActor(id=new_id(), name="Anna")
OPERATOR = SystemActor(name="operator")


@dataclass
class Queue:
    """A thread whose runs are asked for and started, and that nobody drives: facts are told by hand."""

    app: Planwerk
    workspace: WorkspaceId
    thread: ThreadId

    @property
    def database(self) -> SqliteDatabase:
        database = self.app.stores.database
        assert database is not None
        return database

    async def post(self, parent: MessageId | None = None) -> RunId:
        posted = await self.app.host.post_message(
            tenant=DEFAULT_TENANT,
            workspace=self.workspace,
            thread=self.thread,
            message_id=MessageId(new_id()),
            parent_id=parent,
            content="Explain",
            actor=ANNA,
            profile="assistant",
        )
        return posted.run_id

    async def tell(self, run: RunId, *events: RunStarted | RunEnded) -> None:
        facts = [Fact(thread=self.thread, run=run, actor=PROJECTOR, event=event) for event in events]
        await self.app.workspaces.record(DEFAULT_TENANT, self.workspace, facts)

    async def opened(self, run: RunId) -> bool:
        return bool(await self.app.host.entries(run))

    async def starting(self) -> Work:
        """What the starter does now."""
        with counted(self.database) as work:
            await self.app.starter.catch_up()
        return work


@pytest.fixture
async def app(tmp_path: Path) -> AsyncGenerator[Planwerk]:
    made = Planwerk(storage=tmp_path / "data.db", model=ScriptedModel([]))
    await made.start(work=False)
    await made.starter.catch_up()
    yield made
    await made.stop()


async def a_queue(app: Planwerk) -> Queue:
    workspace = await app.workspaces.private_of(DEFAULT_TENANT, ANNA)
    thread = ThreadId(new_id())
    await app.workspaces.of(DEFAULT_TENANT, workspace, ANNA).send(CreateThread(thread_id=thread, profile="assistant"))
    return Queue(app, workspace, thread)


async def test_many_requests_of_one_thread_cost_one_look_at_it(app: Planwerk) -> None:
    few, many = await a_queue(app), await a_queue(app)
    for _ in range(2):
        await few.post()
    small = await few.starting()
    runs = [await many.post() for _ in range(60)]

    large = await many.starting()

    assert [await many.opened(run) for run in runs] == [True] + [False] * 59
    assert len(large.statements) == len(small.statements)


async def test_a_queued_request_costs_the_same_however_long_the_thread_is(app: Planwerk) -> None:
    queue = await a_queue(app)
    works: dict[int, Work] = {}
    for place in range(101):
        await queue.post()
        works[place] = await queue.starting()

    alike = [works[place] for place in (10, 100)]

    assert len({len(work.statements) for work in alike}) == 1
    assert alike[1].steps < alike[0].steps * 1.2
    assert not any("FROM messages" in statement for statement in alike[1].statements)


async def test_starting_the_next_run_costs_the_same_however_many_runs_the_thread_has(app: Planwerk) -> None:
    works: list[Work] = []
    for length in (5, 80):
        queue = await a_queue(app)
        runs = [await queue.post() for _ in range(length)]
        await queue.starting()
        first, second = runs[0], runs[1]
        await queue.tell(first, RunStarted(run_id=first, profile="assistant"), RunEnded(run_id=first, status="stopped"))
        works.append(await queue.starting())
        assert await queue.opened(second)

    assert len(works[0].statements) == len(works[1].statements)
    assert works[1].steps < works[0].steps * 1.2


async def test_a_run_that_was_opened_is_not_put_together_again_before_its_start_is_told(app: Planwerk) -> None:
    queue = await a_queue(app)
    first = await queue.post()
    await queue.starting()
    assert await queue.opened(first)

    await queue.post()
    work = await queue.starting()

    assert not any("messages" in statement or "contents" in statement for statement in work.statements)
    assert [type(entry) for entry in await app.host.entries(first)] == [journal.RunOpened, journal.EventPublished]


async def test_a_run_stopped_before_its_turn_names_who_stopped_it_and_not_who_asked_for_it(app: Planwerk) -> None:
    queue = await a_queue(app)
    first, second = await queue.post(), await queue.post()
    await queue.starting()
    await app.host.stop(second, actor=OPERATOR)
    await queue.starting()
    assert not await queue.opened(second)

    await queue.tell(first, RunStarted(run_id=first, profile="assistant"), RunEnded(run_id=first, status="completed"))
    await queue.starting()

    entries = await app.host.entries(second)
    (stop,) = [e.event for e in entries if isinstance(e, journal.EventPublished) and isinstance(e.event, StopEvent)]
    assert isinstance(stop, ExceptionEvent)
    assert (stop.code, stop.message) == ("run_stopped", "The run was stopped by operator.")
    assert isinstance(entries[-1], journal.RunEnded)
    assert entries[-1].status == "stopped"


async def test_a_worker_that_takes_a_run_over_learns_who_stopped_it(app: Planwerk) -> None:
    queue = await a_queue(app)
    run = await queue.post()
    await queue.starting()
    opened = (await app.host.entries(run))[0]
    assert isinstance(opened, journal.RunOpened)
    assert await who_stopped(app.workspaces, opened) is None

    await queue.tell(run, RunStarted(run_id=run, profile="assistant"))
    await app.host.stop(run, actor=OPERATOR)
    await app.host.stop(run, actor=ANNA)

    assert await who_stopped(app.workspaces, opened) == "operator"
