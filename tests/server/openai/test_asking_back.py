"""A run that asks a person, for clients of the OpenAI protocol: the question is text, the next message its answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import httpx2
import pytest
from openai import AsyncOpenAI

from planwerk.app import Planwerk
from planwerk.runtime.profiles import ProfileArtifact
from planwerk.testing import ScriptedModel
from planwerk.workflow.ids import new_id
from planwerk.workflow.locale_string import LocaleString
from tests.server.live import LiveServer, live_server
from tests.server.openai.asking import URL, ask, body, create, messages_of, user
from tests.server.test_requests import RestAsker
from tests.server.world import until

BOTH = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


@pytest.fixture
async def server() -> AsyncGenerator[LiveServer]:
    profile = ProfileArtifact(slug="assistant", blueprint="RestAsker", name=LocaleString("Asker"))
    planwerk = Planwerk([RestAsker], profiles=[profile], model=ScriptedModel([]))
    async with live_server(planwerk, keep_alive_seconds=0.05) as live:
        yield live


@BOTH
async def test_what_a_run_asks_is_told_and_the_next_message_answers_it(
    client: AsyncOpenAI, server: LiveServer, stream: bool
) -> None:
    thread = new_id()

    asked = await ask(client, user("colour"), stream=stream, metadata={"thread_id": thread})
    answered = await ask(client, user("colour"), user("1"), stream=stream, metadata={"thread_id": thread})
    again = await ask(client, user("colour"), stream=stream, metadata={"thread_id": thread})

    question = "Which colour?\n\nReply with one of these, or its number:\n\n1. Red\n2. blue"
    assert (asked.text, asked.finish_reason) == (question, "stop")
    assert answered.text == "You said red."
    assert again.text == question  # a run of its own
    said = await messages_of(server, thread)
    assert [message["content"] for message in said] == ["colour", "You said red.", "colour"]


async def test_an_answer_that_does_not_fit_is_asked_for_again(client: AsyncOpenAI) -> None:
    thread = {"thread_id": new_id()}
    await ask(client, user("colour"), metadata=thread)

    misfit = await ask(client, user("green"), metadata=thread)
    fit = await ask(client, user("BLUE"), metadata=thread)

    assert misfit.text.startswith("That does not fit: it is none of 'red', 'blue'\n\nWhich colour?")
    assert fit.text == "You said blue."


@BOTH
async def test_a_question_in_the_conversation_is_one_here_too(
    client: AsyncOpenAI, server: LiveServer, stream: bool
) -> None:
    thread = new_id()

    asked = await ask(client, user("why"), stream=stream, metadata={"thread_id": thread})
    answered = await ask(client, user("Because."), stream=stream, metadata={"thread_id": thread})

    assert (asked.text, answered.text) == ("Why?", "You said Because..")
    said = await messages_of(server, thread)
    assert [message["content"] for message in said] == ["why", "Why?", "Because.", "You said Because.."]


async def test_a_decision_is_not_taken_from_words(
    client: AsyncOpenAI, server: LiveServer, plain: httpx2.AsyncClient
) -> None:
    thread = new_id()
    asked = await ask(client, user("sure 500"), metadata={"thread_id": thread})

    again = await ask(client, user("yes"), metadata={"thread_id": thread})

    assert asked.text == f"Sure?\n\nThe mail\n\nConfirm or decline it here: {server.url}/threads/{thread}"
    assert again.text == asked.text
    [waiting] = (await plain.get("/api/inbox")).json()["items"]
    assert waiting["status"] == "open"


async def test_clients_that_know_it_are_told_which_run_waits(client: AsyncOpenAI, plain: httpx2.AsyncClient) -> None:
    thread = new_id()

    whole = await create(client, **body(user("colour"), metadata={"thread_id": thread}))
    [waiting] = (await plain.get("/api/inbox")).json()["items"]
    streamed = await plain.post(URL, json={**body(user("no colour"), metadata={"thread_id": thread}), "stream": True})

    expected = {"run_id": waiting["run"], "status": "waiting", "request_id": waiting["id"]}
    assert whole.x_run == expected
    assert f'"x_run":{{"run_id":"{waiting["run"]}","status":"waiting"' in streamed.text.replace(" ", "")


@BOTH
async def test_without_a_conversation_the_question_is_told_and_the_run_ends(
    client: AsyncOpenAI, plain: httpx2.AsyncClient, stream: bool
) -> None:
    asked = await ask(client, user("colour"), stream=stream)

    async def nothing_waits() -> bool:
        return (await plain.get("/api/inbox")).json()["items"] == []

    assert asked.text.startswith("Which colour?\n\nThis request named no conversation")
    await until(nothing_waits)


async def test_a_client_with_ids_of_its_own_answers_and_asks_anew(client: AsyncOpenAI) -> None:
    chat = {"X-OpenWebUI-Chat-Id": "chat"}

    def ids(asked: str, answered: str, parent: str) -> dict[str, str]:
        return {
            **chat,
            "X-OpenWebUI-User-Message-Id": asked,
            "X-OpenWebUI-Message-Id": answered,
            "X-OpenWebUI-User-Message-Parent-Id": parent,
        }

    await ask(client, user("colour"), extra_headers=ids("q1", "a1", ""))
    answered = await ask(client, user("red"), extra_headers=ids("q2", "a2", "a1"))
    after = await ask(client, user("colour"), extra_headers=ids("q3", "a3", "a2"))
    final = await ask(client, user("blue"), extra_headers=ids("q4", "a4", "a3"))

    assert (answered.text, final.text) == ("You said red.", "You said blue.")
    assert after.text.startswith("Which colour?")
