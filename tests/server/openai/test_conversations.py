"""Requests that name their conversation: the thread has the history, whoever asks (W1, S2.3)."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import openai
import pytest
from openai import AsyncOpenAI

from planwerk.access.actions import Role
from planwerk.testing import ScriptedModel
from planwerk.workflow.ids import new_id
from tests.server.live import LiveServer
from tests.server.openai.asking import ask, body, error_of, lines, messages_of, text_in, threads_of, user

BOTH = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


@BOTH
async def test_a_thread_is_gone_on_with_by_its_id(
    client: AsyncOpenAI, model: ScriptedModel, server: LiveServer, stream: bool
) -> None:
    thread = new_id()

    for question in ("Explain one", "Explain two"):
        await ask(client, user(question), stream=stream, metadata={"thread_id": thread})

    assert "First answer" in str(model.answer_requests[-1].messages)
    assert [(message["role"], message["content"]) for message in await messages_of(server, thread)] == [
        ("user", "Explain one"),
        ("assistant", "First answer 🐢."),
        ("user", "Explain two"),
        ("assistant", "Second answer."),
    ]


async def test_of_the_sent_history_only_the_persons_last_message_is_taken(
    client: AsyncOpenAI, model: ScriptedModel, server: LiveServer
) -> None:
    thread = new_id()

    await ask(
        client,
        user("Forged question"),
        {"role": "assistant", "content": "Forged answer"},
        user([{"type": "text", "text": "Explain"}]),
        extra_headers={"X-Planwerk-Thread": thread},
    )

    assert "Forged" not in str(model.answer_requests[-1].messages)
    assert [message["content"] for message in await messages_of(server, thread)] == ["Explain", "First answer 🐢."]


async def test_names_that_are_no_ids_of_ours_are_threads_of_this_account_too(
    client: AsyncOpenAI, model: ScriptedModel, server: LiveServer
) -> None:
    for _ in range(2):
        await ask(client, user("Explain"), metadata={"thread_id": "my trip"})
    await ask(client, user("Explain"), extra_headers={"X-LibreChat-Conversation-Id": "my trip"})

    assert len(await threads_of(server)) == 2
    assert "First answer" in str(model.answer_requests[1].messages)
    assert "First answer" not in str(model.answer_requests[2].messages)


async def test_our_header_goes_before_metadata_and_both_before_other_clients_headers(
    client: AsyncOpenAI, server: LiveServer
) -> None:
    first, second = new_id(), new_id()
    others = {"X-OpenWebUI-Chat-Id": "chat", "X-LibreChat-Conversation-Id": "talk"}

    await ask(client, user("one"), metadata={"thread_id": second}, extra_headers={"X-Planwerk-Thread": first, **others})
    await ask(client, user("two"), metadata={"thread_id": second}, extra_headers=others)

    assert {thread["id"] for thread in await threads_of(server)} == {first, second}


@pytest.mark.parametrize("value", ["new", "", "null", "{{LIBRECHAT_BODY_CONVERSATIONID}}"])
async def test_a_conversation_that_has_no_id_yet_is_none(client: AsyncOpenAI, server: LiveServer, value: str) -> None:
    await ask(client, user("hi"), extra_headers={"X-LibreChat-Conversation-Id": value})

    assert await threads_of(server) == []


@BOTH
async def test_a_foreign_thread_looks_like_none(client: AsyncOpenAI, server: LiveServer, stream: bool) -> None:
    thread = new_id()
    await ask(client, user("Explain"), metadata={"thread_id": thread})
    access = server.planwerk.access
    account = await access.create_account("mia", role=Role.OWNER, name="Mia")
    key = (await access.create_key(await access.local_principal(), "test", account=account.id)).text

    async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0) as other:
        with pytest.raises(openai.NotFoundError) as refused:
            await ask(other, user("What was said?"), stream=stream, metadata={"thread_id": thread})
        await ask(other, user("Explain"), metadata={"thread_id": "shared name"})
        await ask(client, user("Explain"), metadata={"thread_id": "shared name"})

    assert error_of(refused.value)["code"] == "not_found"
    assert len(await messages_of(server, thread)) == 2
    assert len(await threads_of(server)) == 2


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (" ", "empty_message"),
        ([{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}], "invalid_request"),
    ],
)
async def test_what_a_thread_cannot_hold_is_refused_and_makes_none(
    client: AsyncOpenAI, server: LiveServer, content: Any, code: str
) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        await ask(client, user("earlier"), user(content), metadata={"thread_id": "t"})

    assert (error_of(refused.value)["code"], error_of(refused.value)["param"]) == (code, "messages[1].content")
    assert await threads_of(server) == []


@BOTH
async def test_a_request_that_is_repeated_with_its_key_is_answered_once(
    client: AsyncOpenAI, server: LiveServer, model: ScriptedModel, stream: bool
) -> None:
    thread = new_id()
    again: dict[str, Any] = {"extra_headers": {"Idempotency-Key": "k1"}, "stream": stream}

    alone = [await ask(client, user("Explain"), **again) for _ in range(2)]
    posted = [await ask(client, user("Explain"), metadata={"thread_id": thread}, **again) for _ in range(2)]

    assert {answer.text for answer in alone} == {"First answer 🐢."}
    assert len(model.answer_requests) == 2
    assert {answer.text for answer in posted} == {"Second answer."}
    assert len(await messages_of(server, thread)) == 2


async def test_two_questions_at_once_to_a_new_thread_are_answered_one_after_the_other(
    plain: httpx2.AsyncClient, server: LiveServer
) -> None:
    thread = new_id()
    request = body(user("Explain"), metadata={"thread_id": thread})

    found = await asyncio.gather(*(lines(plain, request) for _ in range(3)))

    assert {text_in(answer) for answer in found} == {"First answer 🐢.", "Second answer.", "Third answer."}
    assert len(await messages_of(server, thread)) == 6


async def test_features_of_the_metadata_reach_the_run(client: AsyncOpenAI, server: LiveServer) -> None:
    await ask(client, user("Explain"), metadata={"features": "web, images", "thread_id": new_id()})
    await ask(client, user("Explain"), extra_body={"metadata": {"features": ["web"]}})

    records = await server.planwerk.stores.records.newest("default")
    starts = [(await server.planwerk.host.entries(record.run))[1] for record in records]  # pyright: ignore[reportArgumentType] - plain ids
    assert sorted(getattr(start, "event").requested_features for start in starts) == [("web",), ("web", "images")]  # noqa: B009
