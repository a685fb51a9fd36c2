"""Memories over REST: what a conversation leaves, listed, edited, exported and deleted by its person (C2.3, S2.5)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from examples.helpdesk import Helpdesk

from planwerk.access.actions import Role
from planwerk.app import Planwerk
from planwerk.capabilities.memory.ports import MOST_IN_SCOPE, MemoryScope, StoredMemory
from planwerk.models.catalogue import CatalogueSettings, ModelCatalogue
from planwerk.runtime.profiles import ProfileArtifact
from planwerk.server.application import create_app
from planwerk.workflow.ids import new_id
from planwerk.workflow.locale_string import LocaleString
from tests.server.world import answered, key_of, new_thread, until

MINE = "/api/me/memories"
TRAVEL = "/api/organization/memories/travel"
HELPDESK = ProfileArtifact(
    slug="helpdesk", name=LocaleString("Helpdesk"), blueprint="Helpdesk", config={"namespaces": ["travel"]}
)


class InProcess:
    """The application in this process, as seen by one principal."""

    def __init__(self, planwerk: Planwerk) -> None:
        self.planwerk = planwerk
        self.application = create_app(planwerk)

    def client(self, key: str | None) -> httpx2.AsyncClient:
        transport = httpx2.ASGITransport(app=self.application)
        headers = {"Authorization": f"Bearer {key}"} if key is not None else {}
        return httpx2.AsyncClient(transport=transport, base_url="http://testserver", headers=headers)


@pytest.fixture(params=["in_memory", "sqlite"])
async def server(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[InProcess]:
    models = ModelCatalogue(CatalogueSettings(model="demo:planwerk"), environment={}, local_servers=())
    storage = tmp_path / "data.db" if request.param == "sqlite" else None
    async with Planwerk([Helpdesk], [HELPDESK], storage=storage, models=models) as planwerk:
        yield InProcess(planwerk)


@pytest.fixture
async def client(server: InProcess) -> AsyncGenerator[httpx2.AsyncClient]:
    async with server.client((await server.planwerk.access.set_local_key(None)).text) as opened:
        yield opened


@pytest.fixture
async def ben(server: InProcess) -> AsyncGenerator[httpx2.AsyncClient]:
    async with server.client(await key_of(server.planwerk, "ben", Role.MEMBER)) as opened:
        yield opened


async def ask(client: httpx2.AsyncClient, question: str) -> dict[str, Any]:
    """The thread of a new conversation with the help desk."""
    thread = (await new_thread(client, profile="helpdesk"))["id"]
    await answered(client, thread, question)
    return (await client.get(f"/api/threads/{thread}")).json()


async def remembered(client: httpx2.AsyncClient, count: int = 1) -> list[dict[str, Any]]:
    """What is remembered once the writers have ended."""
    found: list[dict[str, Any]] = []

    async def is_there() -> bool:
        found[:] = (await client.get(MINE)).json()["items"]
        return len(found) == count

    await until(is_there)
    return found


async def keep(server: InProcess, client: httpx2.AsyncClient, *texts: str) -> list[str]:
    account = (await client.get("/api/session")).json()["account"]["id"]
    scope = MemoryScope.of_user("default", account)
    ids = [new_id() for _ in texts]
    for place, (identity, text) in enumerate(zip(ids, texts, strict=True)):
        await server.planwerk.memories.add(StoredMemory(identity, scope, text, place, place))
    return ids


async def test_the_next_conversation_knows_what_was_said_in_this_one(
    client: httpx2.AsyncClient, ben: httpx2.AsyncClient
) -> None:
    thread = await ask(client, "My laptop is a ThinkPad.")

    [memory] = await remembered(client)

    run = thread["messages"][1]["run"]["id"]
    assert memory["text"] == "My laptop is a ThinkPad."
    assert memory["source"] == {"run": run, "thread": thread["id"], "title": thread["title"]}
    again = await ask(client, "Which laptop should be replaced?")
    assert "ThinkPad" in again["messages"][1]["content"]
    other = await ask(ben, "Which laptop should be replaced?")
    assert "ThinkPad" not in other["messages"][1]["content"]


async def test_what_a_person_forgets_is_gone_from_her_next_conversation(client: httpx2.AsyncClient) -> None:
    await ask(client, "My laptop is a ThinkPad.")
    [memory] = await remembered(client)

    gone = await client.delete(f"{MINE}/{memory['id']}")

    assert gone.status_code == 204
    again = await ask(client, "Which laptop should be replaced?")
    assert "ThinkPad" not in again["messages"][1]["content"]


async def test_memories_are_listed_newest_first_page_by_page(server: InProcess, client: httpx2.AsyncClient) -> None:
    await keep(server, client, "One.", "Two.", "Three.")

    first = (await client.get(MINE, params={"limit": 2})).json()
    second = (await client.get(MINE, params={"limit": 2, "cursor": first["next"]})).json()

    assert [item["text"] for item in [*first["items"], *second["items"]]] == ["Three.", "Two.", "One."]
    assert (first["total"], first["most"], second["next"]) == (3, MOST_IN_SCOPE, None)
    assert first["items"][0]["source"] is None


@pytest.mark.parametrize("cursor", ["x", "1", ".a", "-1.a", "9" * 19 + ".a"])
async def test_a_foreign_cursor_is_refused(client: httpx2.AsyncClient, cursor: str) -> None:
    refused = await client.get(MINE, params={"cursor": cursor})

    assert (refused.status_code, refused.json()["code"]) == (422, "cursor_invalid")


async def test_memories_are_searched(server: InProcess, client: httpx2.AsyncClient) -> None:
    await keep(server, client, "Has a dog.", "Fährt einen Dienstwagen.")

    found = (await client.get(MINE, params={"query": "wagen"})).json()

    assert [item["text"] for item in found["items"]] == ["Fährt einen Dienstwagen."]
    assert (found["total"], found["next"]) == (2, None)


async def test_a_memory_is_put_in_other_words(server: InProcess, client: httpx2.AsyncClient) -> None:
    [identity] = await keep(server, client, "Has a dog.")

    changed = await client.patch(f"{MINE}/{identity}", json={"text": "  Has two dogs.  "})

    assert changed.status_code == 200
    assert changed.json()["text"] == "Has two dogs."
    assert [item["text"] for item in (await client.get(MINE)).json()["items"]] == ["Has two dogs."]


@pytest.mark.parametrize("text", ["", "   ", "x" * 2001])
async def test_a_text_that_is_none_is_refused(server: InProcess, client: httpx2.AsyncClient, text: str) -> None:
    [identity] = await keep(server, client, "Has a dog.")

    refused = await client.patch(f"{MINE}/{identity}", json={"text": text})

    assert refused.status_code == 422
    assert [item["text"] for item in (await client.get(MINE)).json()["items"]] == ["Has a dog."]


async def test_what_is_somebody_elses_is_not_found(
    server: InProcess, client: httpx2.AsyncClient, ben: httpx2.AsyncClient
) -> None:
    [identity] = await keep(server, client, "Has a secret dog.")

    for name in (identity, new_id()):
        changed = await ben.patch(f"{MINE}/{name}", json={"text": "Poison."})
        deleted = await ben.delete(f"{MINE}/{name}")
        assert (changed.status_code, deleted.status_code) == (404, 404)
        assert changed.json()["detail"].replace(name, "…") == deleted.json()["detail"].replace(name, "…")
    assert (await ben.get(MINE, params={"query": "secret dog"})).json()["items"] == []
    assert (await ben.get(f"{MINE}/export")).json()["memories"] == []


async def test_deleting_all_leaves_what_others_have(
    server: InProcess, client: httpx2.AsyncClient, ben: httpx2.AsyncClient
) -> None:
    # CAP-13
    await keep(server, client, "One.", "Two.", "Three.")
    await keep(server, ben, "Four.", "Five.")

    deleted = await client.delete(MINE)

    assert deleted.json() == {"deleted": 3}
    assert (await client.get(MINE)).json()["total"] == 0
    assert [item["text"] for item in (await ben.get(MINE)).json()["items"]] == ["Five.", "Four."]


async def test_the_export_is_a_file_with_all_that_is_stored(server: InProcess, client: httpx2.AsyncClient) -> None:
    [identity] = await keep(server, client, "Drives to work.")
    account = (await client.get("/api/session")).json()["account"]["id"]
    newer = StoredMemory(new_id(), MemoryScope.of_user("default", account), "Cycles to work.", 5, 5, source_run="r")
    await server.planwerk.memories.supersede(identity, newer)

    export = await client.get(f"{MINE}/export")

    assert export.headers["Content-Disposition"] == 'attachment; filename="memories.json"'
    found = export.json()
    assert found["account"] == account
    assert [(item["text"], item["source_run"], item["superseded_by"]) for item in found["memories"]] == [
        ("Cycles to work.", "r", None),
        ("Drives to work.", None, newer.id),
    ]


async def test_what_the_organisation_keeps_reaches_runs_of_profiles_that_allow_it(
    client: httpx2.AsyncClient, ben: httpx2.AsyncClient
) -> None:
    made = await client.post(TRAVEL, json={"text": "Trains are booked by Olga.\nNever by plane."})
    await client.post("/api/organization/memories/hr", json={"text": "Trains of thought stay secret."})

    assert made.status_code == 201
    assert made.json()["text"] == "Trains are booked by Olga.\nNever by plane."
    thread = await ask(ben, "Who books my trains?")
    assert "Trains are booked by Olga." in thread["messages"][1]["content"]
    assert "secret" not in thread["messages"][1]["content"]


async def test_the_organisations_memory_is_listed_added_to_and_deleted_from(client: httpx2.AsyncClient) -> None:
    named = {"id": new_id(), "text": "Trains first."}
    for _ in range(2):
        assert (await client.post(TRAVEL, json=named)).status_code == 201

    listed = (await client.get(TRAVEL)).json()
    assert [(item["id"], item["text"], item["source"]) for item in listed["items"]] == [(*named.values(), None)]
    assert (await client.get("/api/organization/memories")).json()["items"] == [{"namespace": "travel", "memories": 1}]
    assert (await client.delete(f"{TRAVEL}/{named['id']}")).status_code == 204
    assert (await client.delete(f"{TRAVEL}/{named['id']}")).status_code == 404
    assert (await client.get(TRAVEL)).json()["total"] == 0


async def test_an_id_that_is_used_elsewhere_adds_nothing(client: httpx2.AsyncClient) -> None:
    identity = new_id()
    await client.post(TRAVEL, json={"id": identity, "text": "Trains first."})

    elsewhere = await client.post("/api/organization/memories/hr", json={"id": identity, "text": "Trains first."})
    other_text = await client.post(TRAVEL, json={"id": identity, "text": "Planes first."})

    assert (elsewhere.status_code, other_text.status_code) == (404, 404)
    assert [item["text"] for item in (await client.get(TRAVEL)).json()["items"]] == ["Trains first."]


@pytest.mark.parametrize("namespace", ["-x", "x" * 65, "a b"])
async def test_a_namespace_that_is_none_is_refused(client: httpx2.AsyncClient, namespace: str) -> None:
    refused = await client.post(f"/api/organization/memories/{namespace}", json={"text": "x"})

    assert (refused.status_code, refused.json()["code"]) == (422, "memory_scope_invalid")


async def test_the_writer_is_no_blueprint_for_profiles_and_has_none(client: httpx2.AsyncClient) -> None:
    blueprints = (await client.get("/api/blueprints")).json()["items"]
    profiles = (await client.get("/api/profiles")).json()["items"]
    made = await client.post("/api/profiles", json={"id": "writer", "blueprint": "MemoryWriter", "name": "Writer"})

    assert "MemoryWriter" not in str(blueprints)
    assert "MemoryWriter" not in str(profiles)
    assert (made.status_code, made.json()["code"]) == (409, "blueprint_not_found")
