"""What the projector brings into the log: once each, whatever happens in between (E7.9)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from planwerk.workflow.ids import MessageId, WorkspaceId, new_id
from planwerk.workspace.ports import CursorMove
from planwerk.workspace.rules.errors import NotFound, StaleCursor
from planwerk.workspace.rules.events import ErrorInfo, MessagePosted, RunEnded, RunStarted, RunUsage
from planwerk.workspace.rules.facts import Fact
from tests.workspace.world import TENANT, World, agent, ended, message_id, reply, run_id, started, thread_id, titled


async def test_a_run_is_told_from_its_start_to_its_end(stored_world: World) -> None:
    world = stored_world
    question, run = await world.post("hello")
    head = await world.alice.head_seq()

    await world.record(run, started(run), titled("A greeting"), reply(run, "hello yourself"), ended(run))

    envelopes = await world.alice.read(after_seq=head)
    assert [e.type for e in envelopes] == ["run_started", "thread_renamed", "message_posted", "run_ended"]
    assert {(e.thread, e.run, e.actor) for e in envelopes} == {(world.thread, run, agent(world.thread, run))}
    begun, _, posted, _ = [e.event for e in envelopes]
    assert isinstance(begun, RunStarted)
    assert begun.message_id == question
    assert isinstance(posted, MessagePosted)
    assert (posted.message_id, posted.parent_id, posted.run_id) == (MessageId(run), question, run)
    thread = await world.alice.thread(world.thread)
    assert (thread.active_run, thread.last_status) == (None, "completed")
    message = thread.messages[-1]
    assert message.run is not None
    assert (message.run.status, message.run.profile_version, message.run.steps) == ("completed", 3, 4)


async def test_a_fact_offered_again_gives_no_event(stored_world: World) -> None:
    world = stored_world
    _, run = await world.post("hello")
    facts = (started(run), reply(run), titled("A greeting"), ended(run))
    await world.record(run, *facts)
    log = await world.log()

    await world.record(run, *facts)
    await world.record(run, *facts, *facts)

    assert await world.log() == log


async def test_facts_and_cursor_move_together_and_the_same_move_twice_does_nothing(stored_world: World) -> None:
    world = stored_world
    _, run = await world.post("hello")
    move = CursorMove("projector", expected=0, new=7)

    await world.record(run, started(run), cursor=move)
    log = await world.log()
    again = await world.record(run, started(run), ended(run), cursor=move)

    assert again is None
    assert await world.log() == log
    assert await world.storage.cursor("projector") == 7


async def test_a_projector_that_lost_its_cursor_writes_nothing(stored_world: World) -> None:
    world = stored_world
    _, run = await world.post("hello")
    await world.storage.save_cursor("projector", 5)
    log = await world.log()

    with pytest.raises(StaleCursor):
        await world.record(run, started(run), cursor=CursorMove("projector", expected=3, new=7))

    assert await world.log() == log
    assert await world.storage.cursor("projector") == 5


async def test_a_cursor_moves_also_where_the_facts_give_no_event(stored_world: World) -> None:
    world = stored_world
    _, run = await world.post("hello")
    await world.record(run, started(run))
    head = await world.alice.head_seq()

    await world.record(run, started(run), cursor=CursorMove("projector", expected=0, new=2))

    assert (await world.storage.cursor("projector"), await world.alice.head_seq()) == (2, head)


async def test_a_failed_run_posts_what_it_had_marked_and_with_its_error(world: World) -> None:
    _, run = await world.post("hello")
    error = ErrorInfo(code="model_broke_off", message="The model broke off.", what_to_do="Ask again.")

    await world.record(run, started(run), reply(run, "Half an ans", incomplete=True, error=error))
    await world.record(run, RunEnded(run_id=run, status="failed", error=error, usage=RunUsage(input_tokens=3)))

    thread = await world.alice.thread(world.thread)
    message = thread.messages[-1]
    assert (message.content, message.incomplete, message.error) == ("Half an ans", True, error)
    assert (thread.last_status, thread.runs[-1].usage) == ("failed", RunUsage(input_tokens=3))
    await world.post("the thread stays usable")


async def test_a_run_that_ended_without_starting_leaves_the_queue(world: World) -> None:
    _, first = await world.post("one")
    _, second = await world.post("two")
    await world.stop(second)

    await world.finish(second, "", status="stopped")
    thread = await world.alice.thread(world.thread)

    assert (thread.active_run, thread.queued) == (first, ())


async def test_facts_of_unknown_runs_and_threads_give_no_event(world: World) -> None:
    log = await world.log()
    _, run = await world.post("hello", thread=world.thread)
    log = await world.log()

    await world.record(run_id(), titled("nobody's"))
    await world.record(run, titled("misplaced"), thread=thread_id())

    assert await world.log() == log


async def test_facts_for_a_workspace_that_is_not_there_are_an_error(world: World) -> None:
    run = run_id()
    fact = Fact(thread=world.thread, run=run, actor=agent(world.thread, run), event=ended(run))

    with pytest.raises(NotFound):
        await world.workspaces.record(TENANT, WorkspaceId(new_id()), [fact])


async def test_the_times_of_a_run_are_those_of_its_journal(world: World) -> None:
    _, run = await world.post("hello")
    began, over = datetime(2026, 5, 1, 10, tzinfo=UTC), datetime(2026, 5, 1, 11, tzinfo=UTC)
    actor = agent(world.thread, run)

    await world.workspaces.record(
        TENANT,
        world.id,
        [
            Fact(thread=world.thread, run=run, actor=actor, event=started(run), time=began),
            Fact(thread=world.thread, run=run, actor=actor, event=ended(run), time=over),
        ],
    )

    (view,) = (await world.alice.thread(world.thread)).runs
    assert (view.started, view.ended) == (began, over)


def test_a_fact_names_its_own_run() -> None:
    run = run_id()
    wrong = MessagePosted(message_id=message_id(), role="assistant", content="x")

    with pytest.raises(ValidationError, match=r"A1\.6"):
        Fact(thread=thread_id(), run=run, actor=agent(None, run), event=ended(run_id()))
    with pytest.raises(ValidationError, match=r"A1\.6"):
        Fact(thread=thread_id(), run=run, actor=agent(None, run), event=wrong)
