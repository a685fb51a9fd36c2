"""Tool calls put together from the fragments of nearly compatible servers (TOOL-01, TOOL-03)."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from pydantic_ai.tools import ToolDefinition
from tests.models.stub_server import Sse, StubServer, delta, finish

from planwerk.messages.prompts import user_prompt
from planwerk.models import Answering
from planwerk.models.resolved import ResolvedModel


def fragment(i: int | None, id: str | None = None, name: str | None = None, args: str | None = None) -> dict[str, Any]:  # noqa: A002
    function = {key: value for key, value in (("name", name), ("arguments", args)) if value is not None}
    piece = {"index": i, "id": id, "function": function}
    return {key: value for key, value in piece.items() if value is not None}


async def assembled(stub: StubServer, model: ResolvedModel, *fragments: dict[str, Any]) -> list[tuple[str, str, Any]]:
    stub.answer(Sse([*(delta(tool_calls=[piece]) for piece in fragments), finish("tool_calls")]))
    tools = [
        ToolDefinition(name=name, parameters_json_schema={"type": "object"}) for name in ("f", "g", "save", "ping")
    ]
    event = await Answering(model).answer([user_prompt("Go")], tools=tools)
    return [
        (call.tool_call_id, call.tool_name, json.loads(call.args_as_json_str())) for call in event.response.tool_calls
    ]


async def test_a_second_call_may_start_on_the_index_of_the_first(stub: StubServer, model: ResolvedModel) -> None:
    calls = await assembled(
        stub,
        model,
        fragment(0, "a", "f", '{"x":'),
        fragment(0, args="1}"),
        fragment(0, "b", "g", '{"y":'),
        fragment(1, args="2}"),
    )

    assert calls == [("a", "f", {"x": 1}), ("b", "g", {"y": 2})]


async def test_an_index_that_rises_with_every_fragment_is_one_call(stub: StubServer, model: ResolvedModel) -> None:
    calls = await assembled(
        stub, model, fragment(0, "a", "save", '{"t":"he'), fragment(1, args='llo"'), fragment(2, args="}")
    )

    assert calls == [("a", "save", {"t": "hello"})]


async def test_a_fragment_before_any_call_is_dropped_with_a_warning(
    stub: StubServer, model: ResolvedModel, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        calls = await assembled(stub, model, fragment(0, args="{}"), fragment(0, "b", "ping", ""))

    assert calls == [("b", "ping", {})]
    assert "never began" in caplog.text


async def test_parallel_calls_with_their_fragments_mixed_are_told_apart(stub: StubServer, model: ResolvedModel) -> None:
    calls = await assembled(
        stub,
        model,
        fragment(0, "a", "f", '{"x":'),
        fragment(1, "b", "g", '{"y":'),
        fragment(0, args="1}"),
        fragment(1, args="2}"),
    )

    assert calls == [("a", "f", {"x": 1}), ("b", "g", {"y": 2})]


async def test_id_and_name_repeated_with_every_fragment_are_one_call(stub: StubServer, model: ResolvedModel) -> None:
    calls = await assembled(stub, model, fragment(0, "a", "f", '{"x":'), fragment(0, "a", "f", "1}"))

    assert calls == [("a", "f", {"x": 1})]


async def test_calls_without_ids_are_told_apart_by_their_index(stub: StubServer, model: ResolvedModel) -> None:
    calls = await assembled(
        stub, model, fragment(0, name="f", args="{}"), fragment(1, name="g", args='{"y":'), fragment(1, args="2}")
    )

    assert [(name, arguments) for _, name, arguments in calls] == [("f", {}), ("g", {"y": 2})]


async def test_a_fragment_without_an_index_belongs_to_the_call_before_it(
    stub: StubServer, model: ResolvedModel
) -> None:
    calls = await assembled(stub, model, fragment(0, "a", "f", '{"x":'), fragment(None, args="1}"))

    assert calls == [("a", "f", {"x": 1})]
