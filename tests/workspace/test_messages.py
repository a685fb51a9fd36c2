"""Posting, branching, queueing and retracting (A1.6, S2.3, SRV-15, UI-07)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

import pytest

from planwerk.workflow.errors import MalformedId
from planwerk.workflow.ids import MessageId
from planwerk.workspace.ports import Loaded
from planwerk.workspace.rules.commands import CreateThread, PostMessage
from planwerk.workspace.rules.errors import InvalidState, NotFound, ValidationFailed
from planwerk.workspace.rules.events import MessagePosted, MessageRetracted, RunRequested, StopRequested
from planwerk.workspace.rules.outcomes import Recorded
from planwerk.workspace.rules.state import Key
from tests.workspace.world import ALICE, TENANT, World, ended, message_id, post_of, run_id, started, texts_of, thread_id


async def test_a_post_is_one_commit_of_a_message_and_the_request_for_a_run(stored_world: World) -> None:
    world = stored_world
    command = post_of(world.thread, "hello").model_copy(update={"blueprint": "Helpdesk", "start": {"type": "X"}})
    head = await world.alice.head_seq()

    outcome = await world.alice.send(command)

    assert outcome == Recorded(seq=head + 2, run_id=command.run_id)
    posted, requested = [envelope.event for envelope in await world.alice.read(after_seq=head)]
    assert posted == MessagePosted(message_id=command.message_id, role="user", content="hello")
    assert requested == RunRequested(
        run_id=command.run_id,
        message_id=command.message_id,
        profile="assistant",
        blueprint="Helpdesk",
        start={"type": "X"},
    )


async def test_the_same_message_posted_three_times_at_once_is_one_message_and_one_run(stored_world: World) -> None:
    world, message = stored_world, message_id()
    posts = [post_of(world.thread, "hi", message=message) for _ in range(3)]  # each with a run id of its own

    outcomes = await asyncio.gather(*(world.alice.send(post) for post in posts))

    assert len({outcome.model_dump_json() for outcome in outcomes}) == 1
    thread = await world.alice.thread(world.thread)
    assert [run.id for run in thread.runs] == [outcomes[0].run_id if isinstance(outcomes[0], Recorded) else None]
    assert [found.id for found in thread.messages] == [message]


async def test_equal_texts_under_two_ids_are_two_messages(stored_world: World) -> None:
    first, _ = await stored_world.post("ok")
    second, _ = await stored_world.post("ok")

    thread = await stored_world.alice.thread(stored_world.thread)

    assert [message.id for message in thread.messages] == [first, second]
    assert len(thread.runs) == 2


async def test_a_message_id_with_another_text_is_refused_and_changes_nothing(stored_world: World) -> None:
    world = stored_world
    message, _ = await world.post("ok")
    before = await world.log()

    with pytest.raises(InvalidState) as refused:
        await world.post("something else", message=message)

    assert refused.value.http_status == 409
    assert await world.log() == before


async def test_a_message_id_of_another_thread_is_refused(world: World) -> None:
    other = thread_id()
    await world.alice.send(CreateThread(thread_id=other))
    message, run = await world.post("in the first")

    with pytest.raises(InvalidState):
        await world.post("in the first", thread=other, message=message)
    with pytest.raises(InvalidState):
        await world.post("with the id of a run", message=MessageId(run))

    assert (await world.alice.thread(other)).messages == ()


async def test_a_run_id_is_used_once(world: World) -> None:
    message, run = await world.post("first")
    reused = post_of(world.thread, "second", run=run)

    with pytest.raises(InvalidState):
        await world.alice.send(reused)
    with pytest.raises(InvalidState):
        await world.alice.send(post_of(world.thread, "third").model_copy(update={"run_id": message}))

    assert await world.contents() == ["first"]


@pytest.mark.parametrize("content", ["", "   ", "\n\t"])
async def test_an_empty_message_is_refused(world: World, content: str) -> None:
    with pytest.raises(ValidationFailed) as refused:
        await world.post(content)

    assert refused.value.errors[0]["loc"] == ["content"]
    assert await world.contents() == []


async def test_a_malformed_id_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(MalformedId):
        post_of(thread_id(), "x", message=MessageId("m1"))
    with pytest.raises(MalformedId):
        post_of(thread_id(), "x", parent="m1")


async def test_a_post_to_a_thread_that_is_not_there_is_refused(world: World) -> None:
    with pytest.raises(NotFound) as refused:
        await world.post("hello", thread=thread_id())

    assert refused.value.kind == "thread"


async def test_by_default_a_message_follows_the_last_one_of_its_thread(world: World) -> None:
    root, answer = await world.exchange("one")
    message, _ = await world.post("two")

    thread = await world.alice.thread(world.thread)

    assert {found.id: found.parent_id for found in thread.messages} == {root: None, answer: root, message: answer}


async def test_while_a_run_is_active_a_message_follows_the_reply_to_come(world: World) -> None:
    _, first = await world.post("one")
    second_message, second = await world.post("two")
    third_message, _ = await world.post("three")
    await world.finish(first)
    await world.finish(second)

    parents = {m.id: m.parent_id for m in (await world.alice.thread(world.thread)).messages}

    assert parents[second_message] == MessageId(first)
    assert parents[third_message] == MessageId(second)


async def test_runs_of_a_thread_queue_in_the_order_of_their_posts(world: World) -> None:
    runs = [(await world.post(text))[1] for text in ("one", "two", "three")]

    thread = await world.alice.thread(world.thread)
    await world.record(runs[0], started(runs[0]))
    begun = await world.alice.thread(world.thread)
    await world.finish(runs[0])
    after = await world.alice.thread(world.thread)

    assert (thread.active_run, thread.queued) == (runs[0], tuple(runs[1:]))
    assert [run.status for run in thread.runs] == ["requested", "queued", "queued"]
    assert [run.status for run in begun.runs] == ["running", "queued", "queued"]
    assert (after.active_run, after.queued) == (runs[1], (runs[2],))
    assert [run.status for run in after.runs] == ["completed", "requested", "queued"]


async def test_instead_stops_the_active_run_and_what_was_queued_stays_behind(world: World) -> None:
    active, queued = [(await world.post(text))[1] for text in ("one", "two")]
    head = await world.alice.head_seq()

    _, replacing = await world.post("no, this", when="instead")

    events = [envelope.event for envelope in await world.alice.read(after_seq=head)]
    assert [type(event) for event in events] == [MessagePosted, StopRequested, RunRequested]
    assert isinstance(events[1], StopRequested)
    assert events[1].run_id == active
    thread = await world.alice.thread(world.thread)
    assert (thread.active_run, thread.queued) == (active, (replacing, queued))
    assert [run.stop_requested for run in thread.runs] == [True, False, False]
    assert [run.stop_requested_by for run in thread.runs] == [ALICE, None, None]


async def test_a_post_looks_at_as_much_however_many_are_queued(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    load, looked_at = world.storage.load, list[int]()

    async def counting(tenant: Any, workspace: Any, keys: Collection[Key], command: Any = None) -> Loaded:
        found = await load(tenant, workspace, keys, command)
        looked_at.append(sum(len(one) if isinstance(one, tuple) else 1 for one in found.found.values()))
        return found

    await world.post("one")
    await world.post("two")
    monkeypatch.setattr(world.storage, "load", counting)
    await world.post("three")
    few, looked_at[:] = sum(looked_at), []
    for number in range(60):
        await world.post(f"more {number}")
    looked_at.clear()
    await world.post("the last", when="instead")

    assert 0 < sum(looked_at) <= few + 2


async def test_instead_without_an_active_run_is_an_ordinary_post(world: World) -> None:
    await world.exchange("one")
    head = await world.alice.head_seq()

    await world.post("two", when="instead")

    assert await world.types(head) == ["message_posted", "run_requested"]


async def test_editing_posts_a_sibling_and_overwrites_nothing(world: World) -> None:
    root, answer = await world.exchange("one")
    edited, edited_answer = await world.exchange("one, better", parent=None)

    thread = await world.alice.thread(world.thread)

    parents = {message.id: message.parent_id for message in thread.messages}
    assert parents == {root: None, answer: root, edited: None, edited_answer: edited}


@pytest.mark.parametrize("parent", ["unknown", "foreign", "retracted", "ended without a reply"])
async def test_a_parent_that_is_not_there_is_refused(world: World, parent: str) -> None:
    other = thread_id()
    await world.alice.send(CreateThread(thread_id=other))
    foreign, _ = await world.post("elsewhere", thread=other)
    gone, _ = await world.post("gone", parent=None)
    await world.retract(gone)
    _, broken = await world.post("broken")
    await world.record(broken, ended(broken, "failed"))
    named = {
        "unknown": message_id(),
        "foreign": foreign,
        "retracted": gone,
        "ended without a reply": MessageId(broken),
    }[parent]

    with pytest.raises(NotFound):
        await world.post("below it", parent=named)


async def test_deleting_a_message_takes_what_is_below_and_leaves_other_branches(stored_world: World) -> None:
    world = stored_world
    u1, a1 = await world.exchange("u1")
    u2, a2 = await world.exchange("u2")
    u1b, a1b = await world.exchange("u1b", parent=None)

    await world.retract(a1b)
    u3, _ = await world.post("next", parent=a2)

    thread = await world.alice.thread(world.thread)
    assert {m.id for m in thread.messages} == {u1, a1, u2, a2, u1b, u3}
    assert texts_of(await world.alice.history(u3)) == ["u1", "U1", "u2", "U2", "next"]


async def test_retracting_a_message_names_all_that_went_with_it(world: World) -> None:
    root, answer = await world.exchange("one")
    below, below_answer = await world.exchange("two")

    await world.retract(answer)

    event = (await world.log())[-1].event
    assert isinstance(event, MessageRetracted)
    assert (event.message_id, set(event.below)) == (answer, {below, below_answer})
    assert [m.id for m in (await world.alice.thread(world.thread)).messages] == [root]
    with pytest.raises(NotFound):
        await world.alice.history(below)
    with pytest.raises(NotFound):
        await world.retract(answer)


async def test_retracting_stops_the_runs_below_and_their_replies_are_not_posted(world: World) -> None:
    root, first = await world.post("one")
    _, second = await world.post("two")  # below the reply to come

    await world.retract(root)
    stopping = await world.alice.thread(world.thread)
    head = await world.alice.head_seq()
    await world.finish(first, status="stopped")
    await world.finish(second, status="stopped")

    assert [run.stop_requested for run in stopping.runs] == [True, True]
    types = await world.types(head)
    assert "message_posted" not in types
    assert types.count("run_ended") == 2
    thread = await world.alice.thread(world.thread)
    assert (thread.messages, thread.active_run) == ((), None)


async def test_what_is_below_a_reply_that_never_came_goes_with_the_message_above(world: World) -> None:
    root, broken = await world.post("one")
    await world.post("two")  # below the reply to come
    await world.record(broken, ended(broken, "failed"))

    await world.retract(root)

    assert await world.contents() == []


async def test_after_a_queued_message_is_retracted_the_next_follows_the_reply_that_will_come(world: World) -> None:
    _, active = await world.post("one")
    dropped, dropped_run = await world.post("two")
    await world.retract(dropped)

    message, _ = await world.post("three")

    parents = {m.id: m.parent_id for m in (await world.alice.thread(world.thread)).messages}
    assert parents[message] == MessageId(active)
    with pytest.raises(NotFound):
        await world.post("four", parent=MessageId(dropped_run))


async def test_answering_again_makes_a_sibling_of_the_first_answer(world: World) -> None:
    question, first = await world.exchange("one")

    run = await world.answer_again(question)
    again = await world.finish(run, "another answer")

    parents = {m.id: m.parent_id for m in (await world.alice.thread(world.thread)).messages}
    assert parents == {question: None, first: question, again: question}


async def test_a_run_answers_a_persons_message_of_its_thread_only(world: World) -> None:
    question, answer = await world.exchange("one")

    with pytest.raises(InvalidState):
        await world.answer_again(answer)
    with pytest.raises(NotFound):
        await world.answer_again(message_id())
    await world.retract(question)
    with pytest.raises(NotFound):
        await world.answer_again(question)


async def test_stopping_is_recorded_once_and_an_ended_run_is_left_alone(world: World) -> None:
    _, run = await world.post("one")

    first = await world.stop(run)
    again = await world.stop(run)
    await world.finish(run, status="stopped")
    late = await world.stop(run)

    assert (await world.types()).count("stop_requested") == 1
    assert again == first
    assert late == Recorded(seq=await world.alice.head_seq(), run_id=run)
    with pytest.raises(NotFound):
        await world.stop(run_id())


async def test_fifty_commits_at_once_give_numbers_without_a_gap(stored_world: World) -> None:
    world = stored_world
    head = await world.alice.head_seq()

    await asyncio.gather(*(world.post(str(number)) for number in range(25)))

    assert [envelope.seq for envelope in await world.log()] == list(range(1, head + 51))
    assert sorted(map(int, await world.contents())) == list(range(25))


async def test_the_actor_and_the_trace_of_a_command_stand_on_its_events(world: World) -> None:
    await world.alice.send(post_of(world.thread, "hello"), traceparent="00-abc-def-01")

    posted, requested = (await world.log())[-2:]

    assert (posted.actor, posted.traceparent, posted.thread, posted.run) == (ALICE, "00-abc-def-01", world.thread, None)
    assert (requested.actor, requested.thread) == (ALICE, world.thread)
    assert posted.to_wire(TENANT) | {"id": "", "time": "", "data": {}} == {
        "position": posted.seq,
        "id": "",
        "type": "message_posted",
        "time": "",
        "tenant": "default",
        "workspace": world.id,
        "thread": world.thread,
        "run": None,
        "call": None,
        "actor": {"kind": "user", "id": "alice", "name": "Alice"},
        "cause": None,
        "traceparent": "00-abc-def-01",
        "v": 1,
        "data": {},
    }
    assert posted.to_wire(TENANT)["time"].endswith("Z")


async def test_a_post_under_another_command_id_than_its_messages_is_refused(world: World) -> None:
    with pytest.raises(InvalidState):
        await world.alice.send(post_of(world.thread, "x"), command_id=message_id())

    assert await world.contents() == []


def test_what_the_server_fills_in_does_not_make_another_command() -> None:
    first = post_of(thread_id(), "x")
    second = first.model_copy(update={"run_id": run_id(), "start": {"a": 1}, "blueprint": "B", "profile_version": 2})

    assert first.body() == second.body()
    assert PostMessage.model_validate(first.model_dump()).body() == first.body()
    assert first.model_copy(update={"when": "instead"}).body() != first.body()
