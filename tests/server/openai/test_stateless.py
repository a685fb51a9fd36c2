"""What the key's owner has of a run that answered a request outside any conversation (S4.1, ADR 12)."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from planwerk.access.actions import Role
from planwerk.app import Planwerk
from planwerk.messages.events import UserMessageEvent
from planwerk.models import Answering
from planwerk.runtime.contexts import RunContext, ThreadContext
from planwerk.runtime.wire import wire_time
from planwerk.testing import ScriptedModel, Stream
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import StopEvent
from planwerk.workflow.ids import RunId, new_id
from planwerk.workflow.steps import step
from tests.server.live import LiveServer, live_server
from tests.server.openai.asking import URL, body, threads_of, user
from tests.server.world import ended, key_of

DAY = 86_400_000_000
SECRET = "chrysanthemum"
HISTORY = (user("Which plans exist?"), {"role": "assistant", "content": "Basic and Pro."}, user(f"Explain {SECRET}"))
BOTH = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


class StatelessStop(StopEvent):
    text: str


class Counting(Agent):
    """Remembers in its contexts what it was asked."""

    @step()
    async def count(
        self, message: UserMessageEvent, thread: ThreadContext, run: RunContext, answering: Answering
    ) -> StatelessStop:
        answer = await answering.answer(message.messages)
        await thread.set("answer", answer.text)
        await run.set("answer", answer.text)
        return StatelessStop(text=answer.text)


class Clock:
    """The installation's time; tests move it."""

    microseconds = 1_767_225_600_000_000

    def __call__(self) -> int:
        self.microseconds += 1
        return self.microseconds


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel([f"Pro is {SECRET}.", "Second.", "Third."])


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def server(model: ScriptedModel, clock: Clock, tmp_path: Path) -> AsyncGenerator[LiveServer]:
    async with live_server(Planwerk(model=model, storage=tmp_path / "data.db", clock=clock)) as live:
        yield live


@pytest.fixture
async def owner(server: LiveServer) -> AsyncGenerator[httpx2.AsyncClient]:
    async with server.client() as client:
        yield client


async def answered(client: httpx2.AsyncClient, *, stream: bool = False) -> str:
    """The run that answered, as the answer names it."""
    answer = await client.post(URL, json=body(*HISTORY, stream=stream))
    assert answer.status_code == 200, answer.text
    run = answer.headers["X-Planwerk-Run"]
    assert (await ended(client, run))["status"] == "completed"
    return run


async def runs_of(client: httpx2.AsyncClient) -> list[str]:
    return [run["id"] for run in (await client.get("/api/runs")).json()["items"]]


@BOTH
async def test_the_answer_names_its_run_and_the_run_shows_what_was_said(
    owner: httpx2.AsyncClient, clock: Clock, stream: bool
) -> None:
    run = await answered(owner, stream=stream)

    record = (await owner.get(f"/api/runs/{run}")).json()
    workspace = (await owner.get("/api/workspaces")).json()["items"][0]["id"]
    assert (record["workspace"], record["thread"]) == (workspace, None)
    assert record["started"] < record["expires"] <= wire_time(clock.microseconds + DAY)
    timeline = str((await owner.get(f"/api/runs/{run}/timeline")).json())
    for said in ("Which plans exist?", "Basic and Pro.", f"Explain {SECRET}", f"Pro is {SECRET}."):
        assert said in timeline
    streamed = await owner.get(f"/api/runs/{run}/stream")
    assert f"Pro is {SECRET}." in streamed.text
    assert "run_ended" in streamed.text


async def test_it_is_among_the_owners_runs_and_in_no_list_of_chats_and_not_in_the_log(
    owner: httpx2.AsyncClient, server: LiveServer
) -> None:
    workspace = (await owner.get("/api/workspaces")).json()["items"][0]["id"]
    log = f"/api/workspaces/{workspace}/log"
    head = (await owner.get(log)).json()["head_seq"]

    runs = [await answered(owner), await answered(owner)]

    assert await runs_of(owner) == runs[::-1]
    assert await threads_of(server) == []
    assert (await owner.get(log)).json()["head_seq"] == head


async def test_it_is_nobody_elses(owner: httpx2.AsyncClient, server: LiveServer) -> None:
    run = await answered(owner)

    async with server.client(key=await key_of(server.planwerk, "olga", Role.OWNER)) as other:
        asked = [await other.get(f"/api/runs/{run}{part}") for part in ("", "/timeline", "/graph", "/stream")]
        asked.append(await other.post(f"/api/runs/{run}/stop"))
        assert [answer.status_code for answer in asked] == [404] * 5
        assert await runs_of(other) == []


