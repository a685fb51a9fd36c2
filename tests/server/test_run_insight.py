"""Prompts as they were sent, and a run as a test, over REST (U8, C1.2)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from planwerk.access.actions import Role
from planwerk.app import Planwerk
from planwerk.blueprints.llm_wrapping_agent import LLMWrappingAgent
from planwerk.server.application import create_app
from planwerk.testing import ScriptedModel
from planwerk.workflow.ids import new_id
from tests.server.test_runs import Endless
from tests.server.world import chat, key_of, until


@pytest.fixture
async def planwerk(tmp_path: Path) -> AsyncGenerator[Planwerk]:
    model = ScriptedModel(["It costs 10.", "Two."], tasks={"title": "Prices"})
    async with Planwerk([LLMWrappingAgent, Endless], storage=tmp_path / "data.db", model=model) as opened:
        yield opened


@asynccontextmanager
async def client_of(planwerk: Planwerk, role: Role) -> AsyncGenerator[httpx2.AsyncClient]:
    headers = {"Authorization": f"Bearer {await key_of(planwerk, f'somebody-{role}', role)}"}
    transport = httpx2.ASGITransport(app=create_app(planwerk))
    async with httpx2.AsyncClient(transport=transport, base_url="http://testserver", headers=headers) as opened:
        yield opened


async def calls_of(client: httpx2.AsyncClient, run: str) -> dict[str, dict[str, Any]]:
    """The model calls of a run, by what they were for."""
    timeline = (await client.get(f"/api/runs/{run}/timeline")).json()["items"]
    called = [entry for entry in timeline if entry["type"] == "model_called"]
    return {entry["data"]["task"]: entry for entry in called}


async def asked(client: httpx2.AsyncClient) -> str:
    thread = await chat(client, "What does it cost?")
    return thread["messages"][1]["run"]["id"]


async def test_a_builder_reads_every_prompt_as_it_was_sent(planwerk: Planwerk) -> None:
    async with client_of(planwerk, Role.BUILDER) as client:
        run = await asked(client)
        calls = await calls_of(client, run)
        found = {
            task: (await client.get(f"/api/runs/{run}/prompts/{call['position']}")).json()
            for task, call in calls.items()
        }

    assert {"", "gate", "title", "follow_ups"} <= found.keys()
    assert all(call["data"]["has_prompt"] for call in calls.values())
    answer = found[""]
    assert (answer["purpose"], answer["is_masked"]) == ("answer", False)
    assert [message["kind"] for message in answer["messages"]] == ["request", "response"]
    assert answer["messages"][0]["parts"][-1]["content"] == "What does it cost?"
    assert answer["messages"][1]["parts"][0]["content"] == "It costs 10."
    assert "What does it cost?" in str(found["title"]["messages"])
    assert found["title"]["messages"][-1]["parts"][0]["content"] == "Prices"


async def test_a_member_reads_what_people_and_models_said_and_nothing_of_the_profile(planwerk: Planwerk) -> None:
    profile = {"id": "secretive", "name": "Secretive", "blueprint": "LLMWrappingAgent"}
    async with client_of(planwerk, Role.BUILDER) as builder:
        made = await builder.post("/api/profiles", json={**profile, "config": {"system_prompt": "The code is 4711."}})
        assert made.status_code == 201, made.text
    async with client_of(planwerk, Role.MEMBER) as client:
        thread = (await client.post("/api/threads", json={"id": new_id(), "profile": "secretive"})).json()["id"]
        body = {"message_id": new_id(), "content": "What does it cost?"}
        run = (await client.post(f"/api/threads/{thread}/messages", json=body)).json()["run_id"]
        async with client.stream("GET", f"/api/runs/{run}/stream") as stream:
            await stream.aread()
        calls = await calls_of(client, run)
        found = [(await client.get(f"/api/runs/{run}/prompts/{call['position']}")) for call in calls.values()]

    assert all(one.status_code == 200 and one.json()["is_masked"] for one in found)
    assert not any("4711" in one.text for one in found)
    answers = [one.json() for one in found if one.json()["purpose"] == "answer"]
    assert all("What does it cost?" in str(one["messages"]) for one in answers)
    assert all(one.json()["messages"] == [] for one in found if one.json()["task"])


async def test_where_no_model_was_called_there_is_no_prompt(planwerk: Planwerk) -> None:
    async with client_of(planwerk, Role.BUILDER) as client:
        run = await asked(client)
        answers = [await client.get(f"/api/runs/{run}/prompts/{position}") for position in (0, 1, 100_000)]

    assert {(one.status_code, one.json()["code"]) for one in answers} == {(404, "no_prompt_here")}


async def test_a_run_is_given_as_a_test(planwerk: Planwerk) -> None:
    async with client_of(planwerk, Role.BUILDER) as client:
        run = await asked(client)
        found = (await client.get(f"/api/runs/{run}/test")).json()

    assert found["name"] == f"test_run_{run[-12:]}.py"
    assert "assert result.stop.answer.text == 'It costs 10.'" in found["source"]
    compile(found["source"], found["name"], "exec")


async def test_a_run_that_goes_on_is_no_test_yet(planwerk: Planwerk) -> None:
    async with client_of(planwerk, Role.BUILDER) as client:
        run = (await client.post("/api/profiles/endless/runs", json={"event": {}})).json()["run_id"]

        async def works() -> bool:
            return (await client.get(f"/api/runs/{run}")).json().get("status") == "running"

        await until(works)
        refused = await client.get(f"/api/runs/{run}/test")
        await client.post(f"/api/runs/{run}/stop")

    assert (refused.status_code, refused.json()["code"]) == (409, "run_not_ended")
