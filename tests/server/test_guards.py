"""What every request passes: sizes, names, origins, ids and headers; and what is answered when nothing else is."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from structlog.contextvars import get_contextvars

from planwerk.app import Planwerk
from planwerk.server import body_limit
from planwerk.server.application import create_app
from planwerk.server.static_files import WebClient
from planwerk.testing import ScriptedModel
from planwerk.workflow.ids import new_id
from tests.server.asgi import ask
from tests.server.live import live_server
from tests.server.world import chat, new_thread

MESSAGE_BYTES = 10_000
LIMIT = 2 * MESSAGE_BYTES + 65_536


@pytest.fixture
async def planwerk(tmp_path: Path) -> AsyncGenerator[Planwerk]:
    async with Planwerk(storage=tmp_path / "data.db", model=ScriptedModel(["Quokka."] * 5)) as planwerk:
        yield planwerk


@pytest.fixture
def application(planwerk: Planwerk) -> FastAPI:
    return create_app(planwerk, message_bytes=MESSAGE_BYTES, hosts=["chat.example.org"])


@pytest.fixture
async def key(planwerk: Planwerk) -> dict[str, str]:
    return {"Authorization": f"Bearer {(await planwerk.access.set_local_key(None)).text}"}


class TestSizes:
    async def test_a_body_that_says_it_is_too_large_is_refused_unread(
        self, application: FastAPI, key: dict[str, str]
    ) -> None:
        headers = {**key, "Content-Length": str(LIMIT + 1), "Content-Type": "application/json"}

        answer = await ask(application, "POST", "/api/threads", headers=headers)

        assert (answer.status, answer.json["code"], answer.read) == (413, "too_large", 0)

    @pytest.mark.parametrize("declared", [{}, {"Content-Length": "100"}, {"Content-Length": "no number"}])
    async def test_a_body_that_does_not_say_so_or_lies_is_read_no_further_than_the_limit(
        self, application: FastAPI, key: dict[str, str], declared: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        taken = 0

        async def pieces() -> AsyncGenerator[bytes]:
            nonlocal taken
            while True:
                taken += 1_000
                yield b" " * 1_000

        headers = {**key, **declared, "Content-Type": "application/json"}
        monkeypatch.setattr(body_limit, "LINGER_BYTES", 50_000)
        answer = await ask(application, "POST", "/api/threads", headers=headers, pieces=pieces())

        assert (answer.status, answer.json["code"]) == (413, "too_large")
        assert taken <= LIMIT + 50_000 + 3_000

    async def test_on_v1_the_refusal_has_the_form_its_clients_know(
        self, application: FastAPI, key: dict[str, str]
    ) -> None:
        headers = {**key, "Content-Length": str(LIMIT + 1)}

        answer = await ask(application, "POST", "/v1/chat/completions", headers=headers)

        assert answer.status == 413
        assert answer.json["error"]["code"] == "too_large"

    async def test_a_text_up_to_the_limit_is_taken_however_it_is_escaped(
        self, application: FastAPI, key: dict[str, str]
    ) -> None:
        transport = httpx2.ASGITransport(application)
        async with httpx2.AsyncClient(transport=transport, base_url="http://testserver", headers=key) as client:
            thread = await new_thread(client)
            for text in ('"' * MESSAGE_BYTES, "\n" * (MESSAGE_BYTES - 1) + "x", "x" * MESSAGE_BYTES):
                body = json.dumps({"message_id": new_id(), "content": text})
                headers = {"Content-Type": "application/json"}
                posted = await client.post(f"/api/threads/{thread['id']}/messages", content=body, headers=headers)
                assert posted.status_code == 202, posted.text

    async def test_ten_megabytes_over_a_real_port_get_an_answer_and_the_server_lives(self, tmp_path: Path) -> None:
        served = live_server(Planwerk(storage=tmp_path / "live.db", model=ScriptedModel([])))
        async with served as server, server.client() as client:
            thread = await new_thread(client)
            body = {"message_id": new_id(), "content": "x" * 10_000_000}
            answer = await client.post(f"/api/threads/{thread['id']}/messages", json=body)
            after = await client.get(f"/api/threads/{thread['id']}")

        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
        assert after.json()["messages"] == []


class TestNames:
    @pytest.mark.parametrize(
        ("host", "status"),
        [
            ("127.0.0.1:8321", 200),
            ("localhost", 200),
            ("planwerk.localhost:8321", 200),
            ("[::1]:8321", 200),
            ("chat.example.org", 200),
            ("evil.example", 421),
            ("127.0.0.1.evil.example", 421),
            ("localhost.evil.example:8321", 421),
            ("[", 421),
        ],
    )
    async def test_on_loopback_only_our_own_names_are_answered(
        self, application: FastAPI, host: str, status: int
    ) -> None:
        answer = await ask(application, "GET", "/api/server", headers={"Host": host})

        assert answer.status == status
        assert status == 200 or answer.json["code"] == "wrong_host"

    async def test_beyond_loopback_any_name_may_be_ours(self, application: FastAPI) -> None:
        answer = await ask(
            application, "GET", "/api/server", headers={"Host": "any.example"}, server=("192.0.2.7", 8321)
        )

        assert answer.status == 200

    @pytest.mark.parametrize(
        ("origin", "status"),
        [
            ("http://127.0.0.1:8321", 201),
            ("http://localhost:5173", 201),
            ("https://chat.example.org", 201),
            ("https://evil.example", 403),
            ("null", 403),
        ],
    )
    async def test_a_write_from_a_page_of_another_site_is_refused(
        self, application: FastAPI, key: dict[str, str], origin: str, status: int
    ) -> None:
        headers = {**key, "Origin": origin}

        answer = await ask(application, "POST", "/api/threads", headers=headers, body={"id": new_id()})

        assert answer.status == status
        assert status == 201 or answer.json["code"] == "foreign_origin"


class TestAnswers:
    @pytest.mark.parametrize(
        ("method", "path", "status", "code"),
        [
            ("GET", "/api/nothing", 404, "not_found"),
            ("POST", "/api/nothing", 404, "not_found"),
            ("DELETE", "/api/profiles", 405, "method_not_allowed"),
            ("PUT", f"/api/threads/{new_id()}", 405, "method_not_allowed"),
            ("POST", "/threads/abc", 405, "method_not_allowed"),
            ("GET", "/health/none", 404, "not_found"),
            ("GET", "/api/threads/", 404, "not_found"),
        ],
    )
    async def test_an_address_or_a_method_that_is_none_is_a_problem(
        self, application: FastAPI, key: dict[str, str], method: str, path: str, status: int, code: str
    ) -> None:
        answer = await ask(application, method, path, headers=key)

        assert (answer.status, answer.json["code"]) == (status, code)
        assert answer.headers["content-type"] == "application/problem+json"
        assert status != 405 or "GET" in answer.headers["allow"]

    async def test_what_nobody_expected_is_a_problem_with_the_headers_of_every_answer(
        self,
        application: FastAPI,
        planwerk: Planwerk,
        key: dict[str, str],
        caplog: pytest.LogCaptureFixture,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        async def broken(_: Any) -> Any:
            raise RuntimeError("the disk is on fire")

        monkeypatch.setattr(planwerk.profiles, "list", broken)

        answer = await ask(application, "GET", "/api/profiles", headers={**key, "X-Request-Id": "abc-1"})

        assert (answer.status, answer.json["code"], answer.json["request_id"]) == (500, "internal_error", "abc-1")
        assert answer.headers["x-request-id"] == "abc-1"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "the disk is on fire" not in answer.body.decode()
        assert "the disk is on fire" in caplog.text

    async def test_a_request_id_that_could_forge_a_line_of_the_log_is_replaced(self, application: FastAPI) -> None:
        answer = await ask(application, "GET", "/api/server", headers={"X-Request-Id": "a b\tc"})

        assert answer.headers["x-request-id"] != "a b\tc"

    @pytest.mark.parametrize("path", ["/api/server", "/", "/api/nothing", "/v1/models"])
    async def test_every_answer_has_the_headers_that_keep_a_page_to_itself(
        self, application: FastAPI, path: str
    ) -> None:
        headers = (await ask(application, "GET", path)).headers

        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-frame-options"] == "DENY"


class TestWebClient:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        folder = tmp_path / "static"
        (folder / "assets").mkdir(parents=True)
        (folder / "index.html").write_text("<!doctype html><title>Planwerk</title>")
        (folder / "assets" / "app-1.js").write_text("let a;")
        (tmp_path / "secret.txt").write_text("secret")
        return folder

    @pytest.mark.parametrize("path", ["/", "/chats", "/threads/0198", "/runs/0198/graph", "/apitude"])
    async def test_every_address_of_its_own_gives_the_page(self, application: FastAPI, folder: Path, path: str) -> None:
        application.router.default = WebClient(folder)

        answer = await ask(application, "GET", path)

        assert (answer.status, b"Planwerk" in answer.body) == (200, True)
        assert answer.headers["cache-control"] == "no-cache"

    async def test_built_files_may_be_kept_and_missing_ones_are_no_page(
        self, application: FastAPI, folder: Path
    ) -> None:
        application.router.default = WebClient(folder)

        found = await ask(application, "GET", "/assets/app-1.js")
        gone = await ask(application, "GET", "/assets/app-0.js")

        assert "immutable" in found.headers["cache-control"]
        assert (gone.status, gone.json["code"]) == (404, "not_found")

    @pytest.mark.parametrize("path", ["/../secret.txt", "/assets/../../secret.txt", "/..%2fsecret.txt"])
    async def test_nothing_beside_the_folder_is_served(self, application: FastAPI, folder: Path, path: str) -> None:
        application.router.default = WebClient(folder)

        assert b"secret" not in (await ask(application, "GET", path)).body

    async def test_a_client_that_was_not_built_says_how_to_build_it(self, application: FastAPI, tmp_path: Path) -> None:
        application.router.default = WebClient(tmp_path / "none")

        answer = await ask(application, "GET", "/")

        assert answer.status == 503
        assert b"make serve" in answer.body


class TestLog:
    async def test_a_line_a_request_with_its_ids_and_never_what_people_write(
        self, application: FastAPI, key: dict[str, str], caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.INFO)
        kept = Kept()
        logging.getLogger().addHandler(kept)
        transport = httpx2.ASGITransport(application)
        try:
            async with httpx2.AsyncClient(transport=transport, base_url="http://testserver", headers=key) as client:
                thread = await chat(client, "Explain the wombat")
                run = thread["messages"][1]["run"]["id"]
                read = await client.get(f"/api/runs/{run}?token=hidden", headers={"X-Request-Id": "mine-7"})
                await client.get("/signin?token=hidden")
        finally:
            logging.getLogger().removeHandler(kept)

        line = next(context for _, context in kept.lines if context.get("request") == "mine-7")
        assert read.headers["x-request-id"] == "mine-7"
        assert (line["method"], line["path"], line["status"]) == ("GET", f"/api/runs/{run}", 200)
        assert (line["tenant"], line["run"], line["thread"]) == ("default", run, thread["id"])
        assert len(thread["messages"]) == 2
        assert get_contextvars() == {}
        everything = "\n".join(f"{message} {context}" for message, context in kept.lines)
        for private in ("wombat", "Quokka", "hidden", key["Authorization"].split()[1]):
            assert private not in everything


class Kept(logging.Handler):
    """Keeps what is logged at `info` and above, each line with the context it was logged in."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[tuple[str, dict[str, Any]]] = []

    def emit(self, record: logging.LogRecord) -> None:
        if not record.name.startswith(
            "httpx2"
        ):  # the client of this test, which the server's log is set up to leave out
            self.lines.append((record.getMessage(), dict(get_contextvars())))
