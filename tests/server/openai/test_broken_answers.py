"""Errors after the question was taken: the same codes as everywhere, and never a good end (E4.4, SRV-05)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import openai
import pytest
from openai import AsyncOpenAI

from planwerk.app import Planwerk
from planwerk.models.catalogue import CatalogueSettings, ModelCatalogue
from planwerk.models.discovery import ProviderSettings
from planwerk.testing import ScriptedModel, Stream
from planwerk.workflow.ids import new_id
from tests.models.stub_server import Sse, Status, StubServer, delta, finish, stub_server
from tests.server.live import LiveServer, live_server
from tests.server.openai.asking import URL, body, chunks_in, create, error_of, lines, messages_of, text_in, user

NEVER = 3600.0


def ends_badly(found: list[Any]) -> bool:
    """Whether a stream ends with an error and pretends no success."""
    reasons = {chunk["choices"][0]["finish_reason"] for chunk in chunks_in(found)}
    return "error" in found[-1] and reasons == {None} and "[DONE]" not in found


class TestBreakingOff:
    @pytest.fixture
    def model(self) -> ScriptedModel:
        return ScriptedModel([Stream("A", "B", ConnectionError("gone"))])

    async def test_srv_05_an_error_after_the_first_tokens_is_told_and_kept(
        self, plain: httpx2.AsyncClient, server: LiveServer
    ) -> None:
        thread = new_id()

        found = await lines(plain, body(metadata={"thread_id": thread}))

        assert text_in(found) == "AB"
        assert ends_badly(found)
        assert found[-1]["error"]["code"] == "model_broke_off"
        _, reply = await messages_of(server, thread)
        assert (reply["content"], reply["incomplete"]) == ("AB", True)
        assert reply["error"]["code"] == "model_broke_off"

    async def test_srv_05_the_official_client_raises(self, client: AsyncOpenAI) -> None:
        text = ""

        async def read() -> None:
            nonlocal text
            async for chunk in await create(client, **body(stream=True)):
                text += chunk.choices[0].delta.content or ""

        with pytest.raises(openai.APIError, match="broke off"):
            await read()

        assert text == "AB"

    @pytest.mark.parametrize("thread", [True, False])
    async def test_not_streamed_it_is_a_status_and_a_posted_message_is_not_posted_again(
        self, server: LiveServer, model: ScriptedModel, thread: bool
    ) -> None:
        identity = new_id()
        request = body(metadata={"thread_id": identity} if thread else {})

        async with server.client() as plain:
            refused = await plain.post(URL, json=request)

        assert (refused.status_code, refused.json()["error"]["code"]) == (502, "model_broke_off")
        assert refused.json()["error"]["type"] == "server_error"
        assert refused.headers.get("x-should-retry") == ("false" if thread else None)


class TestGuarded:
    """A provider's guard blocks the rest of an answer that has begun."""

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

    async def test_srv_05_an_answer_blocked_after_its_first_words_is_no_good_end(
        self, plain: httpx2.AsyncClient, server: LiveServer, stub: StubServer
    ) -> None:
        stub.answer(*[Sse([delta(role="assistant"), delta(content="A"), finish("content_filter")])] * 5)
        thread = new_id()

        found = await lines(plain, body(metadata={"thread_id": thread}))

        assert text_in(found) == "A"
        assert ends_badly(found)
        _, reply = await messages_of(server, thread)
        assert (reply["content"], reply["incomplete"]) == ("A", True)

    @pytest.mark.parametrize(
        ("answer", "status", "kind", "code"),
        [
            (Status(503, {"error": {"message": "down"}}), 503, "server_error", "model_unreachable"),
            (Status(401, {"error": {"message": "bad key"}}), 502, "server_error", "model_refused"),
            (Status(429, {"error": {"message": "slow down"}}), 429, "rate_limit_error", "model_rate_limited"),
            (Sse([]), 502, "server_error", "model_empty"),
            (
                Status(400, {"error": {"message": "too long", "code": "context_length_exceeded"}}),
                400,
                "invalid_request_error",
                "model_context_exceeded",
            ),
        ],
    )
    async def test_errors_of_models_have_their_code_and_what_to_do(
        self, client: AsyncOpenAI, stub: StubServer, answer: Any, status: int, kind: str, code: str
    ) -> None:
        stub.answer(*[answer] * 6)

        with pytest.raises(openai.APIStatusError) as refused:
            await create(client, **body())

        error = error_of(refused.value)
        assert (refused.value.status_code, error["type"], error["code"]) == (status, kind, code)
        assert ("retry-after" in refused.value.response.headers) == (status == 429)


class TestEnding:
    @pytest.fixture
    def model(self) -> ScriptedModel:
        return ScriptedModel([Stream("One ", NEVER)])

    @pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
    async def test_a_server_that_ends_tells_who_waits(
        self, server: LiveServer, plain: httpx2.AsyncClient, model: ScriptedModel, stream: bool
    ) -> None:
        asking = asyncio.create_task(plain.post(URL, json=body(stream=stream)))
        async with asyncio.timeout(10):
            await model.asked.wait()

        server.application.state.end_streams()
        async with asyncio.timeout(10):
            answered = await asking

        assert "server_shutting_down" in answered.text
        assert answered.status_code == (200 if stream else 503)
        assert "[DONE]" not in answered.text

    async def test_a_run_that_somebody_stops_is_no_good_end_either(
        self, server: LiveServer, plain: httpx2.AsyncClient, model: ScriptedModel
    ) -> None:
        thread = new_id()
        asking = asyncio.create_task(lines(plain, body(user("Explain"), metadata={"thread_id": thread})))
        run: str | None = None
        async with asyncio.timeout(10), server.client() as other:
            while not model.answer_requests:
                await model.asked.wait()
                await asyncio.sleep(0)
            run = (await other.get(f"/api/threads/{thread}")).json()["active_run"]
            await other.post(f"/api/runs/{run}/stop")
            found = await asking

        assert ends_badly(found)
        assert found[-1]["error"]["code"] == "run_stopped"
