from __future__ import annotations

from collections.abc import AsyncGenerator

import httpx2
import pytest
from openai import AsyncOpenAI

from planwerk.app import Planwerk
from planwerk.testing import ScriptedModel
from tests.server.live import LiveServer, live_server


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(["First answer 🐢.", "Second answer.", "Third answer.", "Fourth answer."])


@pytest.fixture
async def server(model: ScriptedModel) -> AsyncGenerator[LiveServer]:
    async with live_server(Planwerk(model=model), keep_alive_seconds=0.05) as live:
        yield live


@pytest.fixture
async def client(server: LiveServer) -> AsyncGenerator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key=server.key, max_retries=0) as opened:
        yield opened


@pytest.fixture
async def plain(server: LiveServer) -> AsyncGenerator[httpx2.AsyncClient]:
    async with server.client() as opened:
        yield opened
