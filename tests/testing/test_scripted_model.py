from __future__ import annotations

import asyncio

import pytest
from pydantic import BaseModel
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.tools import ToolDefinition

from planwerk.messages.prompts import user_prompt
from planwerk.models import Answering, Predicting
from planwerk.models.errors import ModelBrokeOff, ModelUnreachable
from planwerk.testing.scripted_model import ScriptedCall, ScriptedModel, ScriptExhausted, Stream

QUESTION = [user_prompt("Hello?")]
SEARCH = ToolDefinition(name="search", parameters_json_schema={"type": "object"})


class Label(BaseModel):
    label: str


async def test_answers_are_played_in_order_and_streamed() -> None:
    script = ScriptedModel(["first answer", "second"])
    answering = Answering(script.resolved())

    first, second = await answering.answer(QUESTION), await answering.answer(QUESTION)

    assert [first.text, second.text] == ["first answer", "second"]
    assert script.remaining == 0
    assert all(request.streamed for request in script.requests)


async def test_one_question_too_many_is_an_error_that_names_it() -> None:
    script = ScriptedModel(["only"])
    answering = Answering(script.resolved())
    await answering.answer(QUESTION)

    with pytest.raises(ScriptExhausted, match=r"1 answers .* 'Hello\?'"):
        await answering.answer(QUESTION)


async def test_calls_alone_together_and_after_text_are_played() -> None:
    two = [ScriptedCall("search", query="a"), ScriptedCall("search", {"query": "b"}, call_id="mine")]
    script = ScriptedModel([ScriptedCall("search", query="x"), two, Stream("Let me see. ", ScriptedCall("search"))])
    answering = Answering(script.resolved())

    answers = [await answering.answer(QUESTION, tools=[SEARCH]) for _ in range(3)]

    calls = [[call.args_as_dict() for call in answer.response.tool_calls] for answer in answers]
    assert calls == [[{"query": "x"}], [{"query": "a"}, {"query": "b"}], [{}]]
    assert answers[1].response.tool_calls[1].tool_call_id == "mine"
    assert answers[2].text == "Let me see. "


async def test_a_whole_response_can_be_played() -> None:
    response = ModelResponse(parts=[ThinkingPart("R1"), TextPart("Said so."), ToolCallPart("search", {"q": 1}, "c1")])

    event = await Answering(ScriptedModel([response]).resolved()).answer(QUESTION, tools=[SEARCH])

    assert [part.part_kind for part in event.response.parts] == ["thinking", "text", "tool-call"]
    assert event.response.tool_calls[0].tool_call_id == "c1"


async def test_errors_are_raised_at_once_or_in_the_middle() -> None:
    script = ScriptedModel([ModelUnreachable("scripted:script"), Stream("A", ConnectionError("cut"))])
    answering = Answering(script.resolved())

    with pytest.raises(ModelUnreachable):
        await answering.answer(QUESTION)
    with pytest.raises(ModelBrokeOff) as caught:
        await answering.answer(QUESTION)

    assert caught.value.text == "A"


async def test_task_calls_do_not_use_up_the_script() -> None:
    script = ScriptedModel(["the answer"])
    predicting = Predicting(script.resolved())

    label = await predicting.text([user_prompt("<message>\nWhat is a lease?\n</message>")], purpose="gate")
    guessed = await predicting.predict(QUESTION, Label)
    answer = await Answering(script.resolved()).answer(QUESTION)

    assert label == "normal"
    assert guessed.label
    assert answer.text == "the answer"
    assert len(script.requests) == 3
    assert len(script.answer_requests) == 1


async def test_a_task_can_be_answered_by_purpose_or_by_type_and_may_fail() -> None:
    tasks = {"title": "<think>hm</think>My title", "Label": Label(label="spam"), "gate": ModelUnreachable("m")}
    predicting = Predicting(ScriptedModel(tasks=tasks).resolved())

    assert await predicting.text(QUESTION, purpose="title") == "My title"
    assert await predicting.text(QUESTION, purpose="title") == "My title"
    assert (await predicting.predict(QUESTION, Label)).label == "spam"
    with pytest.raises(ModelUnreachable):
        await predicting.text(QUESTION, purpose="gate")


async def test_data_of_the_script_answers_a_structured_call() -> None:
    script = ScriptedModel([Label(label="a"), {"label": "b"}, "text"])
    predicting = Predicting(script.resolved())

    labels = [(await predicting.predict(QUESTION, Label)).label for _ in range(2)]

    assert labels == ["a", "b"]
    assert script.remaining == 1


async def test_the_whole_conversation_with_the_task_model_can_be_scripted() -> None:
    script = ScriptedModel(["normal", "My title"], all_from_script=True)
    predicting = Predicting(script.resolved())

    said = [await predicting.text(QUESTION, purpose=purpose) for purpose in ("gate", "title")]

    assert said == ["normal", "My title"]


async def test_a_reader_that_leaves_closes_the_stream() -> None:
    script = ScriptedModel([Stream("A", 1000.0, "B")])
    task = asyncio.create_task(Answering(script.resolved()).answer(QUESTION))
    await script.asked.wait()
    assert script.open_streams == 1

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert script.open_streams == 0
