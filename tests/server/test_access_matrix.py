"""Who may what over every route: user by resource by route, with the answers written out (S5.2, complaint 4.10)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from planwerk.access.actions import Action, Role
from planwerk.access.ids import DEFAULT_TENANT, TenantId
from planwerk.app import Planwerk
from planwerk.blueprints.llm_wrapping_agent import LLMWrappingAgent
from planwerk.capabilities.knowledge.ports import Document, DocumentText, Failure, NewPassage
from planwerk.capabilities.memory.ports import MemoryScope, StoredMemory
from planwerk.server.application import create_app
from planwerk.server.openapi import document
from planwerk.testing import ScriptedModel
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import StartEvent, StopEvent
from planwerk.workflow.ids import new_id
from planwerk.workflow.people import HumanInTheLoop
from planwerk.workflow.steps import step
from tests.server.asgi import ask
from tests.server.world import chat, key_of, until

ASKERS: Final = ("ada", "ben", "cleo", "olga", "tom", "nobody")
"""Ada, a member, whose things are asked for; another member; an admin; an owner; another tenant's owner; nobody."""

ALL: Final = "ok ok ok ok ok 401"
OWN: Final = "ok 404 404 404 404 401"
BUILDERS_MAKE: Final = "403 403 ok ok ok 401"
HERS_AND_ADMINS: Final = "ok 404 ok ok 404 401"
ADMINS_SEE: Final = "404 404 ok ok ok 401"
SEEN_AND_BUILDERS_CHANGE: Final = "403 404 ok ok 404 401"
GRANTED: Final = "ok 404 404 ok 404 401"
"""Of the owner's, whose collection it is, and Ada's, who stands on its list."""
GRANTED_AND_OWNER_CHANGES: Final = "403 404 404 ok 404 401"
PUBLIC: Final = "ok ok ok ok ok ok"

ANSWERS: Final = {
    "health_live": PUBLIC,
    "health_ready": PUBLIC,
    "read_server": PUBLIC,
    "sign_in": "401 401 401 401 401 401",  # by its own credentials, which are wrong here
    "sign_out": PUBLIC,
    "read_session": ALL,
    "change_session": ALL,
    "list_accounts": BUILDERS_MAKE,
    "create_account": BUILDERS_MAKE,
    "read_account": HERS_AND_ADMINS,
    "change_account": HERS_AND_ADMINS,
    "set_password": HERS_AND_ADMINS,
    "list_keys": ALL,
    "create_key": ALL,
    "revoke_key": HERS_AND_ADMINS,
    "list_profiles": ALL,
    "read_profile": HERS_AND_ADMINS,
    "create_profile": BUILDERS_MAKE,
    "change_profile": SEEN_AND_BUILDERS_CHANGE,
    "list_schedules": ALL,
    "list_schedule_failures": ALL,
    "read_schedule": SEEN_AND_BUILDERS_CHANGE,
    "run_schedule": SEEN_AND_BUILDERS_CHANGE,
    "dismiss_schedule_failure": SEEN_AND_BUILDERS_CHANGE,
    "list_blueprints": BUILDERS_MAKE,
    "list_workspaces": ALL,
    "list_threads": OWN,
    "read_log": OWN,
    "send_command": OWN,
    "stream_workspace": OWN,
    "create_thread": OWN,
    "read_thread": OWN,
    "rename_thread": OWN,
    "post_message": OWN,
    "answer_again": OWN,
    "start_run": HERS_AND_ADMINS,
    "list_runs": ALL,
    "read_run": OWN,
    "read_timeline": OWN,
    "read_graph": OWN,
    "read_prompt": OWN,
    "read_run_test": "403 404 404 404 404 401",
    "stop_run": OWN,
    "fork_run": OWN,
    "replay_run": OWN,
    "stream_run": OWN,
    "read_inbox": ALL,
    "list_answered": ALL,
    "list_requests": OWN,
    "read_request": OWN,
    "answer_request": OWN,
    "list_memories": ALL,
    "export_memories": ALL,
    "change_memory": OWN,
    "delete_memory": OWN,
    "delete_memories": ALL,  # each deletes her own
    "list_namespaces": BUILDERS_MAKE,
    "list_organization_memories": ADMINS_SEE,
    "add_organization_memory": ADMINS_SEE,
    "delete_organization_memory": "404 404 ok 404 404 401",  # Cleo has deleted it when Olga comes
    "list_collections": ALL,
    "create_collection": BUILDERS_MAKE,
    "read_collection": GRANTED,
    "change_collection": GRANTED_AND_OWNER_CHANGES,
    "delete_collection": GRANTED_AND_OWNER_CHANGES,
    "list_documents": GRANTED,
    "upload_documents": GRANTED_AND_OWNER_CHANGES,
    "read_document": GRANTED,
    "read_original": GRANTED,
    "retry_document": GRANTED_AND_OWNER_CHANGES,
    "delete_document": GRANTED_AND_OWNER_CHANGES,
    "search_knowledge": GRANTED,
    "read_source": GRANTED,
    "v1_models": ALL,
    "v1_model": HERS_AND_ADMINS,
    "v1_chat_completions": HERS_AND_ADMINS,
}


