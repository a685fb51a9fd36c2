"""An application in this process answers as a server does: body by body, and it notices who leaves."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest

from planwerk.access.actions import Role
from planwerk.access.ids import AccountId, TenantId
from planwerk.access.principal import Principal
from planwerk.cli.client import read_events
from planwerk.cli.in_process import ADDRESS, InProcessTransport
from planwerk.server.authentication import IN_PROCESS

ADA = Principal(TenantId("default"), AccountId("ada"), "Ada", Role.OWNER, via="local")


def client_of(application: Any) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=InProcessTransport(application, ADA), base_url=ADDRESS)


async def begin(send: Any, status: int = 200) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"x-kind", b"test")]})


async def test_a_request_arrives_whole_and_in_the_name_of_its_principal() -> None:
    seen: dict[str, Any] = {}

    async def application(scope: Any, receive: Any, send: Any) -> None:
        seen.update(scope, body=(await receive())["body"])
        await begin(send, 201)
        await send({"type": "http.response.body", "body": b"made"})

    async with client_of(application) as client:
        answer = await client.post("/api/things?a=1", json={"b": 2})

    assert (answer.status_code, answer.text, answer.headers["x-kind"]) == (201, "made", "test")
    assert (seen["method"], seen["path"], seen["query_string"]) == ("POST", "/api/things", b"a=1")
    assert (seen["body"], seen[IN_PROCESS]) == (b'{"b":2}', ADA)


async def test_a_stream_is_read_while_it_is_written() -> None:
    go_on = asyncio.Event()

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await begin(send)
        await send({"type": "http.response.body", "body": b"event: a\ndata: 1\n\n", "more_body": True})
        await go_on.wait()
        await send({"type": "http.response.body", "body": b": alive\n\nid: 7\ndata: 2\ndata: 3\n\n"})

    async with client_of(application) as client, client.stream("GET", "/") as response:
        events = read_events(response.aiter_lines())
        first = await anext(events)
        go_on.set()
        second = await anext(events)

    assert (first.name, first.data, first.id) == ("a", "1", None)
    assert (second.name, second.data, second.id) == ("message", "2\n3", "7")


async def test_a_reader_that_leaves_is_told_to_the_application() -> None:
    left = asyncio.Event()

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await begin(send)
        try:
            while True:
                await send({"type": "http.response.body", "body": b"more\n", "more_body": True})
        finally:
            left.set()

    async with client_of(application) as client, client.stream("GET", "/") as response:
        await anext(response.aiter_lines())

    assert left.is_set()


async def test_what_an_application_raises_reaches_the_caller() -> None:
    async def application(scope: Any, receive: Any, send: Any) -> None:
        raise LookupError("nothing")

    async with client_of(application) as client:
        with pytest.raises(LookupError, match="nothing"):
            await client.get("/")


async def test_an_application_that_says_nothing_is_no_answer() -> None:
    async def application(scope: Any, receive: Any, send: Any) -> None:
        return

    async with client_of(application) as client:
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.get("/")
