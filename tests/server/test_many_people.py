"""Many at once: tenants that share a blueprint, work that blocks, messages sent again, a server that restarts."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import defaultdict
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from structlog.contextvars import get_contextvars

from planwerk.access.actions import Role
from planwerk.access.ids import DEFAULT_TENANT, TenantId
from planwerk.app import Planwerk
from planwerk.blueprints.llm_wrapping_agent import LLMWrappingAgent
from planwerk.messages.events import UserMessageEvent
from planwerk.messages.prompts import last_user_prompt
from planwerk.runtime.execution import ExecutionContext
from planwerk.testing import ScriptedModel
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import StopEvent
from planwerk.workflow.ids import new_id
from planwerk.workflow.injection import injectable
from planwerk.workflow.steps import step
from tests.e2e.live_model import LiveModel
from tests.e2e.served import Served
from tests.server.live import live_server
from tests.server.reading import Event, logged, named, open_stream
from tests.server.world import answered, chat, ended, key_of, new_thread, post

log = logging.getLogger("tests.whoami")


@injectable
@dataclass(frozen=True, slots=True)
class WhoAsks:
    """Who a run belongs to."""

    tenant: str
    person: str


class ManyAnsweredStopEvent(StopEvent):
    text: str


class Meeting:
    """Lets two who come go on together, so that each works while the other one does."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._there: dict[str, int] = defaultdict(int)

    async def together(self, name: str) -> None:
        self._there[name] += 1
        if self._there[name] == 2:
            self._waiting[name].set()
        await self._waiting[name].wait()


MEETING = Meeting()
GATE = threading.Event()
BLOCKED = threading.Event()


class Whoami(Agent):
    """Says who asks, before and after others were at work."""

    @step()
    async def answer(self, message: UserMessageEvent, who: WhoAsks) -> ManyAnsweredStopEvent:
        question = last_user_prompt(message.messages)
        log.info("begins for %s", who.tenant)
        await MEETING.together(question)
        log.info("ends for %s", who.tenant)
        assert message.user is not None
        return ManyAnsweredStopEvent(text=f"{question}: {who.tenant}/{who.person}/{message.user.name}")


class Blocking(Agent):
    """Works with a library that blocks, and hands it to a thread as the guide says."""

    @step()
    async def answer(self, message: UserMessageEvent) -> ManyAnsweredStopEvent:
        return ManyAnsweredStopEvent(text=await asyncio.to_thread(self._work, len(message.messages)))

    @staticmethod
    def _work(count: int) -> str:
        BLOCKED.set()
        GATE.wait(20)
        return f"worked on {count}"


def who_asks(context: ExecutionContext) -> WhoAsks:
    return WhoAsks(context.run.tenant, str(context.run.actor["name"]))


