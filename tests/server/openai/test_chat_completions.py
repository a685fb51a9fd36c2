"""The official client against a real server: streaming and not, errors, conversations, clients that leave (S4.1)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from planwerk.app import Planwerk
from planwerk.testing import ScriptedModel, Stream
from planwerk.workflow.ids import new_id
from tests.server.live import LiveServer, live_server


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(["First answer 🐢.", "Second answer.", "Third answer."])


@pytest.fixture
async def server(model: ScriptedModel) -> AsyncGenerator[LiveServer]:
    async with live_server(Planwerk(model=model), keep_alive_seconds=0.2) as live:
        yield live


@pytest.fixture
async def client(server: LiveServer) -> AsyncGenerator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key=server.key, max_retries=0) as opened:
        yield opened


def user(text: str) -> Any:
    return {"role": "user", "content": text}


async def test_profiles_are_models_and_the_default_is_first(client: AsyncOpenAI, server: LiveServer) -> None:
    listed = [model.id async for model in client.models.list()]

    assert listed == ["assistant"]
    assert (await client.models.retrieve("assistant")).id == "assistant"
    async with server.client() as plain:
        assert (await plain.get("/v1/models/")).json()["data"][0]["object"] == "model"


async def test_an_answer_in_one_piece_has_text_and_usage(client: AsyncOpenAI) -> None:
    answer = await client.chat.completions.create(model="assistant", messages=[user("Explain turtles")])

    assert answer.choices[0].message.content == "First answer 🐢."
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 0


async def test_a_streamed_answer_is_the_same_text_with_usage_at_the_end(client: AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(
        model="assistant", messages=[user("Explain turtles")], stream=True, stream_options={"include_usage": True}
    )
    chunks = [chunk async for chunk in stream]

    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == "First answer 🐢."
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage is not None
    assert len({chunk.id for chunk in chunks}) == 1


async def test_the_synchronous_client_in_a_thread(server: LiveServer) -> None:
    def ask() -> str:
        with OpenAI(base_url=f"{server.url}/v1", api_key=server.key, max_retries=0) as sync:
            stream = sync.chat.completions.create(model="assistant", messages=[user("Explain")], stream=True)
            return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)

    assert await asyncio.to_thread(ask) == "First answer 🐢."


async def test_a_thread_is_continued_by_its_name(client: AsyncOpenAI, model: ScriptedModel, server: LiveServer) -> None:
    thread = new_id()
    for question in ("Explain one", "Explain two"):
        await client.chat.completions.create(
            model="assistant", messages=[user(question)], extra_body={"metadata": {"thread_id": thread}}
        )

    assert "First answer" in str(model.answer_requests[-1].messages)
    async with server.client() as plain:
        read = (await plain.get(f"/api/threads/{thread}")).json()
    assert [message["content"] for message in read["messages"]] == [
        "Explain one",
        "First answer 🐢.",
        "Explain two",
        "Second answer.",
    ]


async def test_a_stateless_request_is_answered_over_the_history_it_sends(
    client: AsyncOpenAI, model: ScriptedModel, server: LiveServer
) -> None:
    await client.chat.completions.create(
        model="assistant",
        messages=[user("Which plans exist?"), {"role": "assistant", "content": "Basic and Pro."}, user("Explain Pro")],
    )

    assert "Basic and Pro." in str(model.answer_requests[-1].messages)
    async with server.client() as plain:
        workspaces = (await plain.get("/api/workspaces")).json()["items"]
        threads = (await plain.get(f"/api/workspaces/{workspaces[0]['id']}/threads")).json()["items"]
    assert threads == []


@pytest.mark.parametrize("stream", [True, False])
async def test_srv_17_legal_requests_are_answered(client: AsyncOpenAI, model: ScriptedModel, stream: bool) -> None:
    messages: Any = [
        {"role": "developer", "content": "Be brief"},
        {"role": "user", "content": [{"type": "text", "text": "hi, explain"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"q":1}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "found it"}]},
        {"role": "user", "content": "and now explain more"},
    ]

    found: Any = await client.chat.completions.create(
        model="assistant",
        messages=messages,
        stream=stream,
        store=True,
        service_tier="auto",
        temperature=0.3,
        extra_body={"unknown_field": 1},
    )
    if stream:
        text = "".join([chunk.choices[0].delta.content or "" async for chunk in found if chunk.choices])
    else:
        text = found.choices[0].message.content

    assert text == "First answer 🐢."
    sent = str(model.answer_requests[-1].messages)
    for expected in ("Be brief", "hi, explain", "look", "found it", "and now explain more"):
        assert expected in sent


@pytest.mark.parametrize(
    ("body", "error", "param"),
    [
        ({"model": "nobody"}, openai.NotFoundError, "model"),
        ({"n": 2}, openai.BadRequestError, "n"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, openai.BadRequestError, "tools"),
        ({"messages": [{"role": "wizard", "content": "x"}]}, openai.BadRequestError, "messages[0].role"),
        ({"messages": []}, openai.BadRequestError, "messages"),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
async def test_what_is_wrong_is_told_before_the_first_byte(
    client: AsyncOpenAI, body: dict[str, Any], error: type[openai.APIStatusError], param: str, stream: bool
) -> None:
    request: dict[str, Any] = {"model": "assistant", "messages": [user("hi")], "stream": stream, **body}

    with pytest.raises(error) as refused:
        await client.chat.completions.create(**request)

    assert refused.value.body is not None
    assert refused.value.body["param"] == param  # pyright: ignore[reportIndexIssue, reportUnknownVariableType] - the error object
    assert refused.value.request_id


async def test_a_wrong_key_malformed_json_and_too_much_are_refused(server: LiveServer) -> None:
    async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key="pw_wrong", max_retries=0) as stranger:
        with pytest.raises(openai.AuthenticationError) as refused:
            await stranger.models.list()
    assert refused.value.code == "invalid_api_key"
    async with server.client() as plain:
        malformed = await plain.post("/v1/chat/completions", content=b"{not json")
        large = {"model": "assistant", "messages": [user("x" * 1_100_000)]}
        too_large = await plain.post("/v1/chat/completions", json=large)
        huge = await plain.post("/v1/chat/completions", content=b"x" * 10_000_000)
    assert (malformed.status_code, malformed.json()["error"]["code"]) == (400, "malformed_json")
    assert (too_large.status_code, too_large.json()["error"]["code"]) == (413, "message_too_large")
    assert huge.status_code == 413


class TestBreakingOff:
    @pytest.fixture
    def model(self) -> ScriptedModel:
        return ScriptedModel([Stream("A", "B", ConnectionError("gone"))])

    async def test_srv_05_an_error_after_the_first_tokens_is_told_and_is_no_good_end(self, server: LiveServer) -> None:
        async with (
            server.client() as plain,
            plain.stream(
                "POST",
                "/v1/chat/completions",
                json={"model": "assistant", "messages": [user("Explain")], "stream": True},
            ) as response,
        ):
            lines = [line async for line in response.aiter_lines() if line.startswith("data:")]

        assert '"content":"A' in lines[1]
        assert '"error"' in lines[-1]
        assert not any('"finish_reason":"stop"' in line or "[DONE]" in line for line in lines)

    async def test_srv_05_without_streaming_it_is_a_status(self, client: AsyncOpenAI) -> None:
        with pytest.raises(openai.APIStatusError) as refused:
            await client.chat.completions.create(model="assistant", messages=[user("Explain")])

        assert refused.value.status_code >= 500
        assert refused.value.code == "model_broke_off"


class TestLeaving:
    @pytest.fixture
    def model(self) -> ScriptedModel:
        return ScriptedModel([Stream("One ", "two ", *[3600.0, "never "] * 20), "Fine."])

    @pytest.mark.parametrize("stream", [True, False])
    async def test_srv_07_a_stateless_run_ends_when_its_client_leaves(
        self, server: LiveServer, model: ScriptedModel, stream: bool
    ) -> None:
        body = {"model": "assistant", "messages": [user("Explain")], "stream": stream}

        async def ask() -> None:
            async with server.client() as plain, plain.stream("POST", "/v1/chat/completions", json=body) as response:
                async for _ in response.aiter_bytes():
                    pass

        asking = asyncio.create_task(ask())
        while not model.answer_requests:
            await model.asked.wait()
            await asyncio.sleep(0.01)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)

        async with asyncio.timeout(10):
            while model.open_streams or server.planwerk.worker.driven:  # noqa: ASYNC110 - two things of two rooms
                await asyncio.sleep(0.01)

    async def test_srv_29_comments_keep_an_idle_stream_alive(self, server: LiveServer) -> None:
        body = {"model": "assistant", "messages": [user("Explain")], "stream": True}

        async with server.client() as plain, plain.stream("POST", "/v1/chat/completions", json=body) as response:
            assert response.headers["x-accel-buffering"] == "no"
            assert "no-transform" in response.headers["cache-control"]
            comments = 0
            async for line in response.aiter_lines():
                comments += line.startswith(":")
                if comments == 3:
                    break

        assert comments == 3


async def test_open_webui_tasks_are_answered_without_a_run(server: LiveServer, model: ScriptedModel) -> None:
    async with server.client() as plain:
        answered = await plain.post(
            "/v1/chat/completions",
            headers={"X-OpenWebUI-Task": "title_generation"},
            json={"model": "assistant", "messages": [user("### Task:\nGenerate a title for: trip to Oslo")]},
        )

    assert answered.status_code == 200
    assert '"title"' in answered.json()["choices"][0]["message"]["content"]
    assert model.answer_requests == []
