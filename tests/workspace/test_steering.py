"""Where what is said into a run stands, and what becomes of it, by the log alone (S2.3, A1.6)."""

from __future__ import annotations

import pytest

from planwerk.workflow.ids import EventId, MessageId, RunId
from planwerk.workspace.rules.commands import LAST
from planwerk.workspace.rules.events import FileRef, MessageMoved, RequestOpened, RunRequested, SteeringTaken
from planwerk.workspace.rules.facts import Fact
from tests.workspace.world import ALICE, TENANT, World, agent, ended, message_id, post_of, reply, started


async def begin(world: World, content: str = "hello", *, steerable: bool = True) -> tuple[MessageId, RunId]:
    """A message, and the run that answers it, begun."""
    command = post_of(world.thread, content).model_copy(update={"steerable": steerable})
    await world.alice.send(command)
    await world.record(command.run_id, started(command.run_id))
    return command.message_id, command.run_id


async def ask(world: World, run: RunId, text: str) -> MessageId:
    """The run asks in the conversation; gives the question."""
    question = message_id()
    opened = RequestOpened(run_id=run, request_id=EventId(question), kind="chat", request={"type": "Ask"})
    fact = Fact(
        thread=world.thread, run=run, actor=agent(world.thread, run), event=opened, text=text, chat_answer="Told"
    )
    await world.workspaces.record(TENANT, world.id, [fact])
    return question


async def tree(world: World) -> dict[str, str | None]:
    """What each message says, and what the one above it says."""
    messages = (await world.alice.thread(world.thread)).messages
    said = {message.id: message.content for message in messages}
    return {message.content: said.get(message.parent_id) if message.parent_id else None for message in messages}


def taken(run: RunId, message: MessageId) -> SteeringTaken:
    return SteeringTaken(run_id=run, message_id=message)


async def test_what_is_said_into_a_run_asks_for_no_run_and_stands_in_its_turn(stored_world: World) -> None:
    world = stored_world
    _, run = await begin(world)
    head = await world.alice.head_seq()

    message, _ = await world.post("be short", when="now")
    await world.record(run, taken(run, message), reply(run), ended(run))

    assert await tree(world) == {"hello": None, "be short": "hello", "an answer": "be short"}
    assert await world.types(head) == ["message_posted", "run_steered", "steering_taken", "message_posted", "run_ended"]
    thread = await world.alice.thread(world.thread)
    assert (thread.active_run, len(thread.runs)) == (None, 1)


async def test_what_comes_before_and_after_the_reply_is_told_apart(stored_world: World) -> None:
    world = stored_world
    _, run = await begin(world)
    first, _ = await world.post("taken", when="now")
    second, _ = await world.post("not taken", when="now")

    await world.record(run, taken(run, first), reply(run))
    await world.post("after the stop", when="now")
    await world.record(run, ended(run))

    assert await tree(world) == {
        "hello": None,
        "taken": "hello",
        "an answer": "taken",
        "not taken": "an answer",
        "after the stop": None,  # below the reply to come of the run before it
    }
    log = await world.log()
    asked = [envelope for envelope in log if isinstance(envelope.event, RunRequested)]
    assert [envelope.actor for envelope in asked] == [ALICE, ALICE, ALICE]
    runs = (await world.alice.thread(world.thread)).runs
    assert [known.message for known in runs][1] == second
    assert [known.status for known in runs] == ["completed", "requested", "queued"]


async def test_the_second_is_taken_and_the_first_is_not(stored_world: World) -> None:
    world = stored_world
    _, run = await begin(world)
    await world.post("first", when="now")
    second, _ = await world.post("second", when="now")

    await world.record(run, taken(run, second), reply(run), ended(run))

    assert await tree(world) == {"hello": None, "second": "hello", "an answer": "second", "first": "an answer"}


async def test_facts_offered_again_change_nothing(stored_world: World) -> None:
    world = stored_world
    _, run = await begin(world)
    first, _ = await world.post("taken", when="now")
    await world.post("not taken", when="now")
    facts = (taken(run, first), reply(run), ended(run))
    await world.record(run, *facts)
    log = await world.log()

    await world.record(run, *facts)
    await world.record(run, *facts, *facts)

    assert await world.log() == log


async def test_a_question_stands_between_what_is_taken_and_what_is_not(stored_world: World) -> None:
    world = stored_world
    _, run = await begin(world)
    first, _ = await world.post("first", when="now")
    await world.post("second", when="now")

    await ask(world, run, "which?")
    assert await tree(world) == {"hello": None, "which?": "hello", "first": "which?", "second": "first"}

    await world.record(run, taken(run, first))
    assert await tree(world) == {"hello": None, "first": "hello", "which?": "first", "second": "which?"}

    await world.post("this one", when="now")
    assert (await tree(world))["second"] == "this one"
    await world.record(run, reply(run), ended(run))
    assert await tree(world) == {
        "hello": None,
        "first": "hello",
        "which?": "first",
        "this one": "which?",
        "an answer": "this one",
        "second": "an answer",
    }


async def test_a_run_that_fails_hands_on_what_it_has_not_taken(stored_world: World) -> None:
    world = stored_world
    _, run = await begin(world)
    message, asked = await world.post("be short", when="now")

    await world.finish(run, "half", status="failed")

    thread = await world.alice.thread(world.thread)
    assert (thread.active_run, [known.message for known in thread.runs][1]) == (asked, message)
    assert (await tree(world))["be short"] == "half"


@pytest.mark.parametrize("why", ["not steerable", "stopping", "has a file", "elsewhere", "not now"])
async def test_now_means_next_where_the_run_cannot_take_it(stored_world: World, why: str) -> None:
    world = stored_world
    question, run = await begin(world, steerable=why != "not steerable")
    if why == "stopping":
        await world.stop(run)
    parent = None if why == "elsewhere" else LAST
    command = post_of(world.thread, "be short", parent=parent, when="next" if why == "not now" else "now")
    if why == "has a file":
        command = command.model_copy(update={"files": (FileRef(id="f", name="a.txt"),)})

    outcome = await world.alice.send(command)

    assert question
    assert outcome.seq
    assert "run_steered" not in await world.types()
    assert command.run_id in (await world.alice.thread(world.thread)).queued


async def test_the_default_is_not_what_the_sender_said(stored_world: World) -> None:
    world = stored_world
    await begin(world)
    command = post_of(world.thread, "be short").model_copy(update={"when": None, "when_default": "now"})

    first = await world.alice.send(command)
    again = await world.alice.send(command.model_copy(update={"when_default": "next"}))

    assert first == again
    assert (await world.types()).count("run_steered") == 1


async def test_retracting_what_was_taken_stops_the_run_and_what_was_not_does_not(stored_world: World) -> None:
    world = stored_world
    _, run = await begin(world)
    first, _ = await world.post("first", when="now")
    second, _ = await world.post("second", when="now")
    await world.record(run, taken(run, first))

    await world.retract(second)
    assert "stop_requested" not in await world.types()
    await world.retract(first)
    await world.record(run, reply(run), ended(run, "stopped"))

    assert "stop_requested" in await world.types()
    assert await tree(world) == {"hello": None}
    assert not [e for e in await world.log() if isinstance(e.event, MessageMoved)]
    assert (await world.alice.thread(world.thread)).active_run is None