class Kept(logging.Handler):
    """Keeps each line with the context it was logged in."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[str, dict[str, Any]]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append((record.getMessage(), dict(get_contextvars())))


@pytest.fixture
def kept() -> AsyncGenerator[Kept] | Any:
    handler, level = Kept(), log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    yield handler
    log.removeHandler(handler)
    log.setLevel(level)


async def test_srv_13_two_tenants_that_use_one_blueprint_at_once_never_meet(tmp_path: Path, kept: Kept) -> None:
    pairs = 100
    planwerk = Planwerk([Whoami], storage=tmp_path / "data.db", providers=[(WhoAsks, who_asks)])
    async with live_server(planwerk) as server:
        keys = {
            "acme": await key_of(planwerk, "ada", Role.MEMBER, TenantId("acme")),
            DEFAULT_TENANT: await key_of(planwerk, "ben", Role.MEMBER),
        }

        async def asks(tenant: str, client: httpx2.AsyncClient, number: int) -> None:
            thread = await new_thread(client, profile="whoami")
            url = f"/api/workspaces/{thread['workspace']}/stream?threads={thread['id']}"
            async with open_stream(client, url) as stream:
                await post(client, thread["id"], f"pair {number}")
                await stream.until(logged("run_ended"))
            read = (await client.get(f"/api/threads/{thread['id']}")).json()
            person = "Ada" if tenant == "acme" else "Ben"
            contents = [message["content"] for message in read["messages"]]
            assert contents == [f"pair {number}", f"pair {number}: {tenant}/{person}/{person}"]
            assert {message["actor"]["name"] for message in read["messages"]} == {person, "Whoami"}

        async with server.client(key=keys["acme"]) as acme, server.client(key=keys[DEFAULT_TENANT]) as default:
            for begin in range(0, pairs, 20):  # twenty pairs at a time, as many as the clients have connections for
                await asyncio.gather(
                    *(asks("acme", acme, number) for number in range(begin, begin + 20)),
                    *(asks(DEFAULT_TENANT, default, number) for number in range(begin, begin + 20)),
                )

    assert len(kept.lines) == 4 * pairs
    for message, context in kept.lines:
        assert message.rpartition(" ")[2] == context["tenant"]
        assert context["run"]
        assert context["thread"]


async def test_srv_15_the_same_message_three_times_is_one_message_and_one_run(tmp_path: Path) -> None:
    model = ScriptedModel(["One.", "Two.", "Three."])
    async with live_server(Planwerk(storage=tmp_path / "data.db", model=model)) as server, server.client() as client:
        thread = (await new_thread(client))["id"]
        first = {"message_id": new_id(), "content": "Explain"}
        replies = await asyncio.gather(*(client.post(f"/api/threads/{thread}/messages", json=first) for _ in range(3)))
        second, third = await post(client, thread, "ok"), await post(client, thread, "ok")
        changed = await client.post(f"/api/threads/{thread}/messages", json={**first, "content": "Explain more"})
        await ended(client, third["run_id"])
        read = (await client.get(f"/api/threads/{thread}")).json()

    assert [reply.status_code for reply in replies] == [202] * 3
    assert len({reply.json()["run_id"] for reply in replies}) == 1
    assert second["run_id"] != third["run_id"]
    assert (changed.status_code, changed.json()["code"]) == (409, "invalid_state")
    assert [message["content"] for message in read["messages"] if message["role"] == "user"] == ["Explain", "ok", "ok"]
    assert [message["content"] for message in read["messages"] if message["run"]] == ["One.", "Two.", "Three."]
    assert len(model.answer_requests) == 3


async def test_srv_27_work_that_blocks_in_a_thread_holds_up_nobody(tmp_path: Path) -> None:
    GATE.clear()
    model = LiveModel()
    planwerk = Planwerk([LLMWrappingAgent, Blocking], storage=tmp_path / "data.db", model=model)
    async with live_server(planwerk) as server, server.client() as client:
        blocking = await new_thread(client, profile="blocking")
        run = (await post(client, blocking["id"], "Work"))["run_id"]
        assert await asyncio.to_thread(BLOCKED.wait, 20)

        thread = await new_thread(client)
        async with open_stream(
            client, f"/api/workspaces/{thread['workspace']}/stream?threads={thread['id']}"
        ) as stream:
            other = (await post(client, thread["id"], "Explain"))["run_id"]
            answer = await model.next_answer()
            for word in ("Word ", "by ", "word."):
                answer.says(word)
                await stream.until(lambda event, word=word: event.event == "live" and word in event.data)
                assert (await client.get("/health/live")).status_code == 200
            answer.ends()
            await stream.until(logged("run_ended"))

        still = (await client.get(f"/api/runs/{run}")).json()
        GATE.set()
        await ended(client, run)
        read = (await client.get(f"/api/threads/{blocking['id']}")).json()

    assert still["status"] == "running"
    assert other != run
    assert read["messages"][-1]["content"] == "worked on 1"


class TestRestart:
    @pytest.fixture
    async def served(self, tmp_path: Path) -> AsyncGenerator[Served]:
        served = Served(tmp_path, LiveModel())
        await served.start()
        yield served
        await served.stop()

    async def test_ui_09_a_restart_in_mid_answer_loses_nothing_and_the_thread_goes_on(self, served: Served) -> None:
        model = served.model
        key = (await served.planwerk.access.set_local_key(None)).text
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx2.AsyncClient(base_url=served.url, headers=headers, timeout=30) as client:
            thread = await new_thread(client)
            url = f"/api/workspaces/{thread['workspace']}/stream?threads={thread['id']}"
            seen: list[Event] = []
            async with open_stream(client, f"{url}&after=0") as stream:
                run = (await post(client, thread["id"], "First question"))["run_id"]
                (await model.next_answer()).says("Half of ")
                seen += await stream.until(named("live"))
                served.application.state.end_streams()
                seen += await stream.rest()
            await served.planwerk.stop(seconds=0)  # hand the run over at once: it would wait for the test
            await served.stop()
            assert seen[-1].json == {"reason": "shutdown"}

            await served.start()
            last = max(int(event.id) for event in seen if event.id)
            async with open_stream(client, f"{url}&after={last}") as stream:
                await model.answer("The whole answer.")
                seen += await stream.until(logged("run_ended"))
                second = (await post(client, thread["id"], "Second question"))["run_id"]
                await model.answer("Another answer.")
                seen += await stream.until(logged("run_ended"))
            read = (await client.get(f"/api/threads/{thread['id']}")).json()

        assert [message["content"] for message in read["messages"]] == [
            "First question",
            "The whole answer.",
            "Second question",
            "Another answer.",
        ]
        assert [message["parent_id"] for message in read["messages"]][1:] == [
            message["id"] for message in read["messages"]
        ][:-1]
        positions = [int(event.id) for event in seen if event.event == "log" and event.id]
        assert positions == list(range(1, positions[-1] + 1))
        told = [event.json["data"]["content"] for event in seen if logged("message_posted")(event)]
        assert told == [message["content"] for message in read["messages"]]
        assert {message["run"]["id"] for message in read["messages"] if message["run"]} == {run, second}


async def test_srv_25_half_characters_are_the_same_in_store_stream_and_the_next_request(tmp_path: Path) -> None:
    model = ScriptedModel(["ok \ud83d done 😀", "Next."], tasks={"title": "t \ud83d 😀"})
    async with live_server(Planwerk(storage=tmp_path / "odd.db", model=model)) as server, server.client() as client:
        thread = await chat(client, "Explain 😀")
        url = f"/api/workspaces/{thread['workspace']}/stream?threads={thread['id']}&after=0"
        async with open_stream(client, url) as stream:
            events = await stream.until(logged("run_ended"))
        await answered(client, thread["id"], "And now?")

    streamed = [event.json["data"]["content"] for event in events if logged("message_posted")(event)]
    titles = [event.json["data"]["title"] for event in events if logged("thread_renamed")(event)]
    stored = [message["content"] for message in thread["messages"]]
    assert streamed == stored == ["Explain 😀", "ok \ufffd done 😀"]
    assert titles == [thread["title"]] == ["t \ufffd 😀"]
    assert "ok \ufffd done 😀" in str(model.answer_requests[-1].messages)
