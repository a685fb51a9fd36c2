"""The workspace's stream and the run's, over a real port: whole, in order, once, whatever happens on the way (S3)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from planwerk.access.actions import Role
from planwerk.access.actors import UserActor
from planwerk.access.ids import TenantId
from planwerk.app import Planwerk
from planwerk.workflow.ids import MessageId, RunId, ThreadId, WorkspaceId, new_id
from tests.e2e.live_model import LiveModel
from tests.server.live import LiveServer, live_server
from tests.server.reading import Event, logged, named, open_stream, read_eager, read_standard
from tests.server.world import ended, key_of, new_thread, post, until

ODD = "first\u2028second\u2029third\u0085✅ 晴れ 🐢"


@pytest.fixture
def model() -> LiveModel:
    return LiveModel()


@pytest.fixture
async def server(tmp_path: Path, model: LiveModel) -> AsyncGenerator[LiveServer]:
    planwerk = Planwerk(storage=tmp_path / "data.db", model=model)
    async with live_server(planwerk, keep_alive_seconds=0.2) as live:
        yield live


@pytest.fixture
async def client(server: LiveServer) -> AsyncGenerator[httpx2.AsyncClient]:
    async with server.client() as opened:
        yield opened


def workspace_stream(thread: dict[str, Any], **query: Any) -> str:
    params = httpx2.QueryParams({"threads": thread["id"], **query})
    return f"/api/workspaces/{thread['workspace']}/stream?{params}"


def seqs(events: list[Event]) -> list[int]:
    return [int(event.id or 0) for event in events if event.event == "log"]


async def whole_answer(client: httpx2.AsyncClient, model: LiveModel, thread: str, *texts: str) -> str:
    """Ask, let the model say this, and return the run once it has ended."""
    run = (await post(client, thread, "Explain"))["run_id"]
    await model.answer(*texts)
    await ended(client, run)
    return run


async def producing(client: httpx2.AsyncClient, thread: str, amount: int) -> None:
    """Make events of the log, one after the other."""
    for number in range(amount):
        answer = await client.patch(f"/api/threads/{thread}", json={"title": f"Title {new_id()} {number}"})
        assert answer.status_code == 200, answer.text


async def test_without_a_place_the_stream_begins_at_the_head_and_says_where_that_is(client: httpx2.AsyncClient) -> None:
    thread = await new_thread(client)

    async with open_stream(client, workspace_stream(thread)) as stream:
        hello = await stream.next()
        await producing(client, thread["id"], 1)
        following = await stream.next()

    assert (hello.event, hello.json, hello.id) == ("hello", {"head_seq": 2}, None)
    assert (following.event, following.id, following.json["type"]) == ("log", "3", "thread_renamed")
    assert stream.parser.retry == 2000


async def test_from_a_place_the_log_is_replayed_and_then_followed(client: httpx2.AsyncClient) -> None:
    thread = await new_thread(client)
    await producing(client, thread["id"], 3)

    async with open_stream(client, workspace_stream(thread, after=2)) as stream:
        events = [await stream.next() for _ in range(4)]
        await producing(client, thread["id"], 2)
        events += [await stream.next() for _ in range(2)]

    assert seqs(events) == [3, 4, 5, 6, 7]
    log = (await client.get(f"/api/workspaces/{thread['workspace']}/log", params={"after_seq": 2})).json()
    assert [event.json for event in events if event.event == "log"] == log["items"]


async def test_a_place_that_is_not_there_is_answered_with_reset(client: httpx2.AsyncClient) -> None:
    thread = await new_thread(client)

    async with open_stream(client, workspace_stream(thread, after=1000)) as stream:
        events = await stream.until(named("reset"))
        await producing(client, thread["id"], 1)
        following = await stream.next()

    assert events[-1].json == {"head_seq": 2}
    assert following.id == "3"


async def test_the_last_event_id_counts_like_a_place(client: httpx2.AsyncClient) -> None:
    thread = await new_thread(client)
    await producing(client, thread["id"], 3)

    async with open_stream(client, workspace_stream(thread), headers={"Last-Event-ID": "4"}) as stream:
        events = [await stream.next(), await stream.next()]

    assert seqs(events) == [5]


async def test_srv_03_odd_text_is_the_same_in_every_reader_in_mid_answer_and_in_the_log(
    client: httpx2.AsyncClient, model: LiveModel
) -> None:
    thread = await new_thread(client)

    async with open_stream(client, workspace_stream(thread, after=0)) as stream:
        await post(client, thread["id"], ODD)
        await model.answer(ODD)
        events = await stream.until(logged("run_ended"))

    assert read_standard(stream.raw)[: len(events)] != []
    for read in (read_standard, read_eager):
        seen = [event for event in read(stream.raw) if event.event in {"log", "live"}]
        posted = [event.json["data"]["content"] for event in seen if event.event == "log" and "content" in event.data]
        assert posted == [ODD, ODD]
        said = [event.json["text"] for event in seen if event.event == "live" and event.json["type"] == "text_delta"]
        assert "".join(said) == ODD


async def test_a_late_watcher_gets_what_was_said_in_one_snapshot_and_then_the_rest(
    client: httpx2.AsyncClient, model: LiveModel
) -> None:
    thread = await new_thread(client)
    async with open_stream(client, workspace_stream(thread)) as first:
        await post(client, thread["id"], "Explain")
        answer = await model.next_answer()
        answer.says("Half ", "an ")
        await first.until(lambda event: event.event == "live" and event.json.get("text", "").endswith("an "))

    async with open_stream(client, workspace_stream(thread)) as second:
        snapshot = (await second.until(named("live")))[-1].json
        answer.says("answer.")
        answer.ends()
        rest = await second.until(logged("run_ended"))

    parts = snapshot["responses"][0]["parts"]
    assert (snapshot["type"], parts[0]["kind"], parts[0]["text"]) == ("snapshot", "text", "Half an ")
    frames = [event.json for event in rest if event.event == "live"]
    assert all(frame["n"] > snapshot["n"] for frame in frames)
    assert "".join(frame["text"] for frame in frames if frame["type"] == "text_delta") == "answer."
    assert all(event.id is None for event in rest if event.event == "live")
    assert next(event.json for event in rest if logged("message_posted")(event))["data"]["content"] == "Half an answer."


async def test_srv_09_a_hundred_reconnects_at_random_moments_lose_nothing_and_repeat_nothing(
    client: httpx2.AsyncClient,
) -> None:
    thread = await new_thread(client)
    chance = random.Random(9)
    await producing(client, thread["id"], 10)
    seen = [1, 2, 3, 4]
    amount = 200
    making = asyncio.create_task(producing(client, thread["id"], amount))

    reconnects = 0
    while seen[-1] < 12 + amount or reconnects < 100:
        async with open_stream(client, workspace_stream(thread, after=seen[-1])) as stream:
            reconnects += 1
            await stream.next()
            for _ in range(min(chance.randrange(5), 12 + amount - seen[-1])):
                seen += seqs([await stream.next()])
    await making

    assert reconnects >= 100
    assert seen == list(range(1, 13 + amount))


async def test_a_run_read_by_three_and_cut_at_every_entry_is_the_same_run(
    client: httpx2.AsyncClient, model: LiveModel
) -> None:
    thread = await new_thread(client)
    run = await whole_answer(client, model, thread["id"], "An ", "answer ", ODD)
    timeline = (await client.get(f"/api/runs/{run}/timeline")).json()["items"]

    async def read_cut_at(place: int) -> list[Any]:
        async with open_stream(client, f"/api/runs/{run}/stream") as stream:
            seen = [await stream.next() for _ in range(place)]
        async with open_stream(client, f"/api/runs/{run}/stream?after={place}") as stream:
            rest = await stream.rest()
        assert [event.id for event in [*seen, *rest[:-1]]] == [str(item["position"]) for item in timeline]
        assert (rest[-1].event, rest[-1].json) == ("end", {"reason": "complete"})
        return [event.json for event in [*seen, *rest[:-1]]]

    for place in range(1, len(timeline)):
        assert await asyncio.gather(*(read_cut_at(place) for _ in range(3))) == [timeline] * 3


async def test_a_run_is_followed_from_before_it_opens_to_its_end(client: httpx2.AsyncClient, model: LiveModel) -> None:
    thread = await new_thread(client)
    first, second = [(await post(client, thread["id"], text))["run_id"] for text in ("One", "Two")]

    waiting = (await client.get(f"/api/runs/{second}")).json()
    async with open_stream(client, f"/api/runs/{second}/stream") as stream:
        await model.answer("First.")
        await model.answer("Second.")
        events = await stream.rest()

    assert (waiting["status"], waiting["started"], waiting["thread"]) == ("queued", None, thread["id"])
    assert (events[0].json["type"], events[-2].json["type"], events[-1].event) == ("run_opened", "run_ended", "end")
    assert (await ended(client, first))["status"] == "completed"


async def test_a_run_that_waits_can_be_stopped(client: httpx2.AsyncClient, model: LiveModel) -> None:
    thread = await new_thread(client)
    first, second = [(await post(client, thread["id"], text))["run_id"] for text in ("One", "Two")]

    stopped = await client.post(f"/api/runs/{second}/stop")
    await model.answer("First.")

    assert stopped.status_code == 202
    assert (await ended(client, second))["status"] == "stopped"
    assert (await ended(client, first))["status"] == "completed"
    assert model.asked_times == 1


async def test_watched_runs_send_their_entries_in_the_workspace_stream_from_before_they_open(
    client: httpx2.AsyncClient, model: LiveModel
) -> None:
    thread = await new_thread(client)
    run = (await post(client, thread["id"], "Explain"))["run_id"]

    async with open_stream(client, workspace_stream(thread, after=0, runs=run)) as stream:
        await model.answer("An answer.")
        events = await stream.until(lambda event: event.event == "entry" and event.json["type"] == "run_ended")

    entries = [event for event in events if event.event == "entry"]
    assert [event.json["position"] for event in entries] == list(range(1, len(entries) + 1))
    assert all(event.id is None for event in entries)


async def test_who_comes_back_with_the_last_id_of_an_ended_run_is_told_not_to_come_again(
    client: httpx2.AsyncClient, model: LiveModel
) -> None:
    thread = await new_thread(client)
    run = await whole_answer(client, model, thread["id"], "An answer.")
    last = len((await client.get(f"/api/runs/{run}/timeline")).json()["items"])

    again = await client.get(f"/api/runs/{run}/stream", headers={"Last-Event-ID": str(last)})
    async with open_stream(client, f"/api/runs/{run}/stream?after={last}") as stream:
        events = await stream.rest()
    async with open_stream(client, f"/api/runs/{run}/stream?after={last + 5}") as stream:
        beyond = await stream.rest()

    assert again.status_code == 204
    assert [event.event for event in events] == ["end"]
    assert [(event.event, event.json) for event in beyond[:1]] == [("reset", {"position": last})]


async def test_srv_07_readers_that_leave_stop_nothing(
    client: httpx2.AsyncClient, model: LiveModel, server: LiveServer
) -> None:
    thread = await new_thread(client)
    async with open_stream(client, workspace_stream(thread)) as stream:
        run = (await post(client, thread["id"], "Explain"))["run_id"]
        answer = await model.next_answer()
        answer.says("Half ")
        await stream.until(named("live"))

    async def nobody_reads() -> bool:
        return len(server.application.state.streams) == 0

    await until(nobody_reads)
    answer.says("and whole.")
    answer.ends()
    assert (await ended(client, run))["status"] == "completed"
    read = (await client.get(f"/api/threads/{thread['id']}")).json()
    assert read["messages"][-1]["content"] == "Half and whole."


async def test_srv_05_what_a_model_said_before_it_broke_off_is_kept_and_marked(
    client: httpx2.AsyncClient, model: LiveModel
) -> None:
    thread = await new_thread(client)
    async with open_stream(client, workspace_stream(thread)) as stream:
        run = (await post(client, thread["id"], "Explain"))["run_id"]
        answer = await model.next_answer()
        answer.says("A", "B")
        answer.breaks_off(ConnectionError("cut"))
        events = await stream.until(logged("run_ended"))
    record = await ended(client, run)

    reply = next(
        event.json["data"] for event in events if logged("message_posted")(event) and "assistant" in event.data
    )
    reloaded = (await client.get(f"/api/threads/{thread['id']}")).json()["messages"][-1]
    for shown in (reply, reloaded):
        assert (shown["content"], shown["incomplete"]) == ("AB", True)
        assert shown["error"]["code"] == "model_broke_off"
        assert shown["error"]["what_to_do"]
    assert record["status"] == "failed"
    assert reloaded["run"]["status"] == "failed"
    assert (await whole_answer(client, model, thread["id"], "Whole.")) != run


async def test_srv_29_while_a_model_says_nothing_the_stream_shows_that_it_lives(
    client: httpx2.AsyncClient, model: LiveModel
) -> None:
    thread = await new_thread(client)
    async with open_stream(client, workspace_stream(thread)) as stream:
        await post(client, thread["id"], "Explain")
        answer = await model.next_answer()
        await stream.until(logged("run_started"))
        clock = asyncio.get_running_loop().time
        began, silences, events = clock(), list[float](), list[Event]()
        while clock() - began < 1:
            asked = clock()
            events.append(await stream.next(comments=True))
            silences.append(clock() - asked)
        answer.says("At last.")
        answer.ends()
        rest = await stream.until(logged("run_ended"))

    headers = stream.response.headers
    assert max(silences) < 0.5  # a proxy that closes after half the tool's time would not have
    assert [event for event in events if event.event == "comment" and event.id is None]
    assert (headers["cache-control"], headers["x-accel-buffering"]) == ("no-store, no-transform", "no")
    assert any("At last." in event.data for event in rest)


async def test_a_key_that_is_revoked_ends_its_streams(client: httpx2.AsyncClient, server: LiveServer) -> None:
    key = await key_of(server.planwerk, "ben", Role.MEMBER)
    async with server.client(key=key) as ben:
        thread = await new_thread(ben)
        made = next(item for item in (await client.get("/api/keys")).json()["items"] if item["name"] == "test")
        async with open_stream(ben, workspace_stream(thread)) as stream:
            await stream.next()
            assert (await client.delete(f"/api/keys/{made['id']}")).status_code in {200, 204}
            events = await stream.rest()

    assert [(event.event, event.json) for event in events] == [("end", {"reason": "signed_out"})]


async def test_a_role_that_changes_ends_the_streams_read_with_the_old_rights(
    client: httpx2.AsyncClient, server: LiveServer
) -> None:
    key = await key_of(server.planwerk, "ben", Role.BUILDER)
    async with server.client(key=key) as ben:
        thread = await new_thread(ben)
        account = (await ben.get("/api/session")).json()["account"]["id"]
        async with open_stream(ben, workspace_stream(thread)) as stream:
            await stream.next()
            changed = await client.patch(f"/api/accounts/{account}", json={"role": "member"})
            assert changed.status_code == 200, changed.text
            events = await stream.rest()

    assert [event.json for event in events] == [{"reason": "rights_changed"}]


async def test_a_server_that_ends_says_so_to_its_readers(client: httpx2.AsyncClient, server: LiveServer) -> None:
    thread = await new_thread(client)
    async with open_stream(client, workspace_stream(thread)) as stream:
        await stream.next()
        server.application.state.end_streams()
        events = await stream.rest()

    assert [(event.event, event.json) for event in events] == [("end", {"reason": "shutdown"})]


async def test_live_frames_of_a_thread_come_beside_the_log_of_the_whole_workspace(
    client: httpx2.AsyncClient, model: LiveModel
) -> None:
    shown, other = await new_thread(client), await new_thread(client)
    await post(client, shown["id"], "Explain the sea")
    await post(client, other["id"], "Explain the sky")
    answers = {answer.question: answer for answer in (await model.next_answer(), await model.next_answer())}

    async with open_stream(client, f"/api/workspaces/{shown['workspace']}/stream?live={shown['id']}") as stream:
        await stream.next()
        answers["Explain the sky"].says("Blue.")
        answers["Explain the sea"].says("Deep.")
        live = await stream.until(lambda event: event.event == "live" and "Deep." in event.data)
        await producing(client, other["id"], 1)
        log = await stream.until(logged("thread_renamed"))

    for answer in answers.values():
        answer.ends()
    assert "Blue." not in "".join(event.data for event in live + log)
    assert log[-1].json["thread"] == other["id"]


async def test_srv_13_naming_the_run_of_somebody_else_shows_nothing_of_it(
    client: httpx2.AsyncClient, model: LiveModel, server: LiveServer
) -> None:
    thread = await new_thread(client)
    run = (await post(client, thread["id"], "Explain my secret"))["run_id"]
    answer = await model.next_answer()
    async with server.client(key=await key_of(server.planwerk, "eve", Role.OWNER, TenantId("acme"))) as eve:
        own = await new_thread(eve)

        claimed = await eve.post(
            f"/api/threads/{own['id']}/messages", json={"message_id": new_id(), "content": "hi", "run_id": run}
        )
        started = await eve.post("/api/profiles/assistant/runs", json={"message": "hi", "run_id": run})
        watched = await eve.get(workspace_stream(own, runs=run))
        foreign = await eve.get(f"/api/workspaces/{own['workspace']}/stream?threads={thread['id']}")
        heard = await eve.get(f"/api/workspaces/{own['workspace']}/stream?live={thread['id']}")

    statuses = [response.status_code for response in (claimed, started, watched, foreign, heard)]
    assert statuses == [409, 409, 404, 404, 404]
    assert claimed.json()["code"] == "run_id_taken"
    answer.ends()


async def test_srv_13_a_log_that_names_the_run_of_somebody_else_shows_no_word_of_its_answer(
    client: httpx2.AsyncClient, model: LiveModel, server: LiveServer
) -> None:
    """The second lock, for a run id that came into a log in whatever way."""
    thread = await new_thread(client)
    run = RunId((await post(client, thread["id"], "Explain my secret"))["run_id"])
    answer = await model.next_answer()
    async with server.client(key=await key_of(server.planwerk, "eve", Role.OWNER, TenantId("acme"))) as eve:
        own = await new_thread(eve)
        account = (await eve.get("/api/session")).json()["account"]
        await server.planwerk.host.post_message(
            tenant=TenantId("acme"),
            workspace=WorkspaceId(own["workspace"]),
            thread=ThreadId(own["id"]),
            message_id=MessageId(new_id()),
            content="hi",
            actor=UserActor(id=account["id"], name=account["name"]),
            run_id=run,
        )

        async with (
            open_stream(client, workspace_stream(thread)) as hers,
            open_stream(eve, workspace_stream(own, after=0)) as foreign,
        ):
            answer.says("The secret.")
            await hers.until(lambda event: event.event == "live" and "The secret." in event.data)
            await producing(eve, own["id"], 1)
            await foreign.until(logged("thread_renamed"))

    assert "secret" not in foreign.raw.decode()
    answer.ends()


async def test_only_who_may_inspect_sees_prompts_and_costs(
    client: httpx2.AsyncClient, model: LiveModel, server: LiveServer
) -> None:
    config = {"system_prompt": "Say Sesame."}
    made = {"id": "poet", "blueprint": "LLMWrappingAgent", "name": "Poet", "config": config}
    assert (await client.post("/api/profiles", json=made)).status_code == 201

    async def timeline(asking: httpx2.AsyncClient) -> tuple[str, dict[str, Any]]:
        thread = await new_thread(asking, profile="poet")
        run = (await post(asking, thread["id"], "Explain"))["run_id"]
        answer = await model.answer("An answer.")
        assert "Sesame" in str(answer.request.messages)
        record = await ended(asking, run)
        async with open_stream(asking, f"/api/runs/{run}/stream") as stream:
            await stream.rest()
        read = await asking.get(f"/api/runs/{run}/timeline")
        return stream.raw.decode() + read.text, record

    async with server.client(key=await key_of(server.planwerk, "ben", Role.MEMBER)) as ben:
        hidden, _ = await timeline(ben)
    shown, _ = await timeline(client)

    assert "Sesame" in shown
    assert "Sesame" not in hidden
    assert "An answer." in hidden


async def test_many_readers_of_one_thread_read_the_same(client: httpx2.AsyncClient, model: LiveModel) -> None:
    thread = await new_thread(client)

    async def reads() -> list[Any]:
        async with open_stream(client, workspace_stream(thread, after=0)) as stream:
            events = await stream.until(logged("run_ended"))
            return [event.json for event in events if event.event == "log"]

    reading = [asyncio.create_task(reads()) for _ in range(5)]
    await whole_answer(client, model, thread["id"], "One ", "answer.")
    logs = await asyncio.gather(*reading)

    assert all(log == logs[0] for log in logs)
    assert [item["position"] for item in logs[0]] == list(range(1, len(logs[0]) + 1))
