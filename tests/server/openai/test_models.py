"""Profiles as models: who sees which, and in which order (W1)."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import httpx2
import openai
import pytest
from openai import AsyncOpenAI

from planwerk.access.actions import Action, Role
from planwerk.app import Planwerk
from planwerk.runtime.profiles import ProfileArtifact
from planwerk.testing import ScriptedModel
from planwerk.workflow.locale_string import LocaleString
from tests.server.live import LiveServer, live_server
from tests.server.openai.asking import ask, error_of, user


def profile(slug: str, *access: str) -> ProfileArtifact:
    name = LocaleString(en=slug.title(), de=f"{slug.title()} (deutsch)")
    return ProfileArtifact(slug=slug, name=name, blueprint="LLMWrappingAgent", access=access)


@pytest.fixture
async def server() -> AsyncGenerator[LiveServer]:
    profiles = [profile("zebra"), profile("archive"), profile("board", "role:owner")]
    async with live_server(Planwerk(model=ScriptedModel(["Yes."]), profiles=profiles)) as live:
        yield live


async def key_for(server: LiveServer, role: Role = Role.MEMBER, scopes: frozenset[Action] | None = None) -> str:
    access = server.planwerk.access
    account = await access.create_account("mia", role=role, name="Mia")
    return (await access.create_key(await access.local_principal(), "test", account=account.id, scopes=scopes)).text


def client_with(server: LiveServer, key: str) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0)


async def test_the_default_profile_is_first_and_the_others_follow_in_the_order_they_were_made(
    client: AsyncOpenAI,
) -> None:
    listed = [model async for model in client.models.list()]

    assert [model.id for model in listed] == ["zebra", "archive", "board"]
    assert {(model.object, model.owned_by, type(model.created)) for model in listed} == {("model", "planwerk", int)}


async def test_a_list_is_given_with_and_without_a_slash_at_the_end_and_never_by_a_redirect(
    plain: httpx2.AsyncClient,
) -> None:
    found = [await plain.get(path) for path in ("/v1/models", "/v1/models/", "/v1/models/archive")]

    assert [response.status_code for response in found] == [200, 200, 200]
    assert found[0].json() == found[1].json()
    assert found[2].json()["id"] == "archive"


async def test_clients_that_show_names_get_them_in_the_persons_language(plain: httpx2.AsyncClient) -> None:
    listed = await plain.get("/v1/models", headers={"Accept-Language": "de"})

    assert listed.json()["data"][0]["name"] == "Zebra (deutsch)"


async def test_a_profile_that_is_not_for_the_key_looks_like_none(server: LiveServer) -> None:
    async with client_with(server, await key_for(server)) as stranger:
        listed = [model.id async for model in stranger.models.list()]
        errors: list[dict[str, object]] = []
        for name in ("board", "nobody"):
            with pytest.raises(openai.NotFoundError) as retrieved:
                await stranger.models.retrieve(name)
            with pytest.raises(openai.NotFoundError) as asked:
                await ask(stranger, user("hi"), model=name)
            errors += [error_of(retrieved.value), error_of(asked.value)]

    assert listed == ["zebra", "archive"]
    assert {(error["code"], error["type"]) for error in errors} == {("model_not_found", "invalid_request_error")}
    assert {str(error["message"]).replace("board", "nobody") for error in errors} == {str(errors[-1]["message"])}


async def test_a_key_without_the_scope_of_this_surface_is_refused(server: LiveServer) -> None:
    key = await key_for(server, scopes=frozenset({Action.PROFILE_USE, Action.THREAD_READ}))

    async with client_with(server, key) as narrowed:
        with pytest.raises(openai.PermissionDeniedError) as refused:
            await narrowed.models.list()

    assert error_of(refused.value)["type"] == "permission_error"


async def test_a_key_narrowed_to_this_surface_can_ask_but_not_write_threads(server: LiveServer) -> None:
    key = await key_for(server, scopes=frozenset({Action.V1_USE, Action.PROFILE_USE}))

    async with client_with(server, key) as narrowed:
        answer = await ask(narrowed, model="zebra")
        with pytest.raises(openai.PermissionDeniedError):
            await ask(narrowed, model="zebra", extra_body={"metadata": {"thread_id": "t"}})

    assert answer.text == "Yes."
