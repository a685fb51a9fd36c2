"""Faults that a review found; each is a promise now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planwerk.app import DEFAULT_TENANT, Planwerk
from planwerk.runtime.contexts import RunContext
from planwerk.runtime.displayer import EventDisplayer
from planwerk.runtime.errors import UnknownRun
from planwerk.runtime.worker import is_dead
from planwerk.storage.in_memory.contexts import InMemoryContexts
from planwerk.storage.in_memory.work_queue import InMemoryWorkQueue
from planwerk.testing import ScriptedModel, Stream
from planwerk.workflow import entries as journal
from planwerk.workflow.events import DisplayEvent
from planwerk.workflow.ids import RunId, ThreadId, new_id
from planwerk.workspace.rules.commands import CreateThread, PostMessage
from tests.runtime.test_host import ANNA, Chat, open_chat, streamed


async def test_a_start_event_that_cannot_be_read_fails_its_run_and_blocks_nobody() -> None:
    async with Planwerk(model=ScriptedModel(["Fine."])) as app:
        chat = await open_chat(app)
        command = PostMessage(
            thread_id=chat.thread,
            message_id=new_id(),  # pyright: ignore[reportArgumentType] - read as an id
            content="Explain",
            run_id=new_id(),  # pyright: ignore[reportArgumentType] - as above
            profile="assistant",
            start={"type": "UserMessageEvent", "from_tomorrow": 1},
        )
        await chat.space.send(command)
        other = ThreadId(new_id())
        await chat.space.send(CreateThread(thread_id=other, profile="assistant"))
        second = Chat(app, chat.workspace, other, chat.space)

        posted = await second.post("Explain more")

        assert (await second.until_ended(posted.run_id)).last_status == "completed"
        view = await chat.until_ended(command.run_id)
        assert view.runs[0].error is not None
        assert view.runs[0].error.code == "start_unreadable"


async def test_a_queued_run_can_be_stopped_before_it_starts() -> None:
    async with Planwerk(model=ScriptedModel([Stream("half ", 3600.0), "Whole."])) as app:
        chat = await open_chat(app)
        first = await chat.post("Explain")
        await streamed(chat, first.run_id, "half")
        queued = await chat.post("Explain more")

        await app.host.stop(queued.run_id, actor=ANNA)
        await app.host.stop(first.run_id, actor=ANNA)
        view = await chat.until_ended(queued.run_id)

        assert {run.status for run in view.runs} == {"stopped"}


async def test_the_result_of_an_unknown_run_is_an_error_and_no_wait() -> None:
    async with Planwerk(model=ScriptedModel([])) as app:
        with pytest.raises(UnknownRun):
            await app.host.result(RunId(new_id()))
        with pytest.raises(UnknownRun):
            await app.host.stop(RunId(new_id()), actor=ANNA)


class NumberedSink:
    """Counts answers as a run does."""

    def __init__(self) -> None:
        self.frames: list[int] = []
        self._next = 0

    def displayed(self, event: DisplayEvent) -> None:
        pass

    def next_response(self) -> int:
        self._next += 1
        return self._next

    def frame(self, kind: Any, *, response: int, part: int, part_kind: str = "", text: str = "") -> None:
        self.frames.append(response)

    def model_called(self, call: journal.ModelCalled) -> None:
        pass


def test_two_displayers_of_one_execution_never_share_a_response() -> None:
    sink = NumberedSink()

    for displayer in (EventDisplayer(sink), EventDisplayer(sink)):
        displayer.response().part("text")

    assert sink.frames == [1, 2]


async def test_stored_values_are_not_changed_by_the_objects_they_came_from() -> None:
    context = RunContext(InMemoryContexts(), "run")
    value = [1]
    await context.set("list", value)
    value.append(2)
    (await context.get("list")).append(3)

    assert await context.get("list") == [1]
    with pytest.raises(TypeError):
        await context.set("set", {1})


def test_a_worker_of_this_machine_whose_process_is_gone_is_dead() -> None:
    assert is_dead("here:999999999:1", "here:5:2")
    assert not is_dead("here:1:1", "here:5:2")
    assert not is_dead("there:999999999:1", "here:5:2")


async def test_the_leases_of_a_dead_worker_are_taken_at_once() -> None:
    queue = InMemoryWorkQueue()
    run = RunId(new_id())
    await queue.enqueue(run)
    first = await queue.take("dead", now_microseconds=0, lease_microseconds=10**12)
    assert first is not None

    await queue.drop_leases("dead")
    second = await queue.take("alive", now_microseconds=1, lease_microseconds=10)

    assert second is not None
    assert second.fence > first.fence
    assert await queue.owners() == ["alive"]


async def test_a_worker_whose_own_lease_lapsed_takes_the_run_again_once(tmp_path: Path) -> None:
    """A laptop slept longer than the lease: the run goes on under a new fence, without a busy loop."""
    now = [1_000_000]
    async with Planwerk(
        model=ScriptedModel([Stream("half ", 3600.0), "Whole."]), clock=lambda: now[0], storage=tmp_path / "data.db"
    ) as app:
        chat = await open_chat(app)
        posted = await chat.post("Explain")
        await streamed(chat, posted.run_id, "half")

        now[0] += 60_000_000
        await app.stores.queue.enqueue(posted.run_id)
        view = await chat.until_ended(posted.run_id)

        assert view.messages[-1].content == "Whole."
        entries = await app.stores.journal.read(posted.run_id)
        taken = [entry.fence for entry in entries if isinstance(entry, journal.OwnershipTaken)]
        assert taken == [1, 2]


async def test_a_stop_that_a_dead_worker_never_carried_out_is_carried_out_by_the_next(tmp_path: Path) -> None:
    async with Planwerk(storage=tmp_path / "data.db", model=ScriptedModel([Stream("half ", 3600.0)])) as first:
        chat = await open_chat(first)
        posted = await chat.post("Explain")
        await streamed(chat, posted.run_id, "half")

        async def lost(run: RunId, who: str) -> None:
            """The process dies before the stop reaches the run."""

        first.worker.request_stop = lost
        await first.host.stop(posted.run_id, actor=ANNA)
        await first.starter.catch_up()
        await first.stop(seconds=0.01)

    async with Planwerk(storage=tmp_path / "data.db", model=ScriptedModel(["Too late."])) as second:
        space = second.workspaces.of(DEFAULT_TENANT, chat.workspace, ANNA)
        view = await Chat(second, chat.workspace, chat.thread, space).until_ended(posted.run_id)

    assert view.last_status == "stopped"
