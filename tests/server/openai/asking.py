"""Short forms for what most tests of this room do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx2
import openai
from openai import AsyncOpenAI

from tests.server.live import LiveServer

URL = "/v1/chat/completions"


def user(text: Any) -> Any:
    return {"role": "user", "content": text}


def body(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "assistant", "messages": list(messages or [user("Explain turtles")]), **more}


async def create(client: AsyncOpenAI, **request: Any) -> Any:
    """A completion or a stream; the client's overloads cannot be chosen by a request that is data."""
    completions: Any = client.chat.completions
    return await completions.create(**request)


@dataclass(frozen=True)
class Answer:
    """What a client made of an answer, whichever form it had."""

    text: str
    refusal: str
    reasoning: str
    finish_reason: str | None
    total_tokens: int
    deltas: int


async def ask(client: AsyncOpenAI, *messages: Any, stream: bool = False, **more: Any) -> Answer:
    """Ask by the official client, with usage."""
    request = body(*messages, **more)
    if not stream:
        whole = await create(client, **request)
        message = whole.choices[0].message
        assert whole.usage is not None
        reasoning = getattr(message, "reasoning_content", "")
        text, refusal = message.content or "", message.refusal or ""
        return Answer(text, refusal, reasoning, whole.choices[0].finish_reason, whole.usage.total_tokens, 0)
    options = {"include_usage": True}
    chunks = [one async for one in await create(client, **request, stream=True, stream_options=options)]
    choices = [chunk.choices[0] for chunk in chunks if chunk.choices]
    assert chunks[-1].usage is not None
    return Answer(
        "".join(choice.delta.content or "" for choice in choices),
        "".join(choice.delta.refusal or "" for choice in choices),
        "".join(getattr(choice.delta, "reasoning_content", None) or "" for choice in choices),
        choices[-1].finish_reason,
        chunks[-1].usage.total_tokens,
        sum(bool(choice.delta.content) for choice in choices),
    )


async def lines(client: httpx2.AsyncClient, request: dict[str, Any], **headers: str) -> list[Any]:
    """The data of a stream's lines, JSON parsed, split as the standard says: at line feeds only."""
    async with client.stream("POST", URL, json={**request, "stream": True}, headers=headers) as response:
        whole = b"".join([piece async for piece in response.aiter_bytes()]).decode()
    assert response.status_code == 200, whole
    data = [line.removeprefix("data: ") for line in whole.split("\n") if line.startswith("data: ")]
    return [item if item == "[DONE]" else json.loads(item) for item in data]


def chunks_in(found: Sequence[Any]) -> list[dict[str, Any]]:
    """The chunks of the answer, without events, errors and the end."""
    return [item for item in found if item != "[DONE]" and item.get("choices")]


def text_in(found: Sequence[Any]) -> str:
    return "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks_in(found))


def events_in(found: Sequence[Any]) -> list[tuple[str, dict[str, Any]]]:
    """Types and data of the events for Open WebUI's page."""
    return [(item["event"]["type"], item["event"]["data"]) for item in found if item != "[DONE]" and "event" in item]


def error_of(refused: openai.APIStatusError) -> dict[str, Any]:
    """The `error` of a refusal."""
    error: Any = refused.body
    return error


async def messages_of(server: LiveServer, thread: str) -> list[dict[str, Any]]:
    """A thread's messages, as REST gives them."""
    async with server.client() as plain:
        read = await plain.get(f"/api/threads/{thread}")
    assert read.status_code == 200, read.text
    return read.json()["messages"]


async def threads_of(server: LiveServer) -> list[dict[str, Any]]:
    async with server.client() as plain:
        workspace = (await plain.get("/api/workspaces")).json()["items"][0]["id"]
        return (await plain.get(f"/api/workspaces/{workspace}/threads")).json()["items"]
