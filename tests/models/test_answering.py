from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.tools import ToolDefinition
from tests.models.recording import RecordingSink
from tests.models.stub_server import Sse, StubServer, delta, finish, said, usage

from planwerk.messages.prompts import system_prompt, user_prompt
from planwerk.models import Answering
from planwerk.models.calls import ModelCallRecord
from planwerk.models.errors import ModelBrokeOff, ModelEmpty, ModelRateLimited
from planwerk.models.played import Thought
from planwerk.models.resolved import ResolvedModel
from planwerk.testing.scripted_model import ScriptedCall, ScriptedModel, Stream
from planwerk.testing.virtual_clock import virtual_time

QUESTION = [user_prompt("Hello?")]


async def test_an_answer_streams_to_its_sink_and_comes_back_whole(stub: StubServer, model: ResolvedModel) -> None:
    stub.answer(Sse([delta(content="Hel"), delta(content="lo"), finish("stop"), usage(10, 2)]))
    sink = RecordingSink()

    event = await Answering(model, sink).answer(QUESTION)

    assert sink.deltas == ["Hel", "lo"]
    assert sink.parts == [("text", "Hello", True)]
    assert event.text == "Hello"
    assert event.model == "stub:stub-model"


async def test_a_last_chunk_with_usage_only_ends_the_stream_normally(stub: StubServer, model: ResolvedModel) -> None:
    stub.answer(Sse([delta(role="assistant"), delta(content="Hel"), delta(content="lo"), finish("stop"), usage(10, 2)]))

    event = await Answering(model).answer(QUESTION)

    assert event.text == "Hello"
    assert event.usage.input_tokens + event.usage.output_tokens == 12


async def test_the_server_gets_the_history_and_the_instructions(stub: StubServer, model: ResolvedModel) -> None:
    stub.answer(said("Hi"))

    await Answering(model).answer([system_prompt("Be kind."), *QUESTION], instructions="Be short.")

    sent = stub.requests[0]
    assert [message["role"] for message in sent["messages"]].count("user") == 1
    assert "Be kind." in str(sent["messages"])
    assert "Be short." in str(sent["messages"])
    assert sent["stream"] is True
    assert stub.headers[-1]["authorization"] == "Bearer sk-secret-key-123"


async def test_half_a_character_is_whole_on_its_way_to_the_model(stub: StubServer, model: ResolvedModel) -> None:
    stub.answer(said("Hi"))

    await Answering(model).answer([user_prompt("fine"), *_raw("ok \ud83d done 😀")])

    assert "ok \ufffd done 😀" in str(stub.requests[0]["messages"])


def _raw(text: str) -> list[ModelMessage]:
    message = user_prompt("x")
    message.parts[0].content = text  # type: ignore[misc] - as a byte-level source would bring it
    return [message]


async def test_half_a_character_from_the_model_is_whole_in_text_thinking_and_arguments(
    stub: StubServer, model: ResolvedModel
) -> None:
    half, whole = "ok \ud83d done 😀", "ok \ufffd done 😀"
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "look", "arguments": f'{{"x":"{half}"}}'}}
    pieces = [delta(reasoning_content=half), delta(content=half), delta(tool_calls=[call])]
    stub.answer(Sse([*pieces, finish("stop")]), said("Done"))
    answering, sink = Answering(model), RecordingSink()

    event = await Answering(model, sink).answer(QUESTION, tools=[tool("look")])
    await answering.answer([*QUESTION, event.response, *_result("c1")], tools=[tool("look")])

    assert event.text == whole
    assert event.response.thinking == whole
    assert event.response.tool_calls[0].args_as_dict() == {"x": whole}
    assert [text for _, text, _ in sink.parts] == [whole, whole, f'{{"x":"{whole}"}}']
    sent = json.dumps(stub.requests[1], ensure_ascii=False)
    assert sent.encode().decode() == sent
    assert whole in sent


async def test_a_character_split_between_two_deltas_is_shown_whole() -> None:
    sink = RecordingSink()
    script = ScriptedModel([Stream("A \ud83d", "\ude00 B \ud83d", " C")])

    event = await Answering(script.resolved(), sink).answer(QUESTION)

    assert sink.parts == [("text", "A 😀 B \ufffd C", True)]
    assert event.text == "A 😀 B \ufffd C"