class MatrixStart(StartEvent):
    pass


class MatrixStop(StopEvent):
    text: str


class MatrixAsker(Agent):
    """Asks whoever starts it."""

    @step()
    async def ask(self, start: MatrixStart) -> HumanInTheLoop.Input:
        return HumanInTheLoop.Input(question="What is the secret?")

    @step()
    async def done(self, answer: HumanInTheLoop.Input.Answered) -> MatrixStop:
        return MatrixStop(text=answer.text)


@dataclass(frozen=True, slots=True)
class World:
    """An installation with six who ask, and Ada's things."""

    application: Any
    keys: dict[str, str | None]
    ids: dict[str, str]
    """Ada's account, a key of hers, her workspace, thread, message, run, a call in it, and the profile made for her."""

    async def answers(self, operation: str) -> str:
        """The answers to each who asks, in the order of `ASKERS`."""
        said: list[str] = []
        for asker in ASKERS:
            method, path, body = REQUESTS[operation](self.ids | {"new": new_id(), "asker": asker})
            key = self.keys[asker]
            headers = {"Authorization": f"Bearer {key}"} if key is not None else {}
            answer = await ask(self.application, method, path, **sent(headers, body))
            said.append("ok" if answer.status < 400 else str(answer.status))
            if answer.status >= 400:
                assert self.ids["secret"].encode() not in answer.body
        return " ".join(said)


def sent(headers: dict[str, str], body: Any) -> dict[str, Any]:
    """A body of bytes is a form with a file."""
    if isinstance(body, bytes):
        return {"headers": {**headers, "Content-Type": "multipart/form-data; boundary=b"}, "pieces": [body]}
    return {"headers": headers, "body": body}


