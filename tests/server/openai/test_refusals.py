"""What is wrong with a request is told before the first byte, with the status and in the form of the protocol (W1)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import openai
import pytest
from openai import AsyncOpenAI

from planwerk.testing import ScriptedModel
from tests.server.live import LiveServer
from tests.server.openai.asking import URL, body, create, error_of, user

BOTH = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
TOOL = {"type": "function", "function": {"name": "f"}}


@pytest.mark.parametrize(
    ("given", "status", "param", "code"),
    [
        ({"model": "nobody"}, 404, "model", "model_not_found"),
        ({"model": ""}, 400, "model", "invalid_request"),
        ({"n": 2}, 400, "n", "invalid_request"),
        ({"n": [1]}, 400, "n", "invalid_request"),
        ({"tools": [TOOL]}, 400, "tools", "client_tools_not_allowed"),
        ({"functions": [{"name": "f"}]}, 400, "functions", "client_tools_not_allowed"),
        ({"messages": []}, 400, "messages", "invalid_request"),
        ({"messages": "hi"}, 400, "messages", "invalid_request"),
        ({"messages": ["hi"]}, 400, "messages[0]", "invalid_request"),
        ({"messages": [user("hi"), {"role": "wizard", "content": "x"}]}, 400, "messages[1].role", "invalid_request"),
        ({"messages": [{"content": "x"}]}, 400, "messages[0].role", "invalid_request"),
        ({"messages": [user(7)]}, 400, "messages[0].content", "invalid_request"),
        ({"messages": [user([{"type": "hologram"}])]}, 400, "messages[0].content", "invalid_request"),
        ({"messages": [user([7])]}, 400, "messages[0].content", "invalid_request"),
        ({"messages": [user("x" * 1_048_577)]}, 413, None, "message_too_large"),
        ({"messages": [user([{"type": "text", "text": "x" * 1_048_577}])]}, 413, None, "message_too_large"),
    ],
)
@BOTH
async def test_what_is_wrong_is_named_before_the_first_byte(
    client: AsyncOpenAI,
    model: ScriptedModel,
    given: dict[str, Any],
    status: int,
    param: str | None,
    code: str,
    stream: bool,
) -> None:
    with pytest.raises(openai.APIStatusError) as refused:
        await create(client, **{**body(stream=stream), **given})

    error = error_of(refused.value)
    assert (refused.value.status_code, error["code"]) == (status, code)
    assert error["type"] == "invalid_request_error"
    assert error["param"] == param
    assert refused.value.request_id
    assert model.requests == []


@pytest.mark.parametrize(
    "picture",
    ["file:///etc/passwd", "data:image/png;base64,???", "", "javascript:alert(1)"],
    ids=["file", "no base64", "empty", "script"],
)
async def test_pictures_are_taken_by_http_or_whole(client: AsyncOpenAI, picture: str) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        await create(client, **body(user([{"type": "image_url", "image_url": {"url": picture}}])))

    assert error_of(refused.value)["param"] == "messages[0].content"


@pytest.mark.parametrize(
    "content",
    [b"{not json", b"", b"\xff\xfe\x00", b"[" * 100_000, b'{"n": ' + b"9" * 5_000 + b"}", b"[]", b"null"],
    ids=["malformed", "empty", "no text", "deeply nested", "a number of 5,000 digits", "a list", "null"],
)
async def test_a_body_that_is_no_json_object_is_a_400(plain: httpx2.AsyncClient, content: bytes) -> None:
    refused = await plain.post(URL, content=content)

    assert refused.status_code == 400
    assert refused.json()["error"]["type"] == "invalid_request_error"
    assert refused.json()["error"]["code"] in {"malformed_json", "invalid_request"}


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_wrong_key_and_none_are_a_401(server: LiveServer, method: str) -> None:
    path = "/v1/models" if method == "GET" else URL
    async with httpx2.AsyncClient(base_url=server.url) as nobody:
        found = [
            await nobody.request(method, path, headers=headers, json=body() if method == "POST" else None)
            for headers in ({}, {"Authorization": "Bearer pw_wrong"}, {"Authorization": "Basic eDp5"})
        ]

    assert [response.status_code for response in found] == [401, 401, 401]
    assert {response.json()["error"]["code"] for response in found} == {"invalid_api_key"}
    assert {response.json()["error"]["type"] for response in found} == {"authentication_error"}
    assert all("Bearer" in response.headers["www-authenticate"] for response in found)


@pytest.mark.parametrize("declared", [True, False], ids=["declared", "chunked"])
async def test_a_body_that_is_too_large_is_refused_in_this_form_too(plain: httpx2.AsyncClient, declared: bool) -> None:
    async def pieces() -> AsyncGenerator[bytes]:
        for _ in range(100):
            yield b"x" * 100_000

    refused = await plain.post(URL, content=b"x" * 10_000_000 if declared else pieces())

    assert refused.status_code == 413
    assert refused.json()["error"]["type"] == "invalid_request_error"
    assert refused.json()["error"]["code"] == "too_large"


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/v1/embeddings"), ("GET", "/v1/chat/completions"), ("DELETE", "/v1/models/assistant"), ("GET", "/v1")],
)
async def test_what_is_not_offered_is_a_404_that_says_what_is(
    plain: httpx2.AsyncClient, method: str, path: str
) -> None:
    refused = await plain.request(method, path)

    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "unknown_url")
    assert "/v1/chat/completions" in refused.json()["error"]["message"]


async def test_the_request_id_is_the_clients_where_it_sends_one(plain: httpx2.AsyncClient) -> None:
    answered = await plain.post(URL, json=body(), headers={"X-Request-Id": "mine-1"})

    assert answered.headers["x-request-id"] == "mine-1"


async def test_what_is_unexpected_is_told_without_its_inside(
    plain: httpx2.AsyncClient, server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the password is swordfish")

    monkeypatch.setattr(server.planwerk.host, "start", broken)

    refused = await plain.post(URL, json=body())

    assert (refused.status_code, refused.json()["error"]["code"]) == (500, "internal_error")
    assert refused.json()["error"]["type"] == "server_error"
    assert "swordfish" not in refused.text