async def test_usage_that_the_provider_leaves_out_is_estimated_without_a_price(
    stub: StubServer, model: ResolvedModel
) -> None:
    stub.answer(Sse([delta(content="Hello"), finish("stop")]))

    event = await Answering(model).answer(QUESTION)

    assert event.usage.input_tokens > 0
    assert event.usage.output_tokens > 0
    assert event.cost is None


async def test_thinking_and_calls_are_parts_of_their_own() -> None:
    sink = RecordingSink()
    script = ScriptedModel([Stream(Thought("R1"), "Let me check.", ScriptedCall("search", query="x"))])

    event = await Answering(script.resolved(), sink).answer(QUESTION, tools=[tool("search")])

    assert sink.parts == [
        ("thinking", "R1", True),
        ("text", "Let me check.", True),
        ("tool", '{"query": "x"}', True),
    ]
    assert event.text == "Let me check."
    assert [type(part) for part in event.response.parts] == [ThinkingPart, TextPart, ToolCallPart]


async def test_a_tool_call_alone_is_an_answer_and_nothing_else_is_not() -> None:
    event = await Answering(ScriptedModel([ScriptedCall("now")]).resolved()).answer(QUESTION, tools=[tool("now")])

    assert [call.tool_name for call in event.response.tool_calls] == ["now"]
    with pytest.raises(ModelEmpty):
        await Answering(ScriptedModel([""]).resolved()).answer(QUESTION)


@pytest.mark.parametrize(
    "arguments",
    [[{"arguments": None}, {"arguments": None}], [{}], [{"arguments": ""}], [{"arguments": "{}"}]],
    ids=["null in every delta", "key missing", "empty text", "empty object"],
)
async def test_a_call_without_arguments_has_an_empty_object(
    stub: StubServer, model: ResolvedModel, arguments: Sequence[dict[str, Any]]
) -> None:
    first, *rest = arguments
    begun = {"index": 0, "id": "c1", "type": "function", "function": {"name": "now", **first}}
    more = [delta(tool_calls=[{"index": 0, "function": piece}]) for piece in rest]
    stub.answer(Sse([delta(tool_calls=[begun]), *more, finish("tool_calls"), usage(5, 1)]))

    event = await Answering(model).answer(QUESTION, tools=[tool("now")])

    (call,) = event.response.tool_calls
    assert (call.tool_name, call.args) == ("now", "{}")