FORM: Final = b'--b\r\nContent-Disposition: form-data; name="file"; filename="x.txt"\r\n\r\nFine.\r\n--b--\r\n'
Request = Callable[[dict[str, str]], tuple[str, str, Any]]
REQUESTS: Final[dict[str, Request]] = {
    "health_live": lambda _: ("GET", "/health/live", None),
    "health_ready": lambda _: ("GET", "/health/ready", None),
    "read_server": lambda _: ("GET", "/api/server", None),
    "sign_in": lambda i: ("POST", "/api/session", {"login": f"{i['asker']}-x", "password": "wrong wrong"}),
    "sign_out": lambda _: ("DELETE", "/api/session", None),
    "read_session": lambda _: ("GET", "/api/session", None),
    "change_session": lambda _: ("PATCH", "/api/session", {"locale": "de"}),
    "list_accounts": lambda _: ("GET", "/api/accounts", None),
    "create_account": lambda i: ("POST", "/api/accounts", {"login": f"new-by-{i['asker']}"}),
    "read_account": lambda i: ("GET", f"/api/accounts/{i['account']}", None),
    "change_account": lambda i: ("PATCH", f"/api/accounts/{i['account']}", {"name": "Ada L."}),
    "set_password": lambda i: ("PUT", f"/api/accounts/{i['account']}/password", {"password": "a long new password"}),
    "list_keys": lambda _: ("GET", "/api/keys", None),
    "create_key": lambda _: ("POST", "/api/keys", {"name": "another"}),
    "revoke_key": lambda i: ("DELETE", f"/api/keys/{i['key']}", None),
    "list_profiles": lambda _: ("GET", "/api/profiles", None),
    "read_profile": lambda i: ("GET", f"/api/profiles/{i['profile']}", None),
    "create_profile": lambda i: (
        "POST",
        "/api/profiles",
        {"id": f"by-{i['asker']}", "blueprint": "LLMWrappingAgent", "name": "New"},
    ),
    "change_profile": lambda i: ("PATCH", f"/api/profiles/{i['profile']}", {"description": f"By {i['asker']}."}),
    "list_schedules": lambda _: ("GET", "/api/schedules", None),
    "list_schedule_failures": lambda _: ("GET", "/api/schedules/failures", None),
    "read_schedule": lambda i: ("GET", f"/api/profiles/{i['profile']}/schedule", None),
    "run_schedule": lambda i: ("POST", f"/api/profiles/{i['profile']}/schedule/run", None),
    "dismiss_schedule_failure": lambda i: (
        "POST",
        f"/api/profiles/{i['profile']}/schedule/dismiss",
        {"run": i["run"]},
    ),
    "list_blueprints": lambda _: ("GET", "/api/blueprints", None),
    "list_workspaces": lambda _: ("GET", "/api/workspaces", None),
    "list_threads": lambda i: ("GET", f"/api/workspaces/{i['workspace']}/threads", None),
    "read_log": lambda i: ("GET", f"/api/workspaces/{i['workspace']}/log", None),
    "send_command": lambda i: (
        "POST",
        f"/api/workspaces/{i['workspace']}/commands",
        {"command": {"type": "create_thread", "thread_id": i["new"]}},
    ),
    "stream_workspace": lambda i: (
        "GET",
        f"/api/workspaces/{i['workspace']}/stream?threads={i['thread']}&runs={i['run']}",
        None,
    ),
    "create_thread": lambda i: ("POST", "/api/threads", {"id": i["new"], "workspace": i["workspace"]}),
    "read_thread": lambda i: ("GET", f"/api/threads/{i['thread']}", None),
    "rename_thread": lambda i: ("PATCH", f"/api/threads/{i['thread']}", {"title": "Mine"}),
    "post_message": lambda i: (
        "POST",
        f"/api/threads/{i['thread']}/messages",
        {"message_id": i["new"], "content": "More"},
    ),
    "answer_again": lambda i: (
        "POST",
        f"/api/threads/{i['thread']}/runs",
        {"message_id": i["message"], "run_id": i["new"]},
    ),
    "start_run": lambda i: ("POST", f"/api/profiles/{i['profile']}/runs", {"message": "Explain"}),
    "list_runs": lambda _: ("GET", "/api/runs", None),
    "read_run": lambda i: ("GET", f"/api/runs/{i['run']}", None),
    "read_timeline": lambda i: ("GET", f"/api/runs/{i['run']}/timeline", None),
    "read_graph": lambda i: ("GET", f"/api/runs/{i['run']}/graph", None),
    "read_prompt": lambda i: ("GET", f"/api/runs/{i['run']}/prompts/{i['call']}", None),
    "read_run_test": lambda i: ("GET", f"/api/runs/{i['run']}/test", None),
    "stop_run": lambda i: ("POST", f"/api/runs/{i['run']}/stop", None),
    "fork_run": lambda i: ("POST", f"/api/runs/{i['run']}/fork", {"position": 2}),
    "replay_run": lambda i: ("POST", f"/api/runs/{i['run']}/replay", None),
    "stream_run": lambda i: ("GET", f"/api/runs/{i['run']}/stream", None),
    "read_inbox": lambda _: ("GET", "/api/inbox", None),
    "list_answered": lambda _: ("GET", "/api/inbox/answered", None),
    "list_requests": lambda i: ("GET", f"/api/runs/{i['asking']}/requests", None),
    "read_request": lambda i: ("GET", f"/api/requests/{i['request']}", None),
    "answer_request": lambda i: ("POST", f"/api/requests/{i['request']}/answer", {"answer": {"text": "secret"}}),
    "list_memories": lambda _: ("GET", "/api/me/memories", None),
    "export_memories": lambda _: ("GET", "/api/me/memories/export", None),
    "change_memory": lambda i: ("PATCH", f"/api/me/memories/{i['memory']}", {"text": "Has a secret dog."}),
    "delete_memory": lambda i: ("DELETE", f"/api/me/memories/{i['memory']}", None),
    "delete_memories": lambda _: ("DELETE", "/api/me/memories", None),
    "list_namespaces": lambda _: ("GET", "/api/organization/memories", None),
    "list_organization_memories": lambda i: ("GET", "/api/organization/memories/travel", None),
    "add_organization_memory": lambda i: ("POST", "/api/organization/memories/travel", {"text": "Trains first."}),
    "delete_organization_memory": lambda i: ("DELETE", f"/api/organization/memories/travel/{i['kept']}", None),
    "list_collections": lambda _: ("GET", "/api/collections", None),
    "create_collection": lambda i: ("POST", "/api/collections", {"name": f"By {i['asker']}"}),
    "read_collection": lambda i: ("GET", f"/api/collections/{i['collection']}", None),
    "change_collection": lambda i: ("PATCH", f"/api/collections/{i['collection']}", {"description": "Changed."}),
    "delete_collection": lambda i: ("DELETE", f"/api/collections/{i['collection']}", None),
    "list_documents": lambda i: ("GET", f"/api/collections/{i['collection']}/documents", None),
    "upload_documents": lambda i: ("POST", f"/api/collections/{i['collection']}/documents", FORM),
    "read_document": lambda i: ("GET", f"/api/documents/{i['document']}", None),
    "read_original": lambda i: ("GET", f"/api/documents/{i['document']}/original", None),
    "retry_document": lambda i: ("POST", f"/api/documents/{i['document']}/retry", None),
    "delete_document": lambda i: ("DELETE", f"/api/documents/{i['document']}", None),
    "search_knowledge": lambda i: (
        "POST",
        "/api/knowledge/search",
        {"query": "Budget", "collections": [i["collection"]]},
    ),
    "read_source": lambda i: ("GET", f"/api/sources/{i['source']}", None),
    "v1_models": lambda _: ("GET", "/v1/models", None),
    "v1_model": lambda i: ("GET", f"/v1/models/{i['profile']}", None),
    "v1_chat_completions": lambda i: (
        "POST",
        "/v1/chat/completions",
        {"model": i["profile"], "messages": [{"role": "user", "content": "Explain"}]},
    ),
}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncGenerator[World]:
    model = ScriptedModel(["A secret answer."] * 20)
    async with Planwerk([LLMWrappingAgent, MatrixAsker], storage=tmp_path / "data.db", model=model) as planwerk:
        application = create_app(planwerk)
        keys: dict[str, str | None] = {
            "ada": await key_of(planwerk, "ada", Role.MEMBER),
            "ben": await key_of(planwerk, "ben", Role.MEMBER),
            "cleo": await key_of(planwerk, "cleo", Role.ADMIN),
            "olga": await key_of(planwerk, "olga", Role.OWNER),
            "tom": await key_of(planwerk, "tom", Role.OWNER, TenantId("acme")),
            "nobody": None,
        }
        ids = await things_of_ada(application, keys)
        scopes = {
            "memory": MemoryScope.of_user(DEFAULT_TENANT, ids["account"]),
            "kept": MemoryScope.of_organization(DEFAULT_TENANT, "travel"),
        }
        for name, scope in scopes.items():
            ids[name] = new_id()
            await planwerk.memories.add(StoredMemory(ids[name], scope, "Has a secret.", 0, 0))
        yield World(application, keys, ids | await knowledge_for_ada(planwerk, ids["account"]))


