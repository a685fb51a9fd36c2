"""Schedules over REST: given with a profile, listed for who may edit it, run by hand, and failures put away (E8.3)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from planwerk.access.actions import Role
from planwerk.app import Planwerk
from planwerk.server.application import create_app
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import StartEvent, StopEvent
from planwerk.workflow.ids import new_id
from planwerk.workflow.people import HumanInTheLoop
from planwerk.workflow.steps import step
from tests.runtime.test_scheduling import Clock
from tests.server.world import ended, key_of, until

CRON = {"cron": "0 7 * * MON-FRI", "zone": "Europe/Zurich", "event": {"topic": "news"}}


class DigestStart(StartEvent):
    topic: str


class DigestStop(StopEvent):
    text: str


class Digest(Agent):
    """Asks a person where the topic is unclear, and fails at nothing but `broken`."""

    @step()
    async def ask(self, start: DigestStart) -> HumanInTheLoop.Input | DigestStop:
        if start.topic == "broken":
            raise ValueError("no such topic")
        if start.topic == "unclear":
            return HumanInTheLoop.Input(question="Which topic?")
        return DigestStop(text=start.topic)

    @step()
    async def end(self, answer: HumanInTheLoop.Input.Answered) -> DigestStop:
        return DigestStop(text=answer.text)


@pytest.fixture
async def served(tmp_path: Path) -> AsyncGenerator[dict[Role, httpx2.AsyncClient]]:
    """A client for each role; the clock began on a Tuesday, at 5:00 in UTC."""
    planwerk = Planwerk([Digest], storage=tmp_path / "data.db", clock=Clock("2026-12-01T05:00:00+00:00"))
    async with planwerk:
        clients: dict[Role, httpx2.AsyncClient] = {}
        for role in (Role.BUILDER, Role.MEMBER):
            headers = {"Authorization": f"Bearer {await key_of(planwerk, role.value, role)}"}
            transport = httpx2.ASGITransport(app=create_app(planwerk))
            clients[role] = httpx2.AsyncClient(transport=transport, base_url="http://testserver", headers=headers)
        yield clients
        for client in clients.values():
            await client.aclose()


@pytest.fixture
def builder(served: dict[Role, httpx2.AsyncClient]) -> httpx2.AsyncClient:
    return served[Role.BUILDER]


@pytest.fixture
def member(served: dict[Role, httpx2.AsyncClient]) -> httpx2.AsyncClient:
    return served[Role.MEMBER]


async def change(client: httpx2.AsyncClient, schedule: dict[str, Any] | None) -> httpx2.Response:
    return await client.patch("/api/profiles/digest", json={"schedule": schedule})


async def run_now(client: httpx2.AsyncClient) -> dict[str, Any]:
    started = await client.post("/api/profiles/digest/schedule/run", headers={"Idempotency-Key": new_id()})
    assert started.status_code == 202, started.text
    return await ended(client, started.json()["run_id"])


async def test_a_schedule_shows_its_next_three_times(builder: httpx2.AsyncClient) -> None:
    changed = (await change(builder, CRON)).json()

    assert changed["schedule"]["next"] == [f"2026-12-0{day}T06:00:00.000000Z" for day in (1, 2, 3)]
    assert changed["schedule"] | {"next": []} == {
        **CRON,
        "message": None,
        "locale": None,
        "catch_up_seconds": 3_600.0,
        "while_running": "skip",
        "enabled": True,
        "next": [],
        "problem": None,
    }
    paused = (await change(builder, {"enabled": False})).json()["schedule"]
    assert (paused["cron"], paused["next"]) == (CRON["cron"], [])
    assert (await change(builder, None)).json()["schedule"] is None


async def test_a_new_profile_may_have_a_schedule(builder: httpx2.AsyncClient) -> None:
    given = {"id": "weekly", "blueprint": "Digest", "name": "Weekly", "schedule": CRON}

    made = await builder.post("/api/profiles", json=given)
    refused = await builder.post("/api/profiles", json={**given, "id": "other", "schedule": {"cron": "0 7 * * *"}})

    assert (made.status_code, made.json()["schedule"]["zone"]) == (201, "Europe/Zurich")
    assert (refused.status_code, refused.json()["code"]) == (422, "profile_invalid")
    assert "`message` or `event`" in refused.json()["detail"]


@pytest.mark.parametrize(
    ("schedule", "code"),
    [
        ({**CRON, "cron": "61 * * * *"}, "cron_invalid"),
        ({**CRON, "cron": "0 0 31 2 *"}, "cron_never_due"),
        ({**CRON, "cron": "* * * * *"}, "schedule_too_often"),
        ({**CRON, "zone": "Zurich"}, "zone_unknown"),
        ({**CRON, "event": {}}, "schedule_start_invalid"),
        ({"event": {"topic": "news"}}, "profile_invalid"),
    ],
)
async def test_what_cannot_be_kept_is_a_problem_that_says_what_to_do(
    builder: httpx2.AsyncClient, schedule: dict[str, Any], code: str
) -> None:
    refused = await change(builder, schedule)

    assert (refused.status_code, refused.json()["code"]) == (422, code)
    assert refused.json()["what_to_do"]


async def test_run_now_is_a_run_of_the_schedule_and_stands_in_its_list(builder: httpx2.AsyncClient) -> None:
    await change(builder, CRON)

    run = await run_now(builder)

    assert run["status"] == "completed"
    assert run["started_by"] == {"kind": "system", "name": "schedule of digest"}
    assert run["scheduled"] is not None
    (listed,) = (await builder.get("/api/schedules")).json()["items"]
    assert (listed["profile"], listed["profile_name"]) == ("digest", "Digest")
    assert listed["recent"] == [
        {
            "time": run["scheduled"],
            "outcome": "started",
            "run": run["id"],
            "status": "completed",
            "error": None,
            "by": "Builder",
            "passed_over": False,
        }
    ]
    assert (await builder.get("/api/profiles/digest/schedule")).json() == listed
    assert [each["id"] for each in (await builder.get("/api/runs?scheduled=true")).json()["items"]] == [run["id"]]
    assert (await builder.get("/api/runs")).json()["items"] == []


async def test_a_repeated_run_now_is_one_run(builder: httpx2.AsyncClient) -> None:
    await change(builder, CRON)

    ids = {
        (await builder.post("/api/profiles/digest/schedule/run", headers={"Idempotency-Key": "once"})).json()["run_id"]
        for _ in range(3)
    }

    assert len(ids) == 1


async def test_a_profile_without_a_schedule_says_so(builder: httpx2.AsyncClient) -> None:
    for answer in (
        await builder.get("/api/profiles/digest/schedule"),
        await builder.post("/api/profiles/digest/schedule/run"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (404, "schedule_not_found")


async def test_members_see_no_schedule_and_none_of_its_runs(
    builder: httpx2.AsyncClient, member: httpx2.AsyncClient
) -> None:
    await change(builder, {**CRON, "event": {"topic": "broken"}})
    run = await run_now(builder)

    assert (await member.get("/api/schedules")).json()["items"] == []
    assert (await member.get("/api/schedules/failures")).json()["items"] == []
    assert (await member.get("/api/runs?scheduled=true")).json()["items"] == []
    assert (await member.get(f"/api/runs/{run['id']}")).status_code == 404
    assert (await member.get("/api/profiles/digest")).json()["schedule"] is None
    assert (await builder.get(f"/api/runs/{run['id']}/timeline")).status_code == 200


async def test_a_failure_waits_until_it_is_put_away(builder: httpx2.AsyncClient) -> None:
    await change(builder, {**CRON, "event": {"topic": "broken"}})
    runs = [await run_now(builder), await run_now(builder)]

    (failure,) = (await builder.get("/api/schedules/failures")).json()["items"]
    assert (failure["profile"], failure["run"], failure["failures"]) == ("digest", runs[1]["id"], 2)
    assert failure["error"]["code"] == "step_failed"

    put_away = await builder.post("/api/profiles/digest/schedule/dismiss", json={"run": failure["run"]})

    assert put_away.status_code == 204
    assert (await builder.get("/api/schedules/failures")).json()["items"] == []


async def test_what_a_scheduled_run_asks_waits_in_the_inbox_of_who_may_edit_it(
    builder: httpx2.AsyncClient, member: httpx2.AsyncClient
) -> None:
    await change(builder, {**CRON, "event": {"topic": "unclear"}})
    run = (await builder.post("/api/profiles/digest/schedule/run")).json()["run_id"]
    waiting: list[dict[str, Any]] = []

    async def asks() -> bool:
        waiting[:] = (await builder.get("/api/inbox")).json()["items"]
        return bool(waiting)

    await until(asks)
    assert (await member.get("/api/inbox")).json()["items"] == []
    busy = await builder.post("/api/profiles/digest/schedule/run")
    assert (busy.status_code, busy.json()["code"]) == (409, "schedule_still_running")
    assert run in busy.json()["detail"]

    answered = await builder.post(f"/api/requests/{waiting[0]['id']}/answer", json={"answer": {"text": "sports"}})

    assert answered.status_code == 202
    assert (await ended(builder, run))["status"] == "completed"


async def test_a_scheduled_run_is_stopped_like_any_other(builder: httpx2.AsyncClient) -> None:
    await change(builder, {**CRON, "event": {"topic": "unclear"}})
    run = (await builder.post("/api/profiles/digest/schedule/run")).json()["run_id"]

    assert (await builder.post(f"/api/runs/{run}/stop")).status_code == 202

    assert (await ended(builder, run))["status"] == "stopped"
