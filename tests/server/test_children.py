"""Runs that ask other agents over REST: each names the other, costs stay hidden, and who may see one sees both."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import pytest

from planwerk.access.actions import Role
from planwerk.app import Planwerk
from planwerk.messages.events import LLMStopEvent, UserMessageEvent
from planwerk.models.answering import Answering
from planwerk.testing import ScriptedModel
from planwerk.workflow.agents import AgentInTheLoop, Detached
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import StopEvent
from planwerk.workflow.steps import step
from tests.server.test_rest import InProcess
from tests.server.world import ended, key_of, new_thread, post


class RestChildStop(StopEvent):
    text: str


class RestExpert(Agent):
    """Answers with its model."""

    @step()
    async def answer(self, message: UserMessageEvent, answering: Answering) -> LLMStopEvent:
        return LLMStopEvent(answer=await answering.answer(message.messages))


class RestDelegate(Agent):
    """Hands each question to the expert, and another one to nobody in particular."""

    @step()
    async def ask(self, message: UserMessageEvent) -> AgentInTheLoop:
        return AgentInTheLoop(profile="rest-expert", message="Who?")

    @step()
    async def end(self, found: AgentInTheLoop.Ended) -> list[RestChildStop | Detached]:
        return [RestChildStop(text=found.text), Detached(profile="rest-expert", message="And later?", key="later")]

    @step()
    async def cope(self, failed: AgentInTheLoop.Failed) -> RestChildStop:
        return RestChildStop(text=failed.message)


@pytest.fixture
async def server() -> AsyncGenerator[InProcess]:
    async with Planwerk([RestDelegate, RestExpert], model=ScriptedModel(["Me.", "Later."])) as planwerk:
        yield InProcess(planwerk)


async def items(client: httpx2.AsyncClient, run: str) -> list[dict[str, Any]]:
    return (await client.get(f"/api/runs/{run}/timeline")).json()["items"]


async def test_a_run_and_the_runs_it_asked_for_name_each_other(server: InProcess) -> None:
    async with server.client(await key_of(server.planwerk, "ada", Role.MEMBER)) as client:
        thread = await new_thread(client, profile="rest-delegate")
        run = (await post(client, thread["id"], "Hello"))["run_id"]
        seen = await ended(client, run)

        timeline = await items(client, run)
        asked = {entry["type"]: entry["data"]["child_run"] for entry in timeline if "child_run" in entry["data"]}

        assert set(asked) == {"AgentInTheLoop", "Detached"}
        assert seen["parent_run"] is None
        assert (seen["model_calls"], seen["cost"]) == (1, None)
        for child in asked.values():
            view = await ended(client, child)
            assert (view["parent_run"], view["status"], view["profile"]) == (run, "completed", "rest-expert")
            assert (await items(client, child))[0]["data"]["parent_run"] == run
        [answer] = [entry["data"] for entry in timeline if entry["type"] == "AgentEndedEvent"]
        assert answer["used"]["model_calls"] == 1
        assert answer["used"]["cost"] is None


async def test_the_children_of_others_are_hidden(server: InProcess) -> None:
    async with server.client(await key_of(server.planwerk, "ada", Role.MEMBER)) as client:
        thread = await new_thread(client, profile="rest-delegate")
        run = (await post(client, thread["id"], "Hello"))["run_id"]
        await ended(client, run)
        children = [entry["data"]["child_run"] for entry in await items(client, run) if "child_run" in entry["data"]]

    async with server.client(await key_of(server.planwerk, "bob", Role.MEMBER)) as other:
        found = [(await other.get(f"/api/runs/{child}")).status_code for child in children]

    assert found == [404, 404]