async def things_of_ada(application: Any, keys: dict[str, str | None]) -> dict[str, str]:
    def client(name: str) -> httpx2.AsyncClient:
        headers = {"Authorization": f"Bearer {keys[name]}"}
        return httpx2.AsyncClient(
            transport=httpx2.ASGITransport(application), base_url="http://testserver", headers=headers
        )

    async with client("ada") as ada, client("olga") as olga:
        session = (await ada.get("/api/session")).json()
        account = session["account"]["id"]
        profile = {
            "id": "hers",
            "blueprint": "LLMWrappingAgent",
            "name": "Hers",
            "access": [f"account:{account}"],
            "schedule": {"cron": "0 0 29 2 *", "message": "A secret report", "while_running": "start"},
        }
        made = await olga.post("/api/profiles", json=profile)
        assert made.status_code == 201, made.text
        thread = await chat(ada, "Explain my secret")
        key = (await ada.post("/api/keys", json={"name": "spare"})).json()
        asking, request = await asked_in_matrix(ada)
        timeline = (await ada.get(f"/api/runs/{thread['messages'][1]['run']['id']}/timeline")).json()["items"]
    return {
        "account": account,
        "key": key["id"],
        "workspace": session["private_workspace"],
        "profile": "hers",
        "thread": thread["id"],
        "message": thread["messages"][0]["id"],
        "run": thread["messages"][1]["run"]["id"],
        "call": next(str(entry["position"]) for entry in timeline if entry["type"] == "model_called"),
        "asking": asking,
        "request": request,
        "secret": "secret",
    }


