"""What a run gets to read: the path from the root, and nothing else (A1.6, UI-07)."""

from __future__ import annotations

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from planwerk.workflow.ids import MessageId
from planwerk.workspace.rules.errors import NotFound
from planwerk.workspace.turns import BROKEN_OFF, packed
from tests.workspace.world import World, ended, message_id, reply, started, texts_of


async def history(world: World, message: MessageId) -> list[str]:
    return texts_of(await world.alice.history(message))


async def test_a_history_is_the_path_to_its_message(stored_world: World) -> None:
    world = stored_world
    await world.exchange("u1")
    u2, a2 = await world.exchange("u2")
    u1b, _ = await world.exchange("u1b", parent=None)

    assert await history(world, u2) == ["u1", "U1", "u2"]
    assert await history(world, a2) == ["u1", "U1", "u2", "U2"]
    assert await history(world, u1b) == ["u1b"]


async def test_a_history_alternates_requests_and_responses_with_their_times(world: World) -> None:
    question, answer = await world.exchange("hello")

    request, response = await world.alice.history(answer)

    thread = await world.alice.thread(world.thread)
    assert isinstance(request, ModelRequest)
    assert isinstance(response, ModelResponse)
    (part,) = request.parts
    assert isinstance(part, UserPromptPart)
    assert (part.content, part.timestamp) == ("hello", thread.messages[0].time)
    assert (response.text, thread.messages[0].id) == ("HELLO", question)


async def test_the_model_messages_of_a_turn_take_the_place_of_its_text(stored_world: World) -> None:
    world = stored_world
    question, run = await world.post("how warm is it?")
    turn: list[ModelMessage] = [
        ModelResponse(parts=[ToolCallPart("weather", {"city": "Oslo"}, "call-1")]),
        ModelRequest(parts=[ToolReturnPart("weather", "3 degrees", "call-1")]),
        ModelResponse(parts=[TextPart("Three degrees.")], model_name="demo"),
    ]

    await world.record(run, started(run), reply(run, "Three degrees."), ended(run), turn=turn)

    asked, *rest = await world.alice.history(MessageId(run))
    assert isinstance(asked, ModelRequest)
    assert rest == turn
    assert len(await world.alice.history(question)) == 1


async def test_equal_turns_are_stored_once(world: World) -> None:
    turn = [ModelResponse(parts=[TextPart("Yes.")], timestamp=world.clock.time)]
    hashes: list[object] = []
    for text in ("one", "two"):
        _, run = await world.post(text)
        await world.record(run, reply(run, "Yes."), ended(run), turn=turn)
        hashes.append((await world.log())[-2].event.to_data()["model_messages"])

    assert hashes == [packed(turn)[0]] * 2
    assert str(hashes[0]).startswith("sha256:")


async def test_a_reply_that_broke_off_without_a_word_contributes_nothing(world: World) -> None:
    _, run = await world.post("one")
    await world.finish(run, "", status="failed")

    again, _ = await world.post("two")

    assert await history(world, again) == ["one", "two"]


async def test_a_partial_answer_is_there_and_marked_as_broken_off(world: World) -> None:
    _, run = await world.post("one")
    await world.finish(run, "Half an ans", status="stopped")

    again, _ = await world.post("go on")

    assert await history(world, again) == ["one", "Half an ans", BROKEN_OFF, "go on"]
    response = (await world.alice.history(again))[1]
    assert isinstance(response, ModelResponse)
    assert response.state == "interrupted"


async def test_a_broken_off_turn_keeps_what_its_tools_did(world: World) -> None:
    _, run = await world.post("one")
    turn: list[ModelMessage] = [
        ModelResponse(parts=[ToolCallPart("send", {}, "call-1")]),
        ModelRequest(parts=[ToolReturnPart("send", "sent", "call-1")]),
    ]

    await world.record(run, reply(run, "", incomplete=True), ended(run, "stopped"), turn=turn)

    _, *rest = await world.alice.history(MessageId(run))
    assert rest[:2] == turn
    assert texts_of(rest) == [BROKEN_OFF]


async def test_a_message_queued_behind_a_reply_reads_that_reply_once_it_came(world: World) -> None:
    _, first = await world.post("one")
    second, _ = await world.post("two")

    before = await history(world, second)
    await world.finish(first, "ONE")

    assert before == ["one", "two"]
    assert await history(world, second) == ["one", "ONE", "two"]


async def test_a_message_that_is_not_there_has_no_history(world: World) -> None:
    with pytest.raises(NotFound):
        await world.alice.history(message_id())