@pytest.mark.parametrize("reason", ["stop", "other", None, "function_call"])
async def test_calls_are_kept_whatever_the_stream_says_it_ended_for(
    stub: StubServer, model: ResolvedModel, reason: str | None
) -> None:
    calls = [
        {"index": place, "id": f"c{place}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        for place in range(3)
    ]
    stub.answer(Sse([delta(content="Let me check."), delta(tool_calls=calls), finish(reason), usage(5, 1)]))

    event = await Answering(model).answer(QUESTION, tools=[tool("look")])

    assert event.text == "Let me check."
    assert [call.tool_call_id for call in event.response.tool_calls] == ["c0", "c1", "c2"]


async def test_reasoning_goes_back_with_the_call_it_belongs_to(stub: StubServer, model: ResolvedModel) -> None:
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    stub.answer(Sse([delta(reasoning_content="R1"), delta(tool_calls=[call]), finish("tool_calls")]), said("Done"))
    answering = Answering(model)
    first = await answering.answer(QUESTION, tools=[tool("look")])

    await answering.answer([*QUESTION, first.response, *_result("c1")], tools=[tool("look")])

    sent = next(message for message in stub.requests[1]["messages"] if message["role"] == "assistant")
    assert sent["reasoning_content"] == "R1"
    assert not sent.get("content")
    assert first.text == ""


@pytest.mark.parametrize(
    "chunks",
    [
        ["<think>", "R1", "</think>", "Said"],
        ["<think>R1</think>Said"],
        ["<th", "ink>R", "1</thi", "nk>\n\nSaid"],
        ["\n<think>\n", "R1", "\n</think>\n\n", "Said"],
    ],
)
async def test_thinking_in_tags_is_told_from_the_answer_however_it_is_cut(
    stub: StubServer, model: ResolvedModel, chunks: list[str]
) -> None:
    stub.answer(Sse([*(delta(content=piece) for piece in chunks), finish("stop")]))

    event = await Answering(model).answer(QUESTION)

    assert event.text.strip() == "Said"
    assert (event.response.thinking or "").strip() == "R1"


@pytest.mark.parametrize("chunks", [["Use <think> and </think>."], ["a <", "think", "> b"], ["1 ", "<", " 2", " <th"]])
async def test_an_answer_may_talk_about_tags(stub: StubServer, model: ResolvedModel, chunks: list[str]) -> None:
    stub.answer(Sse([*(delta(content=piece) for piece in chunks), finish("stop")]))

    event = await Answering(model).answer(QUESTION)

    assert event.text == "".join(chunks)


def _result(call: str) -> list[ModelMessage]:
    from pydantic_ai.messages import ModelRequest, ToolReturnPart

    return [ModelRequest(parts=[ToolReturnPart("look", "seen", call)])]


async def test_a_long_answer_is_checkpointed_every_two_seconds() -> None:
    sink = RecordingSink()
    script = ScriptedModel([Stream("A", 1.5, "B", 1.5, "C", 0.5, "D", 3.0, "E")])

    with virtual_time():
        await Answering(script.resolved(), sink).answer(QUESTION)

    assert sink.checkpoints == ["ABC", "ABCDE"]


async def test_what_breaks_off_keeps_what_was_said() -> None:
    sink = RecordingSink()
    script = ScriptedModel([Stream("A", "B", ConnectionError("cut"))])

    with pytest.raises(ModelBrokeOff) as caught:
        await Answering(script.resolved(), sink).answer(QUESTION)

    assert caught.value.text == "AB"
    assert sink.interruptions == [("AB", "model_broke_off")]
    assert isinstance(caught.value.__cause__, ConnectionError)


async def test_an_error_of_ours_passes_through_as_it_is() -> None:
    script = ScriptedModel([ModelRateLimited("scripted:script", retry_after_seconds=3)])

    with pytest.raises(ModelRateLimited) as caught:
        await Answering(script.resolved()).answer(QUESTION)

    assert caught.value.retry_after_seconds == 3


async def test_stopping_closes_the_models_stream_and_says_so() -> None:
    sink, calls = RecordingSink(), list[ModelCallRecord]()
    script = ScriptedModel([Stream("A", 1000.0, "B")])
    task = asyncio.create_task(Answering(script.resolved(), sink, on_call=calls.append).answer(QUESTION))
    await sink.after_deltas(1)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert script.open_streams == 0
    assert sink.interruptions == [("A", "stopped")]
    assert calls[0].error == "stopped"


async def test_every_call_is_reported_also_one_that_failed() -> None:
    calls: list[ModelCallRecord] = []
    script = ScriptedModel(["Hello there", Stream("A", ConnectionError("cut"))])
    answering = Answering(script.resolved(), on_call=calls.append)

    event = await answering.answer(QUESTION)
    with pytest.raises(ModelBrokeOff):
        await answering.answer(QUESTION)

    assert [call.error for call in calls] == [None, "model_broke_off"]
    assert calls[0].usage == event.usage
    assert calls[0].purpose == "answer"
    assert calls[1].usage.input_tokens > 0
    assert calls[0].duration_seconds >= 0


async def test_each_answer_streams_to_a_sink_of_its_own() -> None:
    sinks: list[RecordingSink] = []

    def make() -> RecordingSink:
        sinks.append(RecordingSink())
        return sinks[-1]

    answering = Answering(ScriptedModel(["one", "two"]).resolved(), make)
    await answering.answer(QUESTION)
    await answering.answer(QUESTION)

    assert [sink.parts for sink in sinks] == [[("text", "one", True)], [("text", "two", True)]]


def tool(name: str) -> ToolDefinition:
    return ToolDefinition(name=name, parameters_json_schema={"type": "object", "properties": {}})