async def knowledge_for_ada(planwerk: Planwerk, account: str) -> dict[str, str]:
    """A collection of the owner's that Ada may read, with a document that failed after it had once been read."""
    library = planwerk.library
    owner = await planwerk.access.account_by_login(DEFAULT_TENANT, "olga")
    collection = await library.create(DEFAULT_TENANT, "The secret shelf", owner=owner.id, access=[f"account:{account}"])
    writer = library.files.begin(DEFAULT_TENANT, most_bytes=100)
    writer.write(b"A secret budget.")
    file = writer.finish()
    document = Document(
        *(new_id(), DEFAULT_TENANT, collection.id, "secret.md", file.id, file.size_bytes, file.content_hash, 0, 0),
        state="failed",
        failure=Failure("document_broken", "It is secret."),
    )
    await library.index.put_document(document)
    text = "A secret budget."
    passage = NewPassage("abcdef" + "0" * 26, 0, len(text), text)
    await library.index.keep_passages(document, DocumentText(text), [passage])
    return {"collection": collection.id, "document": document.id, "source": "sabcdef"}


async def asked_in_matrix(ada: httpx2.AsyncClient) -> tuple[str, str]:
    """A run of Ada's that waits, and what it asks her."""
    run = (await ada.post("/api/profiles/matrix-asker/runs", json={"event": {}})).json()["run_id"]
    found: list[Any] = []

    async def is_open() -> bool:
        found[:] = (await ada.get(f"/api/runs/{run}/requests")).json()["items"]
        return bool(found)

    await until(is_open)
    return run, found[0]["id"]


def test_every_operation_stands_in_the_matrix() -> None:
    described = {operation["operationId"] for methods in document()["paths"].values() for operation in methods.values()}

    assert described == set(ANSWERS) == set(REQUESTS)


@pytest.mark.parametrize("operation", ANSWERS)
async def test_who_may_what(world: World, operation: str) -> None:
    assert await world.answers(operation) == ANSWERS[operation]


