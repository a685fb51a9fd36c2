"""Answers by the official client, streamed and whole: text, usage, thinking, refusals, every legal request (S4.1)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import pytest
from openai import AsyncOpenAI, OpenAI
from pydantic_ai.messages import ImageUrl, ModelRequest, ToolReturnPart, UserPromptPart

from planwerk.app import Planwerk
from planwerk.messages.prompts import last_user_prompt, system_text
from planwerk.messages.tokens import estimate_history_tokens
from planwerk.models.catalogue import CatalogueSettings, ModelCatalogue
from planwerk.models.discovery import ProviderSettings
from planwerk.models.played import Thought
from planwerk.runtime.profiles import ProfileArtifact
from planwerk.testing import ScriptedModel, Stream
from planwerk.workflow.locale_string import LocaleString
from tests.models.stub_server import Sse, StubServer, delta, finish, stub_server, usage
from tests.server.live import LiveServer, live_server
from tests.server.openai.asking import ask, body, create, lines, text_in, threads_of, user

BOTH = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


@BOTH
async def test_an_answer_has_its_text_its_end_and_its_usage(client: AsyncOpenAI, stream: bool) -> None:
    answer = await ask(client, stream=stream)

    assert (answer.text, answer.finish_reason, answer.refusal) == ("First answer 🐢.", "stop", "")
    assert answer.total_tokens > 0


async def test_the_shape_is_followed_without_usage_too(client: AsyncOpenAI) -> None:
    chunks = [chunk async for chunk in await create(client, **body(), stream=True)]

    assert all(chunk.usage is None and len(chunk.choices) == 1 for chunk in chunks)


async def test_the_stream_has_the_protocols_shape(plain: httpx2.AsyncClient) -> None:
    found = await lines(plain, body(stream_options={"include_usage": True}))

    *chunks, last, counted, done = found
    assert done == "[DONE]"
    assert chunks[0]["choices"] == [
        {"index": 0, "delta": {"role": "assistant", "content": ""}, "logprobs": None, "finish_reason": None}
    ]
    assert last["choices"] == [{"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"}]
    assert counted["choices"] == []
    assert counted["usage"]["total_tokens"] > 0
    assert {chunk["usage"] for chunk in [*chunks, last]} == {None}
    assert len({(chunk["id"], chunk["created"], chunk["model"], chunk["object"]) for chunk in found[:-1]}) == 1


async def test_the_synchronous_client_reads_both_forms(server: LiveServer) -> None:
    def ask_twice() -> list[str | None]:
        with OpenAI(base_url=f"{server.url}/v1", api_key=server.key, max_retries=0) as sync:
            question: Any = user("Explain turtles")
            stream = sync.chat.completions.create(model="assistant", messages=[question], stream=True)
            streamed = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
            whole = sync.chat.completions.create(model="assistant", messages=[question])
            return [streamed, whole.choices[0].message.content]

    assert await asyncio.to_thread(ask_twice) == ["First answer 🐢.", "Second answer."]


async def test_a_stateless_request_is_answered_over_the_history_it_sends_and_is_in_no_list(
    client: AsyncOpenAI, model: ScriptedModel, server: LiveServer
) -> None:
    await ask(
        client, user("Which plans exist?"), {"role": "assistant", "content": "Basic and Pro."}, user("Explain Pro")
    )

    assert "Basic and Pro." in str(model.answer_requests[-1].messages)
    assert await threads_of(server) == []


async def test_the_run_of_a_stateless_request_is_forgotten_when_its_time_is_over(
    client: AsyncOpenAI, server: LiveServer
) -> None:
    planwerk = server.planwerk
    planwerk.stateless_seconds = 0.0
    await ask(client, user("Explain Pro"))
    await planwerk.projector.catch_up()
    planwerk.stateless_seconds = 3_600.0
    await ask(client, user("Explain Basic"))
    await planwerk.projector.catch_up()

    assert await planwerk.housekeeping.forget_expired() == 1

    kept = await planwerk.stores.records.newest("default")
    assert [record.status for record in kept] == ["completed"]


@BOTH
async def test_srv_17_legal_requests_are_answered(client: AsyncOpenAI, model: ScriptedModel, stream: bool) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"q":1}'}}

    answer = await ask(
        client,
        {"role": "developer", "content": "Be brief"},
        user([{"type": "text", "text": "hi"}]),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "found it"}]},
        stream=stream,
        store=True,
        service_tier="auto",
        temperature=0.3,
        extra_body={"unknown_field": 1, "n": 1, "tools": []},
    )

    assert answer.text == "First answer 🐢."
    sent = model.answer_requests[-1].messages
    assert last_user_prompt(sent) == "hi"
    assert "Be brief" in system_text(sent)
    results = [part for message in sent for part in message.parts if isinstance(part, ToolReturnPart)]
    assert [(part.tool_name, part.content, part.tool_call_id) for part in results] == [("look", "found it", "c1")]


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "system", "content": "Greet the reader."}],
        [user("Begin the tale."), {"role": "assistant", "content": "Once upon"}],
        [user(None), user("")],
        [user(["plain", {"type": "text", "text": "parts"}])],
    ],
    ids=["only a system message", "an answer to go on with", "nothing said", "texts as parts"],
)
async def test_unusual_but_legal_histories_are_answered(client: AsyncOpenAI, messages: list[Any]) -> None:
    assert (await ask(client, *messages)).text == "First answer 🐢."


async def test_pictures_reach_the_model(client: AsyncOpenAI, model: ScriptedModel) -> None:
    shown = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "https://example.org/turtle.png"}},
        {"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lGODlh"}},
    ]

    await ask(client, user(shown))

    request = model.answer_requests[-1].messages[-1]
    assert isinstance(request, ModelRequest)
    prompt = request.parts[-1]
    assert isinstance(prompt, UserPromptPart)
    text, address, picture = prompt.content
    assert text == "What is this?"
    assert isinstance(address, ImageUrl)
    assert getattr(picture, "media_type", None) == "image/gif"


@BOTH
async def test_a_question_about_the_assistant_is_answered_by_the_conversation(
    server: LiveServer, client: AsyncOpenAI, stream: bool
) -> None:
    answer = await ask(client, user("Who are you?"), stream=stream)

    assert answer.text == "First answer 🐢."


@BOTH
async def test_srv_25_half_a_character_is_replaced_and_harms_nobody(
    plain: httpx2.AsyncClient, model: ScriptedModel, stream: bool
) -> None:
    raw = (
        rb'{"model":"assistant","messages":[{"role":"user","content":"ok \ud83d done \ud83d\ude00"}],'
        rb'"metadata":{"thread_id":"half \ud83d"},"stream":%s}' % str(stream).lower().encode()
    )

    answered = await plain.post("/v1/chat/completions", content=raw)
    unknown = await plain.post("/v1/chat/completions", content=raw.replace(b'"assistant"', rb'"\ud83d"'))

    assert (answered.status_code, unknown.status_code) == (200, 404)
    assert last_user_prompt(model.answer_requests[-1].messages) == "ok \ufffd done 😀"


class TestStrangeText:
    TEXT = "first\u2028second\u2029third\u0085✅ 晴れ 🐢"

    @pytest.fixture
    def model(self) -> ScriptedModel:
        return ScriptedModel([self.TEXT, self.TEXT])

    async def test_srv_01_and_03_text_arrives_whole_however_it_is_cut(
        self, plain: httpx2.AsyncClient, client: AsyncOpenAI
    ) -> None:
        raw = await plain.post("/v1/chat/completions", json=body(stream=True))

        assert text_in(await lines(plain, body())) == self.TEXT
        assert not any(mark in raw.text for mark in "\u2028\u2029\u0085")
        assert all(line == "" or line.startswith(("data: ", ":")) for line in raw.text.splitlines())


class TestThinking:
    @pytest.fixture
    def model(self) -> ScriptedModel:
        said = Stream(Thought("Let me "), Thought("see."), "One ", Thought("Hm."), "two.")
        return ScriptedModel([said, said])

    @BOTH
    async def test_thinking_is_beside_the_answer_and_the_text_is_the_stored_one(
        self, client: AsyncOpenAI, stream: bool
    ) -> None:
        answer = await ask(client, stream=stream)

        assert answer.reasoning == "Let me see.Hm."
        assert answer.text == "One \n\ntwo."


class TestUsage:
    @pytest.fixture
    def model(self) -> ScriptedModel:
        return ScriptedModel(["The same."] * 2)

    async def test_usage_is_the_sum_over_all_model_calls_of_the_run_in_both_forms(
        self, client: AsyncOpenAI, model: ScriptedModel
    ) -> None:
        whole = await create(client, **body())
        streamed = await ask(client, stream=True)

        assert whole.usage is not None
        assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens
        assert streamed.total_tokens == whole.usage.total_tokens
        asked = sum(estimate_history_tokens(request.messages) for request in model.requests)
        assert whole.usage.prompt_tokens == asked // 2


class TestDeclining:
    @pytest.fixture
    async def server(self) -> AsyncGenerator[LiveServer]:
        narrow = ProfileArtifact(
            slug="assistant",
            name=LocaleString("Narrow"),
            blueprint="LLMWrappingAgent",
            config={"number_of_input_tokens": 50},
        )
        async with live_server(Planwerk(model=ScriptedModel([]), profiles=[narrow])) as live:
            yield live

    @BOTH
    async def test_a_question_that_does_not_fit_is_declined_in_the_protocols_way(
        self, client: AsyncOpenAI, stream: bool
    ) -> None:
        answer = await ask(client, user("word " * 1_000), stream=stream)

        assert answer.refusal
        assert (answer.text, answer.finish_reason) == ("", "stop")


class TestRealProtocol:
    """Behind us too a server of the same protocol: what it counts and why it ended reach the client."""

    @pytest.fixture
    async def stub(self) -> AsyncGenerator[StubServer]:
        async with stub_server() as stub:
            yield stub

    @pytest.fixture
    async def server(self, stub: StubServer) -> AsyncGenerator[LiveServer]:
        given = CatalogueSettings("stub:stub-model", {"stub": ProviderSettings(stub.base_url)})
        models = ModelCatalogue(given, environment={}, local_servers=())
        async with live_server(Planwerk(models=models)) as live:
            yield live

    @BOTH
    async def test_tool_09_usage_of_a_chunk_without_choices_is_counted(
        self, client: AsyncOpenAI, stub: StubServer, stream: bool
    ) -> None:
        said = Sse([delta(role="assistant"), delta(content="Hel"), delta(content="lo"), finish("stop"), usage(10, 2)])
        stub.answer(*[said] * 5)

        answer = await ask(client, user("Say hello"), stream=stream)

        assert (answer.text, answer.finish_reason) == ("Hello", "stop")
        assert answer.total_tokens == 12 * len(stub.requests)

    @BOTH
    async def test_an_answer_cut_at_its_length_says_so(
        self, client: AsyncOpenAI, stub: StubServer, stream: bool
    ) -> None:
        short = Sse([delta(content="x"), finish("length"), usage(1, 1)])
        stub.answer(*[short] * 5)

        answer = await ask(client, stream=stream)

        assert answer.finish_reason == "length"
