"""Clients that leave, and streams in which nothing happens for a while (E4.7, SRV-07, SRV-29)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import httpx2
import pytest

from planwerk.app import Planwerk
from planwerk.testing import ScriptedModel, Stream
from planwerk.workflow.ids import new_id
from tests.server.live import LiveServer, live_server
from tests.server.openai.asking import URL, body, lines, messages_of, text_in

BOTH = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


async def until(holds: Callable[[], bool]) -> None:
    """Let the server work until this holds."""
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 - what happens in two rooms has no event
            await asyncio.sleep(0.005)


def words(pause_seconds: float) -> ScriptedModel:
    pieces = [item for number in range(100) for item in (f"word{number} ", pause_seconds)]
    return ScriptedModel([Stream(*pieces), "Fine."])


@pytest.fixture
def model() -> ScriptedModel:
    return words(0.02)


@pytest.fixture(params=["in_memory", "sqlite"])
async def server(request: pytest.FixtureRequest, model: ScriptedModel, tmp_path: Path) -> AsyncGenerator[LiveServer]:
    storage = tmp_path / "data.db" if request.param == "sqlite" else None
    async with live_server(Planwerk(model=model, storage=storage), keep_alive_seconds=0.05) as live:
        yield live


@BOTH
async def test_srv_07_a_stateless_answer_ends_when_its_client_leaves(
    server: LiveServer, model: ScriptedModel, stream: bool
) -> None:
    request = body(stream=stream)
    seen = ""

    async def ask() -> None:
        nonlocal seen
        async with server.client() as plain, plain.stream("POST", URL, json=request) as response:
            async for piece in response.aiter_text():
                seen += piece
                if "word1" in seen:
                    return

    asking = asyncio.create_task(ask())
    await until(lambda: bool(model.answer_requests) and (asking.done() or not stream))
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await until(lambda: model.open_streams == 0 and server.planwerk.worker.driven == 0)

    assert len(server.application.state.streams) == 0
    [record] = await server.planwerk.stores.records.newest("default")
    assert record.status == "stopped"
    kept = await server.planwerk.host.entries(record.run)  # pyright: ignore[reportArgumentType] - a record has plain ids
    assert "word20 " not in str(kept)


class TestConversation:
    @pytest.fixture
    def model(self) -> ScriptedModel:
        return words(0.002)

    @BOTH
    async def test_it_goes_on_without_its_client_and_is_read_later(
        self, server: LiveServer, model: ScriptedModel, stream: bool
    ) -> None:
        thread = new_id()
        request = body(stream=stream, metadata={"thread_id": thread})

        async def ask() -> None:
            async with server.client() as plain, plain.stream("POST", URL, json=request) as response:
                async for _ in response.aiter_text():
                    pass

        asking = asyncio.create_task(ask())
        await until(lambda: bool(model.answer_requests))
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await until(lambda: server.planwerk.worker.driven == 0)

        _, reply = await messages_of(server, thread)
        assert reply["content"].startswith("word0 ")
        assert reply["content"].rstrip().endswith("word99")
        assert not reply["incomplete"]


class TestSilence:
    @pytest.fixture
    def model(self) -> ScriptedModel:
        return ScriptedModel([Stream("One ", 0.5, "two.")])

    async def test_srv_29_comments_keep_an_idle_stream_alive_and_harm_no_reader(
        self, plain: httpx2.AsyncClient
    ) -> None:
        async with plain.stream("POST", URL, json=body(stream=True)) as response:
            whole = (await response.aread()).decode()

        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert response.headers["x-accel-buffering"] == "no"
        assert response.headers["cache-control"] == "no-store, no-transform"
        assert whole.count(": keep-alive\n\n") >= 3
        assert "data: [DONE]" in whole

    async def test_the_text_is_whole_with_comments_in_it(self, plain: httpx2.AsyncClient) -> None:
        assert text_in(await lines(plain, body())) == "One two."