async def test_what_is_foreign_looks_like_what_does_not_exist(world: World) -> None:
    key = world.keys["tom"]
    headers = {"Authorization": f"Bearer {key}"}
    for operation, answers in ANSWERS.items():
        if answers.split()[ASKERS.index("tom")] != "404":
            continue
        foreign = REQUESTS[operation](world.ids | {"new": new_id(), "asker": "tom"})
        missing_ids = {
            name: new_id()
            for name in (
                *("account", "key", "workspace", "thread", "message", "run", "asking", "request"),
                *("memory", "kept"),
                *("collection", "document", "source"),
            )
        }
        missing = REQUESTS[operation](world.ids | missing_ids | {"profile": "none", "new": new_id(), "asker": "tom"})

        first = await ask(world.application, foreign[0], foreign[1], **sent(headers, foreign[2]))
        second = await ask(world.application, missing[0], missing[1], **sent(headers, missing[2]))

        assert (first.status, _words(first.json, world.ids)) == (second.status, _words(second.json, missing_ids)), (
            operation
        )


def _words(problem: dict[str, Any], ids: dict[str, str]) -> str:
    text = str({name: value for name, value in problem.items() if name != "request_id"})
    for known in [*(known for name, known in ids.items() if name != "call"), "hers", "none"]:
        text = text.replace(known, "…")
    return text


async def test_lists_leave_out_what_is_not_for_the_asker(world: World) -> None:
    async def listed(asker: str, path: str) -> str:
        answer = await ask(world.application, "GET", path, headers={"Authorization": f"Bearer {world.keys[asker]}"})
        assert answer.status == 200
        return answer.body.decode()

    for asker in ("ben", "tom"):
        assert "Hers" not in await listed(asker, "/api/profiles")
        assert "hers" not in await listed(asker, "/v1/models")
        assert world.ids["workspace"] not in await listed(asker, "/api/workspaces")
        assert world.ids["key"] not in await listed(asker, "/api/keys")
        assert world.ids["run"] not in await listed(asker, "/api/runs")
        assert "hers" not in await listed(asker, "/api/schedules")
    assert world.ids["account"] not in await listed("tom", "/api/accounts")
    assert "Hers" in await listed("ada", "/api/profiles")
    assert world.ids["run"] in await listed("ada", "/api/runs")


async def test_the_settings_of_a_run_are_told_to_who_may_inspect_it(world: World) -> None:
    headers = {"Authorization": f"Bearer {world.keys['ada']}"}

    page = await ask(world.application, "GET", f"/api/runs/{world.ids['run']}/timeline", headers=headers)

    assert "config" not in page.json["items"][0]["data"]


async def test_a_fork_with_other_settings_needs_the_right_to_change_the_profile(world: World) -> None:
    headers = {"Authorization": f"Bearer {world.keys['ada']}"}
    body = {"position": 2, "config": {"llm": "openai:other"}}

    refused = await ask(world.application, "POST", f"/api/runs/{world.ids['run']}/fork", headers=headers, body=body)

    assert (refused.status, refused.json["code"]) == (403, "forbidden")


async def test_a_key_does_no_more_than_its_scopes(world: World) -> None:
    headers = {"Authorization": f"Bearer {world.keys['ada']}"}
    made = await ask(
        world.application,
        "POST",
        "/api/keys",
        headers=headers,
        body={"name": "reader", "scopes": [Action.THREAD_READ, Action.WORKSPACE_READ]},
    )
    narrow = {"Authorization": f"Bearer {made.json['text']}"}

    read = await ask(world.application, "GET", f"/api/threads/{world.ids['thread']}", headers=narrow)
    method, path, body = REQUESTS["post_message"](world.ids | {"new": new_id()})
    written = await ask(world.application, method, path, headers=narrow, body=body)
    run = await ask(world.application, "GET", f"/api/runs/{world.ids['run']}", headers=narrow)

    assert read.status == 200
    assert (written.status, written.json["code"]) == (403, "out_of_scope")
    assert (run.status, run.json["code"]) == (403, "out_of_scope")
