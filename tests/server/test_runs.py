"""Lists of runs, replays and forks over REST (S2.4, E7.8)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from planwerk.app import Planwerk
from planwerk.blueprints.llm_wrapping_agent import LLMWrappingAgent
from planwerk.messages.events import UserMessageEvent
from planwerk.runtime.forks import merged
from planwerk.server.application import create_app
from planwerk.testing import ScriptedModel
from planwerk.workflow import entries as journal
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import StartEvent, StopEvent
from planwerk.workflow.ids import RunId, new_id
from planwerk.workflow.steps import step
from tests.server.world import answered, chat, ended, new_thread, until


class EndlessStart(StartEvent):
    pass


class EndlessStop(StopEvent):
    pass


class Endless(Agent):
    """Never ends by itself."""

    @step()
    async def wait(self, start: EndlessStart) -> EndlessStop:
        await asyncio.Event().wait()
        return EndlessStop()


@pytest.fixture
async def planwerk(tmp_path: Path) -> AsyncGenerator[Planwerk]:
    model = ScriptedModel(["One.", "Two.", "Three.", "Four."])
    async with Planwerk([LLMWrappingAgent, Endless], storage=tmp_path / "data.db", model=model) as opened:
        yield opened


@pytest.fixture
async def client(planwerk: Planwerk) -> AsyncGenerator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=create_app(planwerk))
    key = (await planwerk.access.set_local_key(None)).text
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(transport=transport, base_url="http://testserver", headers=headers) as opened:
        yield opened


async def listed(client: httpx2.AsyncClient, **query: Any) -> list[str]:
    page = await client.get("/api/runs", params=query)
    assert page.status_code == 200, page.text
    return [run["id"] for run in page.json()["items"]]


async def position_of(client: httpx2.AsyncClient, run: str, kind: str) -> int:
    page = (await client.get(f"/api/runs/{run}/timeline")).json()
    return next(entry["position"] for entry in page["items"] if entry["type"] == kind)


async def test_runs_are_listed_newest_first_by_filter_and_cursor(client: httpx2.AsyncClient) -> None:
    one, other = (await new_thread(client))["id"], (await new_thread(client))["id"]
    runs = [(await answered(client, thread, f"Explain {n}"))["id"] for n, thread in enumerate((one, other, one))]

    first = (await client.get("/api/runs", params={"limit": 2})).json()
    rest = (await client.get("/api/runs", params={"limit": 2, "cursor": first["next"]})).json()

    assert [run["id"] for run in first["items"] + rest["items"]] == runs[::-1]
    assert [run["title"] for run in rest["items"]] == ["Explain 0"]
    assert rest["next"] is None
    assert [run["title"] for run in first["items"]] == ["Explain 2", "Explain 1"]
    assert await listed(client, thread=one) == [runs[2], runs[0]]
    assert await listed(client, status=["completed", "failed"]) == runs[::-1]
    assert await listed(client, status="running") == []
    assert await listed(client, profile="assistant") == runs[::-1]
    assert await listed(client, profile="other") == []


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"cursor": "nonsense"}, "cursor_invalid"),
        ({"status": "odd"}, "validation_failed"),
        ({"limit": 0}, "validation_failed"),
    ],
)
async def test_a_list_that_cannot_be_is_refused(client: httpx2.AsyncClient, query: dict[str, Any], code: str) -> None:
    refused = await client.get("/api/runs", params=query)

    assert refused.status_code in {400, 422}
    assert refused.json()["code"] == code


async def test_nobody_asks_in_the_name_of_another(client: httpx2.AsyncClient, planwerk: Planwerk) -> None:
    me = (await client.get("/api/session")).json()["account"]["id"]
    somebody = {"id": new_id(), "name": "Somebody else"}
    prompt = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Explain"}]}
    event = {"type": "UserMessageEvent", "messages": [prompt], "user": somebody}

    made = await client.post("/api/profiles/assistant/runs", json={"event": event})
    run = (await ended(client, made.json()["run_id"]))["id"]

    entries = await planwerk.host.entries(RunId(run))
    assert isinstance(entries[1], journal.EventPublished)
    start = entries[1].event
    assert isinstance(start, UserMessageEvent)
    assert start.user is not None
    assert start.user.id == me


async def test_a_fork_is_a_run_of_its_own_that_posts_nothing(client: httpx2.AsyncClient, planwerk: Planwerk) -> None:
    thread = await chat(client, "Explain my plan")
    source = thread["messages"][1]["run"]["id"]
    at = await position_of(client, source, "MessageClearedEvent")

    accepted = await client.post(f"/api/runs/{source}/fork", json={"position": at})
    fork = await ended(client, accepted.json()["run_id"])

    assert accepted.status_code == 202
    assert accepted.headers["location"] == f"/api/runs/{fork['id']}"
    assert accepted.json()["position"] == at + 1  # the end of the step belongs to what it returned
    assert "Conversation.derive" in accepted.json()["first"]
    assert (fork["status"], fork["forked_from"], fork["forked_at"]) == ("completed", source, at + 1)
    assert (fork["thread"], fork["title"]) == (None, "Explain my plan")
    record = (await client.get(f"/api/runs/{source}")).json()
    assert fork["workspace"] == record["workspace"]
    assert (await client.get(f"/api/threads/{thread['id']}")).json()["messages"] == thread["messages"]
    assert fork["model_calls"] < record["model_calls"]
    replayed = (await client.post(f"/api/runs/{fork['id']}/replay")).json()
    assert replayed["divergence"] is None
    entries = await planwerk.host.entries(RunId(fork["id"]))
    assert isinstance(entries[0], journal.RunOpened)
    copied = entries[: entries[0].forked_entries]
    assert not any(isinstance(entry, journal.ModelCalled | journal.OwnershipTaken) for entry in copied)
    assert isinstance(entries[entries[0].forked_entries], journal.OwnershipTaken | journal.OwnershipReleased)


async def test_a_fork_is_repeated_without_a_second_run(client: httpx2.AsyncClient) -> None:
    thread = await chat(client, "Explain")
    source, identity = thread["messages"][1]["run"]["id"], new_id()

    for _ in range(2):
        again = await client.post(f"/api/runs/{source}/fork", json={"position": 2, "run_id": identity})
        assert (again.status_code, again.json()["run_id"]) == (202, identity)
    keyed = [
        (await client.post(f"/api/runs/{source}/fork", json={"position": 2}, headers={"Idempotency-Key": "k"})).json()
        for _ in range(2)
    ]
    taken = await client.post(f"/api/runs/{source}/fork", json={"position": 2, "run_id": source})

    assert keyed[0]["run_id"] == keyed[1]["run_id"]
    assert len(await listed(client)) == 3
    assert (taken.status_code, taken.json()["code"]) == (409, "run_id_taken")


async def test_a_fork_takes_other_settings_if_they_fit(client: httpx2.AsyncClient, planwerk: Planwerk) -> None:
    thread = await chat(client, "Explain")
    source = thread["messages"][1]["run"]["id"]

    wrong = await client.post(
        f"/api/runs/{source}/fork", json={"position": 2, "config": {"number_of_input_tokens": "x"}}
    )
    made = await client.post(f"/api/runs/{source}/fork", json={"position": 2, "config": {"system_prompt": "Be brief."}})
    fork = await ended(client, made.json()["run_id"])

    assert (wrong.status_code, wrong.json()["code"]) == (422, "profile_invalid")
    opened = (await planwerk.host.entries(RunId(fork["id"])))[0]
    assert isinstance(opened, journal.RunOpened)
    assert opened.config["system_prompt"] == "Be brief."
    assert opened.forked_changes == {"system_prompt": "Be brief."}
    told = (await client.get(f"/api/runs/{fork['id']}/timeline")).json()["items"][0]["data"]
    assert told["config"] == opened.config


async def test_what_has_reached_its_stop_has_nothing_to_go_on_from(client: httpx2.AsyncClient) -> None:
    thread = await chat(client, "Explain")
    source = thread["messages"][1]["run"]["id"]
    at = await position_of(client, source, "run_ended")

    refused = await client.post(f"/api/runs/{source}/fork", json={"position": at})

    assert (refused.status_code, refused.json()["code"]) == (422, "no_fork_here")
    assert "Take a position from 2 to" in refused.json()["what_to_do"]


async def test_a_run_that_works_is_forked_but_not_replayed(client: httpx2.AsyncClient) -> None:
    source = (await client.post("/api/profiles/endless/runs", json={"event": {}})).json()["run_id"]

    async def has_begun() -> bool:
        return len((await client.get(f"/api/runs/{source}/timeline")).json()["items"]) > 3

    await until(has_begun)
    refused = await client.post(f"/api/runs/{source}/replay")
    made = await client.post(f"/api/runs/{source}/fork", json={"position": 2})
    for run in (source, made.json()["run_id"]):
        await client.post(f"/api/runs/{run}/stop")
        assert (await ended(client, run))["status"] == "stopped"

    assert (refused.status_code, refused.json()["code"]) == (409, "run_not_ended")
    assert made.json()["first"] == ["wait"]


def test_a_merge_patch_sets_resets_and_goes_deep() -> None:
    config = {"a": 1, "b": {"c": 2, "d": 3}, "e": [1]}

    assert merged(config, {"a": None, "b": {"c": 9}, "e": [2], "f": {"g": None, "h": 1}}) == {
        "b": {"c": 9, "d": 3},
        "e": [2],
        "f": {"h": 1},
    }
    assert config["a"] == 1