class TestStopping:
    @pytest.fixture
    def model(self) -> ScriptedModel:
        return ScriptedModel([Stream("One ", "two ", 3_600.0, "three")])

    async def test_its_owner_stops_it_by_its_id_while_its_client_waits(
        self, owner: httpx2.AsyncClient, server: LiveServer, model: ScriptedModel
    ) -> None:
        text = ""
        async with asyncio.timeout(20), owner.stream("POST", URL, json=body(stream=True)) as answer:
            run = answer.headers["X-Planwerk-Run"]
            async for piece in answer.aiter_text():
                text += piece
                if "two" in text and "error" not in text:
                    async with server.client() as another:
                        assert (await another.post(f"/api/runs/{run}/stop")).status_code == 202

        record = await ended(owner, run)
        assert (record["status"], record["error"]["code"]) == ("stopped", "run_stopped")
        assert record["started_by"]["name"] in record["error"]["message"]
        assert "run_stopped" in text
        assert "[DONE]" not in text
        assert model.open_streams == 0


class TestFailing:
    @pytest.fixture
    def model(self) -> ScriptedModel:
        return ScriptedModel([ConnectionError("gone")] * 9)

    @BOTH
    async def test_an_answer_that_failed_names_its_run_too(self, owner: httpx2.AsyncClient, stream: bool) -> None:
        answer = await owner.post(URL, json=body(stream=stream))

        record = await ended(owner, answer.headers["X-Planwerk-Run"])
        assert record["status"] == "failed"
        assert record["error"]["code"] in answer.text


class TestDeletion:
    @pytest.fixture
    async def server(self, model: ScriptedModel, clock: Clock, tmp_path: Path) -> AsyncGenerator[LiveServer]:
        planwerk = Planwerk([Counting], model=model, storage=tmp_path / "data.db", clock=clock)
        async with live_server(planwerk) as live:
            yield live

    async def test_after_a_day_nothing_of_it_is_left_in_any_table(
        self, server: LiveServer, clock: Clock, tmp_path: Path
    ) -> None:
        def left(*words: str) -> list[str]:
            """The tables in which one of the words stands."""
            with sqlite3.connect(tmp_path / "data.db") as connection:
                tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
                rows = {table: str(connection.execute(f'SELECT * FROM "{table}"').fetchall()) for table in tables}
            return sorted(table for table, text in rows.items() if any(word in text for word in words))

        async with server.client() as owner:
            answer = await owner.post(URL, json=body(*HISTORY, model="counting"))
            assert answer.status_code == 200, answer.text
            run = answer.headers["X-Planwerk-Run"]
            await ended(owner, run)
            housekeeping = server.planwerk.housekeeping
            await server.planwerk.worker.request_stop(RunId(run), "Anna")  # it came when the run had just ended

            clock.microseconds += DAY - 1_000_000
            kept = await housekeeping.forget_expired()
            before = left(run, SECRET)
            clock.microseconds += 1_000_000
            deleted = await housekeeping.forget_expired()

            assert (kept, deleted) == (0, 1)
            assert before == ["contents", "contexts", "journal_appends", "run_records"]
            assert left(run, SECRET) == []
            assert (await owner.get(f"/api/runs/{run}")).status_code == 404
            assert await runs_of(owner) == []


class TestListing:
    async def test_runs_are_listed_a_page_at_a_time(self, owner: httpx2.AsyncClient) -> None:
        runs = [await answered(owner) for _ in range(3)]

        first = (await owner.get("/api/runs", params={"limit": 2})).json()
        rest = (await owner.get("/api/runs", params={"limit": 2, "cursor": first["next"]})).json()

        assert [run["id"] for run in (*first["items"], *rest["items"])] == runs[::-1]
        assert rest["next"] is None

    @pytest.mark.parametrize("cursor", ["", "x", "7", "7.", "-1.a", f"{'9' * 30}.{new_id()}", "٣.a"])
    async def test_a_cursor_that_no_page_gave_is_refused(self, owner: httpx2.AsyncClient, cursor: str) -> None:
        answer = await owner.get("/api/runs", params={"cursor": cursor})

        problem: Any = answer.json()
        assert (answer.status_code, problem["code"]) == (422, "cursor_invalid")
