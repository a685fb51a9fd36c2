"""The REST surface as a client sees it: chats from the first message on, profiles, errors of one shape (S2)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from planwerk.access.actions import Role
from planwerk.app import Planwerk
from planwerk.server.application import create_app
from planwerk.server.authentication import IN_PROCESS
from planwerk.testing import ScriptedModel, Stream
from planwerk.workflow.ids import new_id
from tests.server.world import answered, chat, ended, key_of


class InProcess:
    """The application in this process, as seen by one principal."""

    def __init__(self, planwerk: Planwerk) -> None:
        self.planwerk = planwerk
        self.application = create_app(planwerk, message_bytes=10_000)

    def client(self, key: str | None) -> httpx2.AsyncClient:
        transport = httpx2.ASGITransport(app=self.application)
        headers = {"Authorization": f"Bearer {key}"} if key is not None else {}
        return httpx2.AsyncClient(transport=transport, base_url="http://testserver", headers=headers)


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(["One.", "Two.", "Three.", "Four."], tasks={"title": "A title"})


@pytest.fixture
async def server(tmp_path: Path, model: ScriptedModel) -> AsyncGenerator[InProcess]:
    async with Planwerk(storage=tmp_path / "data.db", model=model) as planwerk:
        yield InProcess(planwerk)


@pytest.fixture
async def client(server: InProcess) -> AsyncGenerator[httpx2.AsyncClient]:
    key = (await server.planwerk.access.set_local_key(None)).text
    async with server.client(key) as opened:
        yield opened


async def test_a_chat_from_its_first_message_to_its_title(client: httpx2.AsyncClient) -> None:
    thread = await chat(client, "Explain cricket")

    assert [(message["role"], message["content"]) for message in thread["messages"]] == [
        ("user", "Explain cricket"),
        ("assistant", "One."),
    ]
    assert (thread["title"], thread["title_source"]) == ("A title", "suggested")
    assert thread["messages"][1]["run"]["status"] == "completed"
    listed = (await client.get(f"/api/workspaces/{thread['workspace']}/threads")).json()
    assert [item["id"] for item in listed["items"]] == [thread["id"]]
    assert listed["items"][0]["profile_name"] == "Assistant"


async def test_the_log_is_read_by_place_and_by_thread(client: httpx2.AsyncClient) -> None:
    thread = await chat(client, "Explain cricket")
    log = f"/api/workspaces/{thread['workspace']}/log"

    whole = (await client.get(log)).json()
    newest = (await client.get(log, params={"threads": thread["id"], "last": 2})).json()

    assert [item["position"] for item in whole["items"]] == list(range(1, whole["head_seq"] + 1))
    assert [item["position"] for item in newest["items"]] == [whole["head_seq"] - 1, whole["head_seq"]]
    assert all(item["v"] == 1 and item["tenant"] == "default" for item in whole["items"])


async def test_a_run_shows_its_timeline_its_graph_and_what_it_used(client: httpx2.AsyncClient) -> None:
    thread = await chat(client, "Explain cricket")
    run = thread["messages"][1]["run"]["id"]

    record = (await client.get(f"/api/runs/{run}")).json()
    timeline = (await client.get(f"/api/runs/{run}/timeline")).json()
    part = (await client.get(f"/api/runs/{run}/timeline", params={"after": 3, "limit": 2})).json()
    graph = (await client.get(f"/api/runs/{run}/graph")).json()

    assert record["usage"]["output_tokens"] > 0
    assert record["started_by"]["kind"] == "user"
    types = [item["type"] for item in timeline["items"]]
    assert types[0] == "run_opened"
    assert types[-1] == "run_ended"
    assert timeline["ended"]
    assert [item["position"] for item in part["items"]] == [4, 5]
    assert part["next"] == 5
    assert {"begin", "Conversation.gate"} <= {node["id"] for node in graph["nodes"]}
    due = [item["data"] for item in timeline["items"] if item["type"] == "execution_due"]
    assert {"Conversation.gate", "begin"} <= {item["step"] for item in due}
    assert next(item for item in due if item["step"] == "Conversation.gate")["call_path"] == ["Conversation"]


async def test_a_message_is_idempotent_and_another_text_is_refused(client: httpx2.AsyncClient) -> None:
    thread = await chat(client)
    body = {"message_id": new_id(), "content": "Explain"}
    path = f"/api/threads/{thread['id']}/messages"

    replies = await asyncio.gather(*(client.post(path, json=body) for _ in range(3)))
    other = await client.post(path, json={**body, "content": "something else"})

    assert {reply.json()["run_id"] for reply in replies} == {replies[0].json()["run_id"]}
    assert other.status_code == 409
    assert other.json()["code"] == "invalid_state"


async def test_a_title_is_changed_only_on_the_version_that_was_read(client: httpx2.AsyncClient) -> None:
    thread = await chat(client)
    path = f"/api/threads/{thread['id']}"
    tag = (await client.get(path)).headers["etag"]

    both = [client.patch(path, json={"title": title}, headers={"If-Match": tag}) for title in ("Mine", "Other")]
    renamed, refused = sorted(await asyncio.gather(*both), key=lambda response: response.status_code)
    stale = await client.patch(path, json={"title": "Late"}, headers={"If-Match": tag})
    await answered(client, thread["id"], "Explain")

    assert (renamed.status_code, refused.status_code) == (200, 412)
    assert (stale.status_code, stale.json()["code"]) == (412, "title_changed")
    assert (await client.get(path)).json()["title"] == renamed.json()["title"]


async def test_answering_again_makes_a_sibling(client: httpx2.AsyncClient) -> None:
    thread = await chat(client, "Explain")
    question = thread["messages"][0]["id"]

    again = await client.post(f"/api/threads/{thread['id']}/runs", json={"message_id": question, "run_id": new_id()})
    await ended(client, again.json()["run_id"])

    messages = (await client.get(f"/api/threads/{thread['id']}")).json()["messages"]
    assert [message["parent_id"] for message in messages if message["role"] == "assistant"] == [question, question]


async def test_a_run_is_started_by_rest_alone(client: httpx2.AsyncClient) -> None:
    run = new_id()
    started = await client.post("/api/profiles/assistant/runs", json={"message": "Explain", "run_id": run})
    repeated = await client.post("/api/profiles/assistant/runs", json={"message": "Explain", "run_id": run})

    assert repeated.status_code == 202, repeated.text
    record = await ended(client, run)

    assert (started.status_code, repeated.json()["run_id"]) == (202, run)
    assert started.headers["location"] == f"/api/runs/{run}"
    assert record["thread"] is None
    assert record["status"] == "completed"


async def test_a_run_that_is_asked_for_again_with_the_same_key_is_the_same_run(client: httpx2.AsyncClient) -> None:
    async def start(key: str) -> str:
        headers = {"Idempotency-Key": key}
        started = await client.post("/api/profiles/assistant/runs", json={"message": "Explain"}, headers=headers)
        assert started.status_code == 202, started.text
        return started.json()["run_id"]

    first, again, other = await start("order 66"), await start("order 66"), await start("order 67")

    assert first == again != other
    assert (await ended(client, first))["status"] == "completed"


async def test_profiles_are_made_changed_and_versioned(client: httpx2.AsyncClient) -> None:
    made = await client.post(
        "/api/profiles",
        json={
            "id": "poet",
            "blueprint": "LLMWrappingAgent",
            "name": {"en": "Poet", "de": "Dichterin"},
            "starters": ["Write a poem"],
            "config": {"system_prompt": "Rhyme."},
        },
    )
    tag = made.headers["etag"]
    changed = await client.patch("/api/profiles/poet", json={"description": "Rhymes."}, headers={"If-Match": tag})
    stale = await client.patch("/api/profiles/poet", json={"description": "Late."}, headers={"If-Match": tag})
    wrong = await client.patch("/api/profiles/poet", json={"config": {"number_of_input_tokens": "x"}})

    assert made.status_code == 201
    assert changed.json()["version"] == 2
    assert (stale.status_code, stale.json()["code"]) == (412, "version_conflict")
    assert (stale.json()["details"]["base"], stale.json()["details"]["head"]) == (1, 2)
    assert (wrong.status_code, wrong.json()["code"]) == (422, "profile_invalid")
    german = (await client.get("/api/profiles", headers={"Accept-Language": "de-CH"})).json()["items"]
    assert [(profile["id"], profile["name"]) for profile in german] == [
        ("assistant", "Assistent"),
        ("poet", "Dichterin"),
    ] or ([profile["id"] for profile in german] == ["assistant", "poet"] and german[1]["name"] == "Dichterin")
    assert german[0]["is_default"]
    blueprints = (await client.get("/api/blueprints")).json()["items"]
    assert blueprints[0]["name"] == "LLMWrappingAgent"
    assert "system_prompt" in blueprints[0]["config_schema"]["properties"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/api/nothing", None, 404, "not_found"),
        ("DELETE", "/api/profiles", None, 405, "method_not_allowed"),
        ("POST", "/api/threads", {"id": "not-a-uuid"}, 400, "malformed_id"),
        ("POST", "/api/threads", {"id": 7}, 422, "validation_failed"),
        ("POST", "/api/threads", {"id": new_id(), "other": 1}, 422, "validation_failed"),
        ("GET", f"/api/threads/{new_id()}", None, 404, "not_found"),
        ("GET", f"/api/runs/{new_id()}", None, 404, "not_found"),
        ("GET", "/api/profiles/nobody", None, 404, "profile_not_found"),
        ("POST", "/api/profiles/assistant/runs", {}, 422, "start_invalid"),
        ("POST", "/api/profiles/assistant/runs", {"event": {"type": "NoEvent"}}, 422, "start_invalid"),
    ],
)
async def test_every_error_has_one_shape(
    client: httpx2.AsyncClient, method: str, path: str, body: Any, status: int, code: str
) -> None:
    response = await client.request(method, path, json=body)

    problem = response.json()
    assert (response.status_code, problem["code"]) == (status, code), problem
    assert response.headers["content-type"].startswith("application/problem+json")
    assert problem["status"] == status
    assert problem["detail"]
    assert problem["request_id"] == response.headers["x-request-id"]


async def test_malformed_json_is_a_bad_request(client: httpx2.AsyncClient) -> None:
    response = await client.post("/api/threads", content=b"{no", headers={"Content-Type": "application/json"})

    assert (response.status_code, response.json()["code"]) == (400, "malformed_json")


async def test_a_message_that_is_too_large_or_empty_is_refused(client: httpx2.AsyncClient) -> None:
    thread = await chat(client)
    path = f"/api/threads/{thread['id']}/messages"

    large = await client.post(path, json={"message_id": new_id(), "content": "x" * 10_001})
    huge = await client.post(path, json={"message_id": new_id(), "content": "x" * 200_000})
    empty = await client.post(path, json={"message_id": new_id(), "content": "  \n"})

    assert (large.status_code, large.json()["code"]) == (413, "message_too_large")
    assert (huge.status_code, huge.json()["code"]) == (413, "too_large")
    assert (empty.status_code, empty.json()["code"]) == (422, "empty_message")
    assert (await client.get(f"/api/threads/{thread['id']}")).json()["messages"] == []


async def test_what_is_private_does_not_exist_for_others(server: InProcess, client: httpx2.AsyncClient) -> None:
    thread = await chat(client, "Explain secrets")
    run = thread["messages"][1]["run"]["id"]
    paths = [
        f"/api/threads/{thread['id']}",
        f"/api/runs/{run}",
        f"/api/runs/{run}/timeline",
        f"/api/runs/{run}/graph",
        f"/api/runs/{run}/stream",
        f"/api/workspaces/{thread['workspace']}/threads",
        f"/api/workspaces/{thread['workspace']}/log",
        f"/api/workspaces/{thread['workspace']}/stream",
    ]

    key = await key_of(server.planwerk, "ben", Role.MEMBER)
    async with server.client(key) as ben, server.client(None) as nobody:
        for path in paths:
            foreign, anonymous = await ben.get(path), await nobody.get(path)
            assert foreign.status_code == 404, path
            assert "Explain secrets" not in foreign.text
            assert anonymous.status_code == 401, path
        for path, body in (
            (f"/api/threads/{thread['id']}/messages", {"message_id": new_id(), "content": "hi"}),
            (f"/api/runs/{run}/stop", None),
        ):
            assert (await ben.post(path, json=body)).status_code == 404
        assert (await ben.patch("/api/profiles/assistant", json={"description": "x"})).status_code == 403


def test_every_route_asks_who_it_is(tmp_path: Path) -> None:
    """Deny by default: a route that forgets to ask is found here (S5.2)."""
    application = create_app(Planwerk())
    public = {"/api/server", "/api/openapi.json", "/health/live", "/health/ready", "/signin", "/{path:path}"}
    ways_in = {("POST", "/api/session"), ("DELETE", "/api/session")}

    async def ask() -> list[str]:
        async with Planwerk(storage=tmp_path / "data.db", model=ScriptedModel([])) as planwerk:
            transport = httpx2.ASGITransport(app=create_app(planwerk))
            async with httpx2.AsyncClient(transport=transport, base_url="http://testserver") as nobody:
                open_doors: list[str] = []
                for route in application.routes:
                    path, methods = getattr(route, "path", ""), getattr(route, "methods", None) or set[str]()
                    for method in methods - {"HEAD", "OPTIONS"}:
                        if path in public or (method, path) in ways_in:
                            continue
                        named = path
                        for name in ("thread", "run", "workspace", "profile", "account", "key"):
                            named = named.replace(f"{{{name}}}", new_id())
                        named = named.replace("{model:path}", "assistant")
                        response = await nobody.request(method, named, json={})
                        if response.status_code != 401:
                            open_doors.append(f"{method} {path}: {response.status_code}")
                return open_doors

    assert asyncio.run(ask()) == []


async def test_srv_25_half_a_character_is_replaced_the_same_everywhere(
    client: httpx2.AsyncClient, model: ScriptedModel
) -> None:
    thread = await chat(client)
    body = json.dumps({"message_id": new_id(), "content": "explain ok \ud83d done 😀"})
    headers = {"Content-Type": "application/json"}

    posted = await client.post(f"/api/threads/{thread['id']}/messages", content=body, headers=headers)
    await ended(client, posted.json()["run_id"])
    title = await client.patch(
        f"/api/threads/{thread['id']}", content=json.dumps({"title": "t \ud83d"}), headers=headers
    )

    read = (await client.get(f"/api/threads/{thread['id']}")).json()
    assert read["messages"][0]["content"] == "explain ok \ufffd done 😀"
    assert "explain ok \ufffd done 😀" in str(model.answer_requests[-1].messages)
    assert title.json()["title"] == "t \ufffd"


async def test_headers_keep_a_page_to_itself(client: httpx2.AsyncClient) -> None:
    response = await client.get("/api/server")

    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["cache-control"] == "no-store"


async def test_a_foreign_host_name_on_loopback_is_refused(server: InProcess) -> None:
    transport = httpx2.ASGITransport(app=server.application, client=("127.0.0.1", 5))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:80") as local:
        assert (await local.get("/api/server")).status_code == 200
        assert (await local.get("/api/server", headers={"Host": "evil.example"})).status_code == 421


async def test_a_command_of_this_process_needs_no_key(server: InProcess) -> None:
    principal = await server.planwerk.access.local_principal()

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await server.application({**scope, IN_PROCESS: principal}, receive, send)

    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=application), base_url="http://testserver"
    ) as local:
        assert (await local.get("/api/session")).status_code == 200


class TestStopping:
    @pytest.fixture
    def model(self) -> ScriptedModel:
        return ScriptedModel([Stream("Half ", 3600.0), "Whole."])

    async def test_a_stop_is_accepted_and_the_thread_stays_usable(
        self, client: httpx2.AsyncClient, model: ScriptedModel
    ) -> None:
        thread = await chat(client)
        path = f"/api/threads/{thread['id']}/messages"
        posted = (await client.post(path, json={"message_id": new_id(), "content": "Explain"})).json()
        async with asyncio.timeout(20):
            while not model.answer_requests:  # noqa: ASYNC110 - the model tells of every request
                await asyncio.sleep(0.005)

        stopped = await client.post(f"/api/runs/{posted['run_id']}/stop")
        record = await ended(client, posted["run_id"])
        again = await client.post(f"/api/runs/{posted['run_id']}/stop")

        assert (stopped.status_code, record["status"], again.status_code) == (202, "stopped", 202)
        assert (await answered(client, thread["id"], "Explain again"))["status"] == "completed"
