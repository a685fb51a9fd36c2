from __future__ import annotations

import asyncio
import json
from enum import StrEnum
from typing import Literal

import pytest
from pydantic import BaseModel, Field
from pydantic_ai.profiles import ModelProfile
from tests.models.stub_server import Status, StubServer, completion, said

from planwerk.messages.prompts import assistant_message, system_prompt, user_prompt
from planwerk.models import Predicting
from planwerk.models.calls import ModelCallRecord
from planwerk.models.errors import ModelEmpty, ModelOutputInvalid, ModelRateLimited, ModelRefused
from planwerk.models.predicting import output_mode
from planwerk.models.resolved import ResolvedModel
from planwerk.testing.scripted_model import ScriptedModel, Stream

QUESTION = [system_prompt("Sort."), user_prompt("Where is Paris?")]


class City(BaseModel):
    """A city."""

    name: str
    people: int = Field(ge=0)


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


async def test_data_comes_back_as_the_type_that_was_asked_for(stub: StubServer, model: ResolvedModel) -> None:
    stub.answer(completion('{"name": "Paris", "people": 2}'))

    city = await Predicting(model).predict(QUESTION, City, instructions="Be exact.")

    assert city == City(name="Paris", people=2)
    sent = stub.requests[0]
    assert sent["response_format"]["type"] == "json_schema"
    assert "Be exact." in str(sent["messages"])
    assert "Where is Paris?" in str(sent["messages"])


async def test_a_wrong_answer_gets_one_more_try_with_the_error_told(stub: StubServer, model: ResolvedModel) -> None:
    stub.answer(completion('{"name": "Paris", "people": -1}'), completion('{"name": "Paris", "people": 2}'))
    calls: list[ModelCallRecord] = []

    city = await Predicting(model, on_call=calls.append).predict(QUESTION, City)

    assert city.people == 2
    assert "greater than or equal to 0" in str(stub.requests[1]["messages"])
    assert calls[0].usage.input_tokens == 20  # both tries count
    assert calls[0].purpose == "prediction"


async def test_two_wrong_answers_are_an_error_that_says_what_was_wrong(stub: StubServer, model: ResolvedModel) -> None:
    stub.answer(completion("no JSON at all"), completion('{"name": 5}'))
    calls: list[ModelCallRecord] = []

    with pytest.raises(ModelOutputInvalid) as caught:
        await Predicting(model, on_call=calls.append).predict(QUESTION, City)

    assert caught.value.code == "model_output_invalid"
    assert caught.value.cause
    assert calls[0].error == "model_output_invalid"
    assert calls[0].usage.output_tokens == 4


async def test_a_server_that_refuses_schemas_is_asked_in_the_prompt(stub: StubServer, model: ResolvedModel) -> None:
    refusal = Status(400, {"error": {"message": "response_format json_schema is not supported", "code": None}})
    stub.answer(refusal, completion('```json\n{"name": "Paris", "people": 2}\n```'))

    city = await Predicting(model).predict(QUESTION, City)

    assert city.name == "Paris"
    assert "json_schema" not in str(stub.requests[1].get("response_format"))
    assert "people" in str(stub.requests[1]["messages"])


async def test_another_refusal_is_not_tried_again(stub: StubServer, model: ResolvedModel) -> None:
    stub.answer(Status(400, {"error": {"message": "temperature is too high", "code": None}}))

    with pytest.raises(ModelRefused):
        await Predicting(model).predict(QUESTION, City)

    assert len(stub.requests) == 1


@pytest.mark.parametrize(
    ("profile", "mode"),
    [
        (ModelProfile(supports_json_schema_output=True), "native"),
        (ModelProfile(supports_json_schema_output=False, supports_tools=True), "tool"),
        (ModelProfile(supports_json_schema_output=False, supports_tools=False), "prompted"),
    ],
)
async def test_the_models_profile_says_how_it_is_asked(profile: ModelProfile, mode: str) -> None:
    script = ScriptedModel([City(name="Paris", people=2)], profile=profile)

    city = await Predicting(script.resolved()).predict(QUESTION, City)

    assert output_mode(script.resolved()) == mode
    assert script.requests[0].parameters.output_mode == mode
    assert city == City(name="Paris", people=2)


@pytest.mark.parametrize(
    ("wanted", "answer", "expected"),
    [
        (Colour, {"response": "blue"}, Colour.BLUE),
        (list[City], {"response": [{"name": "A", "people": 1}]}, [City(name="A", people=1)]),
        (bool, {"response": True}, True),
        (Literal["x", "y"], {"response": "y"}, "y"),
    ],
)
async def test_other_types_than_models_can_be_asked_for(
    wanted: type, answer: dict[str, object], expected: object
) -> None:
    script = ScriptedModel([answer])

    assert await Predicting(script.resolved()).predict(QUESTION, wanted) == expected


async def test_a_text_is_plain_and_without_thinking(stub: StubServer, model: ResolvedModel) -> None:
    stub.answer(said("<think>hm\n</think>\n\nTrip to Oslo\n"))

    assert await Predicting(model).text(QUESTION, purpose="title") == "Trip to Oslo"
    assert "planwerk_task" not in json.dumps(stub.requests[0])


@pytest.mark.parametrize("text", ["", "  \n", "<think>never closed", "<think>only this</think>"])
async def test_a_text_of_nothing_but_thinking_is_empty(stub: StubServer, model: ResolvedModel, text: str) -> None:
    stub.answer(said(text))

    with pytest.raises(ModelEmpty):
        await Predicting(model).text(QUESTION)


async def test_text_calls_are_counted_with_what_they_failed_with() -> None:
    calls: list[ModelCallRecord] = []
    script = ScriptedModel(["fine", ModelRateLimited("m")], all_from_script=True)
    predicting = Predicting(script.resolved(), on_call=calls.append)

    await predicting.text(QUESTION)
    with pytest.raises(ModelRateLimited):
        await predicting.text(QUESTION)

    assert [(call.purpose, call.error) for call in calls] == [("text", None), ("text", "model_rate_limited")]
    assert calls[0].usage.output_tokens > 0


async def test_a_conversation_can_be_judged_with_its_earlier_turns() -> None:
    script = ScriptedModel([{"name": "Oslo", "people": 1}])

    await Predicting(script.resolved()).predict([user_prompt("a"), assistant_message("b"), user_prompt("c")], City)

    assert script.requests[0].prompts() == ["a", "c"]


async def test_stopping_a_prediction_stops_the_model() -> None:
    script = ScriptedModel([Stream(1000.0, "late")], all_from_script=True)
    task = asyncio.create_task(Predicting(script.resolved()).text(QUESTION))
    await script.asked.wait()

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert script.open_streams == 0
