"""Saying something into a run over REST, and what a profile says of it (S2.3)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import httpx2
import pytest

from planwerk.access.actions import Role
from planwerk.app import Planwerk
from planwerk.blueprints.llm_wrapping_agent import LLMWrappingAgent
from planwerk.messages.events import SteeringMessageEvent, UserMessageEvent
from planwerk.messages.prompts import last_user_prompt
from planwerk.runtime.profiles import ProfileArtifact
from planwerk.testing import ScriptedModel
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import StopEvent
from planwerk.workflow.locale_string import LocaleString
from planwerk.workflow.people import HumanInTheLoop
from planwerk.workflow.steps import step
from tests.server.test_rest import InProcess
from tests.server.world import ended, key_of, new_thread, post, until


class RestHeardStop(StopEvent):
    text: str


class RestAskGo(HumanInTheLoop.Confirmation):
    """Whether it may go on."""


class RestHearing(Agent):
    """Waits for a yes, and says what it heard meanwhile."""

    @step()
    async def ask(self, message: UserMessageEvent) -> RestAskGo:
        return RestAskGo(question="Go on?")

    @step()
    async def done(self, answer: RestAskGo.Answered, said: list[SteeringMessageEvent]) -> RestHeardStop:
        return RestHeardStop(text=f"heard {', '.join(last_user_prompt(one.messages) for one in said)}")


@pytest.fixture
async def client(tmp_path: Path) -> AsyncGenerator[httpx2.AsyncClient]:
    profile = ProfileArtifact(slug="assistant", blueprint="RestHearing", name=LocaleString("Hearing"))
    async with (
        Planwerk(
            [RestHearing, LLMWrappingAgent],
            profiles=[profile],
            storage=tmp_path / "data.db",
            model=ScriptedModel(["Hi."]),
        ) as planwerk,
        InProcess(planwerk).client(await key_of(planwerk, "ada", Role.BUILDER)) as opened,
    ):
        yield opened


async def begin(client: httpx2.AsyncClient) -> tuple[str, str, str]:
    """A thread, its run, and the request for which that waits."""
    thread = (await new_thread(client))["id"]
    run = (await post(client, thread, "hello"))["run_id"]
    found: list[str] = []

    async def is_open() -> bool:
        found[:] = [one["id"] for one in (await client.get(f"/api/runs/{run}/requests")).json()["items"]]
        return bool(found) and (await client.get(f"/api/runs/{run}")).json()["status"] == "waiting"

    await until(is_open)
    return thread, run, found[0]


async def test_what_is_posted_with_now_is_heard_by_the_run_that_waits(client: httpx2.AsyncClient) -> None:
    thread, run, request = await begin(client)

    said = await post(client, thread, "be short", when="now")
    queued = await post(client, thread, "later")
    await client.post(f"/api/requests/{request}/answer", json={"answer": {"confirmed": True}})
    await ended(client, run)

    assert (said["run_id"], queued["run_id"] == run) == (run, False)
    messages = (await client.get(f"/api/threads/{thread}")).json()["messages"]
    above = {message["content"]: message["parent_id"] for message in messages}
    assert above["be short"] == messages[0]["id"]
    assert above["heard be short"] == said["message_id"]
    assert above["later"] == run
    entries = (await client.get(f"/api/runs/{run}/timeline")).json()["items"]
    [heard] = [entry for entry in entries if entry["type"] == "SteeringMessageEvent"]
    assert (heard["id"], heard["actor"]["name"]) == (said["message_id"], "Ada")


async def test_a_profile_says_what_a_message_does_and_whether_it_can_be_steered(client: httpx2.AsyncClient) -> None:
    steerable, other = (await client.get("/api/profiles")).json()["items"]
    assert (steerable["when_default"], steerable["steerable"]) == ("next", True)
    assert (other["when_default"], other["steerable"]) == ("next", False)

    changed = await client.patch("/api/profiles/assistant", json={"when_default": "now"})
    wrong = await client.patch("/api/profiles/assistant", json={"when_default": "sometimes"})
    made = {"id": "swift", "blueprint": "RestHearing", "name": "Swift", "when_default": "instead"}
    swift = await client.post("/api/profiles", json=made)

    assert (changed.json()["when_default"], swift.json()["when_default"]) == ("now", "instead")
    assert wrong.status_code == 422
    thread, run, _ = await begin(client)
    assert (await post(client, thread, "be short"))["run_id"] == run
