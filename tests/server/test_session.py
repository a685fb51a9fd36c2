"""Coming in, staying in and going out, over HTTP; the refusals' bodies are tested with the problems."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import AsyncIterator
from types import SimpleNamespace

import httpx2
import pytest
from fastapi import FastAPI, Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from planwerk.access.actions import Action, Role
from planwerk.access.ids import DEFAULT_TENANT
from planwerk.access.service import AccessService
from planwerk.server.authentication import COOKIE, IN_PROCESS, SignedIn, Visitor, refusal_headers
from planwerk.server.routes.session import router
from planwerk.storage.in_memory.accounts import InMemoryAccounts
from planwerk.storage.in_memory.workspace import InMemoryWorkspaceStorage
from planwerk.workflow.errors import PlanwerkError
from planwerk.workspace.workspaces import Workspaces
from tests.access.world import Clock, service_over

PASSWORD = "correct horse"
ADA = {"login": "ada", "password": PASSWORD}


def make_app(access: AccessService) -> FastAPI:
    app = FastAPI()
    app.state.planwerk = SimpleNamespace(access=access, workspaces=Workspaces(InMemoryWorkspaceStorage()))
    app.include_router(router)

    @app.exception_handler(PlanwerkError)
    async def refuse(_: Request, error: PlanwerkError) -> JSONResponse:  # pyright: ignore[reportUnusedFunction] # registered
        return JSONResponse({"code": error.code}, error.http_status, refusal_headers(error))

    @app.api_route("/whoami", methods=["GET", "POST"])
    async def whoami(principal: SignedIn) -> list[str]:  # pyright: ignore[reportUnusedFunction] # registered
        return [principal.tenant, principal.name, principal.via, *sorted(principal.scopes or ())]

    @app.get("/public")
    async def public(principal: Visitor) -> str:  # pyright: ignore[reportUnusedFunction] # registered
        return "nobody" if principal is None else principal.name

    return app


def browser(app: FastAPI, base: str = "http://127.0.0.1:8321") -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=base)


@pytest.fixture
async def access() -> AccessService:
    access = service_over(InMemoryAccounts(), Clock())
    await access.ensure_installation()
    await access.create_account("ada", password=PASSWORD, name="Ada", role=Role.BUILDER, locale="de")
    return access


@pytest.fixture
def app(access: AccessService) -> FastAPI:
    return make_app(access)


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx2.AsyncClient]:
    async with browser(app) as client:
        yield client


async def sign_in(client: httpx2.AsyncClient) -> str:
    """Sign in as Ada; returns the CSRF token."""
    answer = await client.post("/api/session", json=ADA)
    assert answer.status_code == 200, answer.text
    return answer.json()["csrf"]


async def test_signing_in_answers_who_one_is_and_where_one_works(client: httpx2.AsyncClient) -> None:
    signed_in = await client.post("/api/session", json=ADA)
    read = await client.get("/api/session")

    body = signed_in.json()
    assert read.json() == body
    assert {key: body["account"][key] for key in ("name", "login", "locale")} == {
        "name": "Ada",
        "login": "ada",
        "locale": "de",
    }
    assert (body["tenant"], body["role"]) == ("default", "builder")
    assert body["csrf"]
    assert body["private_workspace"]


async def test_the_private_workspace_is_made_once(client: httpx2.AsyncClient, app: FastAPI) -> None:
    await sign_in(client)
    async with browser(app) as elsewhere:
        await sign_in(elsewhere)
        workspaces = {(await each.get("/api/session")).json()["private_workspace"] for each in (client, elsewhere)}

    assert len(workspaces) == 1


async def test_the_cookie_is_kept_from_scripts_and_foreign_sites(client: httpx2.AsyncClient, app: FastAPI) -> None:
    plain = (await client.post("/api/session", json=ADA)).headers["set-cookie"]
    async with browser(app, "https://planwerk.example") as elsewhere:
        secure = (await elsewhere.post("/api/session", json=ADA)).headers["set-cookie"]

    assert re.fullmatch(rf"{COOKIE}=[\w-]{{43}}; HttpOnly; Max-Age=7776000; Path=/; SameSite=lax", plain, re.IGNORECASE)
    assert "; secure" in secure.lower()


async def test_a_wrong_password_is_a_401_without_a_cookie(client: httpx2.AsyncClient) -> None:
    answer = await client.post("/api/session", json={"login": "ada", "password": "guess"})

    assert (answer.status_code, answer.json()["code"]) == (401, "wrong_credentials")
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert "set-cookie" not in answer.headers


async def test_guessing_is_a_429_that_says_when_to_try_again(client: httpx2.AsyncClient) -> None:
    for _ in range(5):
        await client.post("/api/session", json={"login": "ada", "password": "guess"})

    answer = await client.post("/api/session", json=ADA)

    assert (answer.status_code, answer.json()["code"]) == (429, "too_many_attempts")
    assert answer.headers["retry-after"] == "1"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ('{"login": "ada", "password": "correct horse"}', "text/plain"),  # what a foreign form can send
        ("login=ada&password=correct+horse", "application/x-www-form-urlencoded"),
        ('{"login": "ada"}', "application/json"),
        ('{"login": "ada", "password": "correct horse", "role": "owner"}', "application/json"),
        ("{", "application/json"),
    ],
)
async def test_what_is_no_sign_in_opens_nothing(client: httpx2.AsyncClient, content: str, kind: str) -> None:
    answer = await client.post("/api/session", content=content, headers={"Content-Type": kind})

    assert answer.status_code == 422
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_a_foreign_page_cannot_sign_anybody_in(client: httpx2.AsyncClient, site: str) -> None:
    answer = await client.post("/api/session", json=ADA, headers={"Sec-Fetch-Site": site})

    assert (answer.status_code, answer.json()["code"]) == (403, "csrf_refused")


async def test_the_one_time_link_opens_a_session_and_leaves_its_address(
    client: httpx2.AsyncClient, access: AccessService
) -> None:
    token = await access.issue_local_token()

    first = await client.get("/signin", params={"token": token})
    again = await client.get("/signin", params={"token": token})

    assert (first.status_code, first.headers["location"]) == (303, "/")
    assert (first.headers["cache-control"], first.headers["referrer-policy"]) == ("no-store", "no-referrer")
    assert (again.status_code, again.headers["location"]) == (303, "/?signin=expired")
    assert (await client.get("/api/session")).json()["account"]["login"] == "owner"


@pytest.mark.parametrize("query", ["", "?token=", "?token=x", "?token=%ED%A0%80", "?token=" + "x" * 5_000])
async def test_a_link_without_a_good_token_leads_to_the_sign_in_page(client: httpx2.AsyncClient, query: str) -> None:
    answer = await client.get(f"/signin{query}")

    assert (answer.status_code, answer.headers["location"]) == (303, "/?signin=expired")
    assert "set-cookie" not in answer.headers


async def test_looking_at_a_link_without_opening_it_does_not_use_it_up(
    client: httpx2.AsyncClient, access: AccessService
) -> None:
    token = await access.issue_local_token()

    await client.head("/signin", params={"token": token})

    assert (await client.get("/signin", params={"token": token})).headers["location"] == "/"


async def test_signing_in_again_ends_the_session_the_browser_came_with(client: httpx2.AsyncClient) -> None:
    await sign_in(client)
    old = client.cookies[COOKIE]
    await sign_in(client)
    new = client.cookies[COOKIE]

    client.cookies.set(COOKIE, old, domain="127.0.0.1")
    assert old != new
    assert (await client.get("/api/session")).status_code == 401


async def test_a_write_by_cookie_needs_the_csrf_token_of_its_own_session(
    client: httpx2.AsyncClient, app: FastAPI
) -> None:
    csrf = await sign_in(client)
    async with browser(app) as elsewhere:
        foreign = await sign_in(elsewhere)

    codes = {
        sent: (await client.post("/whoami", headers={} if sent is None else {"X-CSRF-Token": sent})).status_code
        for sent in (None, "", "x", foreign, csrf)
    }

    assert codes == {None: 403, "": 403, "x": 403, foreign: 403, csrf: 200}
    assert (await client.get("/whoami")).status_code == 200


async def test_a_write_from_a_foreign_page_is_refused_even_with_the_csrf_token(client: httpx2.AsyncClient) -> None:
    csrf = await sign_in(client)
    headers = {"X-CSRF-Token": csrf}

    foreign = await client.post("/whoami", headers={**headers, "Sec-Fetch-Site": "cross-site"})
    own = await client.post("/whoami", headers={**headers, "Sec-Fetch-Site": "same-origin"})

    assert (foreign.status_code, own.status_code) == (403, 200)


async def test_an_api_key_needs_no_csrf_token_and_has_none(client: httpx2.AsyncClient, access: AccessService) -> None:
    key = (await access.set_local_key()).text
    headers = {"Authorization": f"Bearer {key}"}

    written = await client.post("/whoami", headers=headers)
    session = await client.get("/api/session", headers=headers)

    assert written.json() == ["default", "Owner", "key"]
    assert session.json()["csrf"] is None


@pytest.mark.parametrize("header", ["Bearer ", "Bearer nonsense", "bearer pw_a_b", "Bearer " + "x" * 9_000])
async def test_a_key_that_is_not_valid_is_refused_whatever_cookie_is_beside_it(
    client: httpx2.AsyncClient, header: str
) -> None:
    await sign_in(client)

    answer = await client.get("/public", headers={"Authorization": header})

    assert (answer.status_code, answer.json()["code"]) == (401, "key_refused")


async def test_another_scheme_of_authorization_belongs_to_a_proxy_and_is_not_ours(client: httpx2.AsyncClient) -> None:
    await sign_in(client)

    assert (await client.get("/whoami", headers={"Authorization": "Basic eDp5"})).json()[1] == "Ada"


async def test_nobody_is_a_visitor_but_not_signed_in(client: httpx2.AsyncClient) -> None:
    assert (await client.get("/public")).json() == "nobody"
    answer = await client.get("/whoami")
    assert (answer.status_code, answer.json()["code"]) == (401, "not_signed_in")


async def test_signing_out_ends_the_session_and_takes_the_cookie_back(client: httpx2.AsyncClient) -> None:
    csrf = await sign_in(client)
    token = client.cookies[COOKIE]

    refused = await client.delete("/api/session")
    answer = await client.delete("/api/session", headers={"X-CSRF-Token": csrf})

    assert (refused.status_code, answer.status_code) == (403, 204)
    assert "Max-Age=0" in answer.headers["set-cookie"]
    client.cookies.set(COOKIE, token, domain="127.0.0.1")
    assert (await client.get("/api/session")).status_code == 401


async def test_signing_out_without_a_living_session_is_no_error(
    client: httpx2.AsyncClient, access: AccessService
) -> None:
    never = await client.delete("/api/session")
    await sign_in(client)
    await access.sign_out(client.cookies[COOKIE])

    assert (never.status_code, (await client.delete("/api/session")).status_code) == (204, 204)


async def test_a_person_chooses_her_language(client: httpx2.AsyncClient) -> None:
    headers = {"X-CSRF-Token": await sign_in(client)}

    french = await client.patch("/api/session", json={"locale": "fr"}, headers=headers)
    wrong = await client.patch("/api/session", json={"locale": "klingon!"}, headers=headers)
    browsers = await client.patch("/api/session", json={"locale": None}, headers=headers)

    assert french.json()["account"]["locale"] == "fr"
    assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid_account")
    assert browsers.json()["account"]["locale"] is None
    assert (await client.get("/api/session")).json() == browsers.json()


async def test_a_key_whose_scopes_leave_it_out_does_not_change_the_language(
    client: httpx2.AsyncClient, access: AccessService
) -> None:
    owner = await access.local_principal()
    key = (await access.create_key(owner, "narrow", scopes=frozenset({Action.V1_USE}))).text

    answer = await client.patch("/api/session", json={"locale": "fr"}, headers={"Authorization": f"Bearer {key}"})

    assert (answer.status_code, answer.json()["code"]) == (403, "out_of_scope")


async def test_a_disabled_account_is_out_at_its_next_request(client: httpx2.AsyncClient, access: AccessService) -> None:
    await sign_in(client)
    ada = await access.account_by_login(DEFAULT_TENANT, "ada")

    await access.disable(DEFAULT_TENANT, ada.id)

    assert (await client.get("/api/session")).json()["code"] == "session_ended"


async def test_a_transport_in_this_process_names_its_principal_and_a_network_client_cannot(
    app: FastAPI, access: AccessService
) -> None:
    local = dataclasses.replace(await access.local_principal(), name="This command")

    async def in_process(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, IN_PROCESS: local}, receive, send)

    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(in_process), base_url="http://in-process") as command:
        named = await command.post("/whoami", headers={"Authorization": "Bearer nonsense"})
    async with browser(app) as network:
        claimed = await network.get("/whoami", headers={IN_PROCESS: "owner", "planwerk-principal": "owner"})

    assert named.json() == ["default", "This command", "local"]
    assert claimed.status_code == 401
