"""Collections, documents and sources over REST: what is brought, what is refused, and who sees what (S2.5, C3)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from planwerk.access.actions import Role
from planwerk.access.ids import TenantId
from planwerk.app import Planwerk
from planwerk.blueprints.llm_wrapping_agent import LLMWrappingAgent
from planwerk.server.application import create_app
from planwerk.server.body_limit import LINGER_BYTES
from planwerk.testing import ScriptedModel
from tests.server.asgi import Answer, ask
from tests.server.world import key_of, until

LEAVE = "# Urlaub\n\nDer Antrag auf Urlaub geht an die Vorgesetzte. SECRET-1."
MEBIBYTE = 1_048_576


@dataclass
class World:
    """An installation with Bea, a builder, and others."""

    planwerk: Planwerk
    application: Any
    keys: dict[str, str]
    data: Path

    def client(self, name: str) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            transport=httpx2.ASGITransport(self.application),
            base_url="http://testserver",
            headers={"Authorization": f"Bearer {self.keys[name]}"},
        )

    def files(self) -> list[Path]:
        return [path for path in (self.data / "files").rglob("*") if path.is_file()]

    async def send(self, collection: str, pieces: Iterator[bytes] | list[bytes], **headers: str) -> Answer:
        return await ask(
            self.application,
            "POST",
            f"/api/collections/{collection}/documents",
            headers={"Authorization": f"Bearer {self.keys['bea']}", **headers},
            pieces=pieces,
        )


@pytest.fixture
async def world(tmp_path: Path) -> AsyncGenerator[World]:
    planwerk = Planwerk([LLMWrappingAgent], storage=tmp_path / "data.db", model=ScriptedModel([]))
    planwerk.file_bytes = 2 * MEBIBYTE
    async with planwerk:
        keys = {
            "bea": await key_of(planwerk, "bea", Role.BUILDER),
            "ben": await key_of(planwerk, "ben", Role.MEMBER),
            "olga": await key_of(planwerk, "olga", Role.OWNER),
            "tom": await key_of(planwerk, "tom", Role.OWNER, TenantId("acme")),
        }
        yield World(planwerk, create_app(planwerk), keys, tmp_path)


async def make(client: httpx2.AsyncClient, name: str = "Handbook", **fields: Any) -> str:
    made = await client.post("/api/collections", json={"name": name, **fields})
    assert made.status_code == 201, made.text
    return made.json()["id"]


async def bring(client: httpx2.AsyncClient, collection: str, **files: str | bytes) -> list[dict[str, Any]]:
    """Upload, and wait until all is read."""
    form = [("file", (name.replace("_", "."), content)) for name, content in files.items()]
    sent = await client.post(f"/api/collections/{collection}/documents", files=form)
    assert sent.status_code == 202, sent.text
    documents: list[dict[str, Any]] = []

    async def are_read() -> bool:
        documents[:] = [(await client.get(f"/api/documents/{each['id']}")).json() for each in sent.json()["items"]]
        return all(each["state"] in {"ready", "failed"} for each in documents)

    await until(are_read)
    return documents


async def test_what_is_uploaded_is_read_found_and_opened_at_its_passage(world: World) -> None:
    async with world.client("bea") as bea:
        collection = await make(bea)
        [document] = await bring(bea, collection, leave_md=LEAVE)
        hits = (await bea.post("/api/knowledge/search", json={"query": "Urlaubsantrag"})).json()["items"]
        source = (await bea.get(f"/api/sources/{hits[0]['id']}")).json()
        original = await bea.get(f"/api/documents/{document['id']}/original")
        listed = (await bea.get("/api/collections")).json()

    assert (document["state"], document["stage"], document["passages"]) == ("ready", "chunked", 1)
    assert hits[0]["score"] > 0
    assert source["before"] + source["text"] + source["after"] == LEAVE
    assert (source["text"], source["collection_name"], source["name"]) == (hits[0]["text"], "Handbook", "leave.md")
    assert original.text == LEAVE
    assert original.headers["content-disposition"] == "attachment; filename*=UTF-8''leave.md"
    [seen] = listed["items"]
    assert (seen["documents"], seen["passages"], seen["failed"], seen["may_edit"]) == (1, 1, 0, True)
    assert seen["updated"] == document["updated"]
    assert listed["may_create"] is True


async def test_a_document_that_cannot_be_read_says_why_and_can_be_retried_and_deleted(world: World) -> None:
    async with world.client("bea") as bea:
        collection = await make(bea)
        broken, good = await bring(bea, collection, a_pdf=b"%PDF-1.4 nothing", b_md="Fine.")
        failed = (await bea.get(f"/api/collections/{collection}/documents?state=failed")).json()["items"]
        german = {"Accept-Language": "de"}
        in_german = (await bea.get(f"/api/documents/{broken['id']}", headers=german)).json()
        refused = await bea.post(f"/api/documents/{good['id']}/retry")
        again = await bea.post(f"/api/documents/{broken['id']}/retry")
        deleted = await bea.delete(f"/api/documents/{good['id']}")
        gone = await bea.get(f"/api/documents/{good['id']}")

    assert [each["id"] for each in failed] == [broken["id"]]
    assert "beschädigt" in in_german["failure"]["message"]
    assert broken["failure"]["code"] == "document_broken"
    assert broken["failure"]["what_to_do"]
    assert (refused.status_code, refused.json()["code"]) == (409, "nothing_to_retry")
    assert (again.status_code, again.json()["state"]) == (202, "waiting")
    assert (deleted.status_code, gone.status_code) == (204, 404)


async def test_documents_come_in_pages(world: World) -> None:
    async with world.client("bea") as bea:
        collection, other = await make(bea), await make(bea, "Other")
        await bring(bea, collection, a_md="A.", b_md="B.", c_md="C.")
        path = f"/api/collections/{collection}/documents"
        first = (await bea.get(f"{path}?limit=2")).json()
        second = (await bea.get(f"{path}?limit=2&cursor={first['next']}")).json()
        wrong = await bea.get(f"/api/collections/{other}/documents?cursor={first['next']}")

    assert [each["name"] for each in first["items"] + second["items"]] == ["a.md", "b.md", "c.md"]
    assert second["next"] is None
    assert (wrong.status_code, wrong.json()["code"]) == (422, "cursor_invalid")


async def test_who_has_no_access_learns_neither_passages_nor_names(world: World) -> None:
    async with world.client("bea") as bea:
        collection = await make(bea, "Board SECRET-2")
        [document] = await bring(bea, collection, SECRET3_md=LEAVE)
        [hit] = (await bea.post("/api/knowledge/search", json={"query": "Urlaub"})).json()["items"]
    asked = [
        ("GET", f"/api/collections/{collection}", None),
        ("PATCH", f"/api/collections/{collection}", {"access": None}),
        ("DELETE", f"/api/collections/{collection}", None),
        ("GET", f"/api/collections/{collection}/documents", None),
        ("POST", f"/api/collections/{collection}/documents", None),
        ("GET", f"/api/documents/{document['id']}", None),
        ("GET", f"/api/documents/{document['id']}/original", None),
        ("POST", f"/api/documents/{document['id']}/retry", None),
        ("DELETE", f"/api/documents/{document['id']}", None),
        ("GET", f"/api/sources/{hit['id']}", None),
        ("POST", "/api/knowledge/search", {"query": "Urlaub", "collections": [collection]}),
    ]

    for name in ("ben", "olga", "tom"):  # CAP-09
        async with world.client(name) as other:
            for method, path, body in asked:
                foreign = await other.request(method, path, json=body)
                ids = {collection: "0" * 36, document["id"]: "0" * 36, hit["id"]: "s000000"}
                path_of_none, body_of_none = path, body
                for known, none in ids.items():
                    path_of_none = path_of_none.replace(known, none)
                if body is not None and "collections" in body:
                    body_of_none = {**body, "collections": ["0" * 36]}
                missing = await other.request(method, path_of_none, json=body_of_none)
                assert foreign.status_code == missing.status_code == 404, (name, method, path)
                said = foreign.json()["detail"]
                for known, none in ids.items():
                    said = said.replace(known, none)
                assert said == missing.json()["detail"]
                assert "SECRET" not in foreign.text
            assert "SECRET" not in (await other.get("/api/collections")).text
            found = await other.post("/api/knowledge/search", json={"query": "Urlaub"})
            assert found.json() == {"items": []}


async def test_access_is_given_and_taken_away(world: World) -> None:
    async with world.client("bea") as bea, world.client("ben") as ben, world.client("tom") as tom:
        collection = await make(bea)
        await bring(bea, collection, leave_md=LEAVE)

        async def sees(client: httpx2.AsyncClient) -> bool:
            return bool((await client.post("/api/knowledge/search", json={"query": "Urlaub"})).json()["items"])

        account = (await ben.get("/api/session")).json()["account"]["id"]
        for access, expected in (([f"account:{account}"], True), (["role:owner"], False), (None, True), ([], False)):
            changed = await bea.patch(f"/api/collections/{collection}", json={"access": access})
            assert changed.json()["access"] == access
            assert await sees(ben) is expected
            assert not await sees(tom)
        await bea.patch(f"/api/collections/{collection}", json={"access": None})
        view = (await ben.get(f"/api/collections/{collection}")).json()
        refused = [
            await ben.patch(f"/api/collections/{collection}", json={"name": "Mine"}),
            await ben.delete(f"/api/collections/{collection}"),
            await ben.post("/api/collections", json={"name": "New"}),
        ]
        unchanged = await bea.patch(f"/api/collections/{collection}", json={"name": "Renamed"})

    assert (view["may_edit"], view["access"], view["is_open"]) == (False, None, True)
    assert [answer.status_code for answer in refused] == [403, 403, 403]
    assert (unchanged.json()["name"], unchanged.json()["is_open"]) == ("Renamed", True)


async def test_a_deleted_collection_takes_everything_along(world: World) -> None:
    async with world.client("bea") as bea:
        collection = await make(bea)
        await bring(bea, collection, leave_md=LEAVE)
        assert len(world.files()) == 1

        deleted = await bea.delete(f"/api/collections/{collection}")
        found = (await bea.post("/api/knowledge/search", json={"query": "Urlaub"})).json()

    assert deleted.status_code == 204
    assert found == {"items": []}
    assert world.files() == []


@pytest.mark.parametrize("name", ["../../../../tmp/pwn.txt", "a/../../b.txt", "sub/dir/c.txt", "C:\\temp\\d.txt"])
async def test_a_name_of_a_client_is_only_a_label(world: World, name: str) -> None:
    async with world.client("bea") as bea:
        collection = await make(bea)
        parts = [("name", (None, name)), ("file", ("ignored", "Fine."))]
        sent = await bea.post(f"/api/collections/{collection}/documents", files=parts)
        [document] = sent.json()["items"]
        by_name = await bea.delete(f"/api/documents/{name.replace('/', '%2F')}")
        original = await bea.get(f"/api/documents/{document['id']}/original")
        kept = world.files()
        deleted = await bea.delete(f"/api/documents/{document['id']}")

    assert document["name"] == name  # SRV-19
    assert by_name.status_code == 404
    assert [path.is_relative_to(world.data / "files" / "default") for path in kept] == [True]
    assert "/" not in original.headers["content-disposition"].partition("''")[2]
    assert deleted.status_code == 204
    assert world.files() == []


BOUNDARY = "----b"
HEAD = (
    f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="x.txt"\r\nContent-Type: text/plain\r\n\r\n'
).encode()
TAIL = f"\r\n--{BOUNDARY}--\r\n".encode()
FORM = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}


@pytest.mark.parametrize("declared", [200 * MEBIBYTE, None, 10])
async def test_a_body_over_the_limit_is_not_read_to_its_end_and_leaves_nothing(
    world: World, declared: int | None
) -> None:
    async with world.client("bea") as bea:
        collection = await make(bea)

    def pieces() -> Iterator[bytes]:
        yield HEAD
        for _ in range(200):
            yield b"x" * MEBIBYTE
        yield TAIL

    headers = {**FORM, **({"Content-Length": str(declared)} if declared is not None else {})}
    answer = await world.send(collection, pieces(), **headers)

    assert (answer.status, answer.json["code"]) == (413, "too_large")  # SRV-21
    assert answer.read <= world.planwerk.file_bytes + LINGER_BYTES + 2 * MEBIBYTE  # most of it dropped unseen
    assert world.files() == []


async def test_a_file_a_little_over_the_limit_is_refused_and_leaves_nothing(world: World) -> None:
    async with world.client("bea") as bea:
        collection = await make(bea)

    answer = await world.send(collection, [HEAD, b"x" * (2 * MEBIBYTE + 1), TAIL], **FORM)

    assert (answer.status, answer.json["code"]) == (413, "file_too_large")
    assert world.files() == []


@pytest.mark.parametrize(
    ("pieces", "headers"),
    [
        ([b"{}"], {"Content-Type": "application/json"}),
        ([b""], FORM),
        ([HEAD, b"breaks off"], FORM),
        ([b"--other\r\n\r\n"], FORM),
        ([TAIL[2:]], FORM),
        ([HEAD, b"x" * 9000, TAIL], {"Content-Type": "multipart/form-data"}),
    ],
)
async def test_a_form_that_is_none_is_refused_and_nothing_is_kept(
    world: World, pieces: list[bytes], headers: dict[str, str]
) -> None:
    async with world.client("bea") as bea:
        collection = await make(bea)

    answer = await world.send(collection, pieces, **headers)

    assert (answer.status, answer.json["code"]) == (400, "upload_invalid")
    assert world.files() == []


async def test_a_form_in_small_pieces_is_read_whole(world: World) -> None:
    async with world.client("bea") as bea:
        collection = await make(bea)
    whole = HEAD + LEAVE.encode() + TAIL

    answer = await world.send(collection, [bytes([byte]) for byte in whole], **FORM)

    assert answer.status == 202
    assert answer.json["items"][0]["size_bytes"] == len(LEAVE.encode())
    [kept] = world.files()
    assert kept.read_bytes() == LEAVE.encode()


async def test_more_files_than_may_be_are_refused_and_none_is_kept(world: World) -> None:
    async with world.client("bea") as bea:
        collection = await make(bea)
        many = [("file", (f"{n}.txt", "x")) for n in range(21)]
        answer = await bea.post(f"/api/collections/{collection}/documents", files=many)

    assert (answer.status_code, answer.json()["code"]) == (400, "upload_invalid")
    assert world.files() == []


async def test_what_is_left_unread_is_read_after_a_restart(world: World, tmp_path: Path) -> None:
    async with world.client("bea") as bea:
        collection = await make(bea)
    library = world.planwerk.library
    found = await library.index.collection("default", collection)
    assert found is not None
    await world.planwerk.stop()
    away = Planwerk([LLMWrappingAgent], storage=tmp_path / "data.db", model=ScriptedModel([]))
    await away.start(work=False)
    writer = away.library.files.begin("default", most_bytes=100)
    writer.write(b"Fine.")
    brought = await away.library.receive(found, "a.md", writer.finish(), author=None)
    await away.stop()

    async with Planwerk([LLMWrappingAgent], storage=tmp_path / "data.db", model=ScriptedModel([])) as again:

        async def is_read() -> bool:
            document = await again.library.index.document("default", brought.document.id)
            return document is not None and document.state == "ready"

        await until(is_read)
