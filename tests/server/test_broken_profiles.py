"""A blueprint changed, and a stored profile does not fit any more: it is not lost, says why, and can be repaired."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import httpx2
import pytest

from planwerk import Agent, AgentConfig, LLMStopEvent, StopEvent, UserMessageEvent, step
from planwerk.access.actions import Role
from planwerk.app import Planwerk
from planwerk.server.application import create_app
from planwerk.testing import ScriptedModel
from planwerk.workflow.ids import new_id
from tests.server.world import ended, key_of


class BeforeConfig(AgentConfig):
    tone: str = "warm"


class AfterConfig(AgentConfig):
    tone: Literal["formal", "casual"] = "formal"


class Echo(Agent):
    """Says it again."""

    config = BeforeConfig

    @step()
    async def echo(self, start: UserMessageEvent) -> LLMStopEvent | StopEvent:
        return StopEvent()


class StricterEcho(Echo):
    config = AfterConfig


StricterEcho.__name__ = "Echo"


@asynccontextmanager
async def served(path: Path, blueprint: type[Agent], role: Role | None = None) -> AsyncGenerator[httpx2.AsyncClient]:
    async with Planwerk([blueprint], storage=path, model=ScriptedModel([])) as planwerk:
        key = (await planwerk.access.set_local_key(None)).text if role is None else await key_of(planwerk, "ben", role)
        transport = httpx2.ASGITransport(app=create_app(planwerk))
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx2.AsyncClient(transport=transport, base_url="http://testserver", headers=headers) as client:
            yield client


@pytest.fixture
async def stored(tmp_path: Path) -> Path:
    """An installation whose profile `echo` has a tone that the newer blueprint does not know."""
    path = tmp_path / "data.db"
    async with served(path, Echo) as client:
        changed = await client.patch("/api/profiles/echo", json={"config": {"tone": "warm"}})
        assert changed.status_code == 200
    return path


async def test_it_is_not_offered_but_says_why_to_who_may_edit(stored: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        async with served(stored, StricterEcho) as client:
            offered = (await client.get("/api/profiles")).json()["items"]
            all_of_them = (await client.get("/api/profiles?broken=true")).json()["items"]
            shown = (await client.get("/api/profiles/echo")).json()

    assert offered == []
    assert [one["id"] for one in all_of_them] == ["echo"]
    assert not all_of_them[0]["is_default"]
    assert "tone" in shown["problem"]
    assert shown["config"] == {"tone": "warm"}
    assert "the settings of profile 'echo' are not valid: tone" in caplog.text


async def test_asking_it_says_why(stored: Path) -> None:
    async with served(stored, StricterEcho) as client:
        workspace = (await client.get("/api/session")).json()["private_workspace"]
        made = await client.post("/api/threads", json={"id": new_id(), "workspace": workspace, "profile": "echo"})

    assert (made.status_code, made.json()["code"]) == (422, "profile_invalid")
    assert "tone" in made.json()["detail"]


async def test_an_edit_repairs_it(stored: Path) -> None:
    async with served(stored, StricterEcho) as client:
        still_wrong = await client.patch("/api/profiles/echo", json={"description": "Echoes."})
        repaired = await client.patch("/api/profiles/echo", json={"config": {"tone": "casual"}})
        started = await client.post("/api/profiles/echo/runs", json={"message": "hello"})
        run = await ended(client, started.json()["run_id"])

    assert (still_wrong.status_code, still_wrong.json()["code"]) == (422, "profile_invalid")
    assert repaired.json()["problem"] is None
    assert run["status"] == "completed"


async def test_members_see_nothing_of_it(stored: Path) -> None:
    async with served(stored, StricterEcho, Role.MEMBER) as client:
        listed = (await client.get("/api/profiles?broken=true")).json()["items"]

    assert listed == []
