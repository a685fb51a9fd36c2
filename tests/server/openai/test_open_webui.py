"""Open WebUI as client: its chats with their branches, its small tasks, what its page is shown (W2)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import pytest

from planwerk.app import Planwerk
from planwerk.models.demo.model import DemoModel
from planwerk.runtime.host import Posted
from planwerk.runtime.profiles import ProfileArtifact
from planwerk.server.openai.tasks import as_json
from planwerk.testing import ScriptedModel, Stream
from planwerk.workflow.ids import new_id
from planwerk.workflow.locale_string import LocaleString
from tests.server.live import LiveServer, live_server
from tests.server.openai.asking import URL, body, events_in, lines, messages_of, text_in, threads_of, user

CHAT = "0f0c2a52-7f2b-4a53-9a42-0d9a5f0e9b11"


def sent(question: str, answer: str, parent: str = "", **more: str) -> dict[str, str]:
    """The headers of a connection set up as the guide says."""
    return {
        "X-OpenWebUI-Chat-Id": CHAT,
        "X-OpenWebUI-User-Message-Id": question,
        "X-OpenWebUI-Message-Id": answer,
        "X-OpenWebUI-User-Message-Parent-Id": parent,
        "X-OpenWebUI-Task": "",
        **more,
    }


def frame(task: str, form: str, *, asked: str = "How do turtles sleep?") -> str:
    return (
        f"### Task:\n{task}\n### Output:\nJSON format: {form}\n### Chat History:\n"
        f"<chat_history>\nUSER: {asked}\nASSISTANT: Deeply.\n</chat_history>"
    )


TITLE = frame("Generate a concise title summarizing the chat history.", '{ "title": "your concise title here" }')


async def post(plain: httpx2.AsyncClient, *messages: Any, headers: dict[str, str] | None = None) -> str:
    answered = await plain.post(URL, json=body(*messages), headers=headers)
    assert answered.status_code == 200, answered.text
    return answered.json()["choices"][0]["message"]["content"]


async def tree_of(server: LiveServer) -> list[tuple[str, str | None]]:
    """Contents with the contents they follow, of the one thread."""
    [thread] = await threads_of(server)
    messages = await messages_of(server, thread["id"])
    by_id = {message["id"]: message["content"] for message in messages}
    return [(message["content"], by_id.get(message["parent_id"])) for message in messages]


async def test_a_chat_is_a_thread_and_its_branches_are_branches(
    plain: httpx2.AsyncClient, server: LiveServer, model: ScriptedModel
) -> None:
    await post(plain, user("Q1"), headers=sent("q1", "a1"))
    await post(plain, user("Q2"), headers=sent("q2", "a2", "a1"))
    await post(plain, user("Q2"), headers=sent("q2", "a2-again", "a1"))
    await post(plain, user("Q1, edited"), headers=sent("q1-edited", "a3"))

    assert await tree_of(server) == [
        ("Q1", None),
        ("First answer 🐢.", "Q1"),
        ("Q2", "First answer 🐢."),
        ("Second answer.", "Q2"),
        ("Third answer.", "Q2"),
        ("Q1, edited", None),
        ("Fourth answer.", "Q1, edited"),
    ]
    assert "First answer" not in str(model.answer_requests[-1].messages)


async def test_a_request_that_is_sent_again_gets_the_same_answer(
    plain: httpx2.AsyncClient, server: LiveServer, model: ScriptedModel
) -> None:
    said = [await post(plain, user("Q1"), headers=sent("q1", "a1")) for _ in range(2)]

    assert said == ["First answer 🐢."] * 2
    assert len(model.answer_requests) == 1
    assert len(await tree_of(server)) == 2


async def test_what_another_model_said_before_is_no_obstacle(plain: httpx2.AsyncClient, server: LiveServer) -> None:
    await post(plain, user("Q1"), headers=sent("q1", "a1"))
    await post(plain, user("Q2"), headers=sent("q2", "a2", "said-by-another-model"))

    assert (await tree_of(server))[2] == ("Q2", "First answer 🐢.")


async def test_two_answers_asked_for_at_once_are_two_answers_to_one_message(
    plain: httpx2.AsyncClient, server: LiveServer
) -> None:
    said = await asyncio.gather(*(post(plain, user("Q1"), headers=sent("q1", f"a{n}")) for n in range(2)))

    assert sorted(said) == ["First answer 🐢.", "Second answer."]
    assert sorted(await tree_of(server), key=str) == [
        ("First answer 🐢.", "Q1"),
        ("Q1", None),
        ("Second answer.", "Q1"),
    ]


@pytest.mark.parametrize("other", ["assistant", "second"], ids=["the same model", "another model"])
async def test_a_request_whose_message_was_just_posted_by_another_gets_an_answer_of_its_own(
    model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    second = ProfileArtifact(slug=other, name=LocaleString("Other"), blueprint="LLMWrappingAgent")
    first = second.model_copy(update={"slug": "assistant"})
    profiles = [first] if other == "assistant" else [first, second]

    async with live_server(Planwerk(model=model, profiles=profiles)) as server, server.client() as plain:
        host = server.planwerk.host
        post_message = host.post_message

        async def overtaken(**given: Any) -> Posted:
            before: dict[str, Any] = {**given, "profile": other, "run_id": new_id()}
            await post_message(**before)
            return await post_message(**given)

        monkeypatch.setattr(host, "post_message", overtaken)
        said = await post(plain, user("Q1"), headers=sent("q1", "a1"))
        tree = await tree_of(server)

    assert said == "Second answer."
    assert sorted(tree, key=str) == [("First answer 🐢.", "Q1"), ("Q1", None), ("Second answer.", "Q1")]


async def test_with_the_chat_id_alone_messages_follow_each_other(plain: httpx2.AsyncClient, server: LiveServer) -> None:
    for question in ("Q1", "Q2"):
        await post(plain, user(question), headers={"X-OpenWebUI-Chat-Id": CHAT})

    assert [content for content, _ in await tree_of(server)] == ["Q1", "First answer 🐢.", "Q2", "Second answer."]


async def test_a_temporary_chat_is_not_kept(plain: httpx2.AsyncClient, server: LiveServer) -> None:
    await post(plain, user("Q1"), headers={"X-OpenWebUI-Chat-Id": "local:abc"})

    assert await threads_of(server) == []


class TestPage:
    @pytest.fixture
    def model(self) -> ScriptedModel:
        questions = "1. And crocodiles?\n2. Why?\n3. Where?"
        return ScriptedModel(["Deeply.", "Deeply."], tasks={"follow_ups": questions})

    async def test_steps_are_shown_by_their_names_and_the_last_is_closed(self, plain: httpx2.AsyncClient) -> None:
        found = await lines(plain, body(), **{"X-OpenWebUI-Chat-Id": CHAT, "Accept-Language": "de"})

        statuses = [data for kind, data in events_in(found) if kind == "status"]
        shown = [status["description"] for status in statuses if not status["done"]]
        assert {"Beginnen", "Antworten"} <= set(shown)
        assert [status["done"] for status in statuses].count(True) == 1
        assert statuses[-1]["done"]
        assert text_in(found) == "Deeply."
        assert not any("tool_calls" in json.dumps(chunk) for chunk in found)

    async def test_follow_ups_are_shown_in_its_form(self, plain: httpx2.AsyncClient) -> None:
        found = await lines(plain, body(), **{"X-OpenWebUI-Chat-Id": CHAT})

        [follow_ups] = [data for kind, data in events_in(found) if kind == "chat:message:follow_ups"]
        assert follow_ups["follow_ups"][:2] == ["And crocodiles?", "Why?"]

    async def test_other_clients_get_chunks_only(self, plain: httpx2.AsyncClient) -> None:
        assert events_in(await lines(plain, body())) == []


class TestBreakingOff:
    @pytest.fixture
    def model(self) -> ScriptedModel:
        return ScriptedModel([Stream("A", ConnectionError("gone"))])

    async def test_the_last_status_is_closed_when_an_answer_breaks_off_too(self, plain: httpx2.AsyncClient) -> None:
        found = await lines(plain, body(), **{"X-OpenWebUI-Chat-Id": CHAT})

        assert events_in(found)[-1][1]["done"]
        assert "error" in found[-1]


class TestTasks:
    @pytest.fixture
    def model(self) -> ScriptedModel:
        tasks = {"title": "Sleeping turtles", "tags": '```json\n{"tags": ["Animals"]}\n```', "text": "plain words"}
        return ScriptedModel(["An answer."], tasks={**tasks, "follow_ups": "- Why?\n- Where?"})

    @pytest.mark.parametrize(
        ("task", "answer"),
        [
            ("title_generation", '{"title": "Sleeping turtles"}'),
            ("tags_generation", '{"tags": ["Animals"]}'),
            ("follow_up_generation", '{"follow_ups": ["Why?", "Where?"]}'),
            ("emoji_generation", "plain words"),
        ],
    )
    async def test_a_task_named_by_the_header_is_answered_without_a_run(
        self, plain: httpx2.AsyncClient, server: LiveServer, model: ScriptedModel, task: str, answer: str
    ) -> None:
        headers = sent("q1", "a1", **{"X-OpenWebUI-Task": task})

        assert await post(plain, user("Do it"), headers=headers) == answer
        assert model.answer_requests == []
        assert await threads_of(server) == []
        assert await server.planwerk.stores.records.newest("default") == []

    @pytest.mark.parametrize(
        ("prompt", "answer"),
        [
            (TITLE, '{"title": "Sleeping turtles"}'),
            (frame("Generate 1-3 broad tags.", '{ "tags": ["tag1"] }'), '{"tags": ["Animals"]}'),
            (frame("Suggest questions.", '{ "follow_ups": ["Q1?"] }'), '{"follow_ups": ["Why?", "Where?"]}'),
            (
                frame("Generate a title.", '{ "title": "…" }', asked='What is {"follow_ups": []}?'),
                '{"title": "Sleeping turtles"}',
            ),
        ],
    )
    async def test_without_the_header_a_task_is_known_by_its_frame(
        self, plain: httpx2.AsyncClient, model: ScriptedModel, prompt: str, answer: str
    ) -> None:
        assert await post(plain, user(prompt), headers={"X-OpenWebUI-Task": "{{TASK}}"}) == answer
        assert model.answer_requests == []

    @pytest.mark.parametrize(
        "question",
        [
            '### Task:\nRespond to the user query using the provided context.\n<context>{"title": "x"}</context>\nWhy?',
            "### Task:\nWrite a title for my essay about turtles",
            'What does {"title": "x"} mean in <chat_history></chat_history>?',
        ],
        ids=["a question about documents", "a person who likes headings", "a person who asks about tasks"],
    )
    async def test_a_persons_question_is_no_task(
        self, plain: httpx2.AsyncClient, model: ScriptedModel, question: str
    ) -> None:
        assert await post(plain, user(question)) == "An answer."
        assert len(model.answer_requests) == 1

    async def test_a_task_can_be_streamed_and_has_usage(self, plain: httpx2.AsyncClient) -> None:
        found = await lines(plain, body(user(TITLE), stream_options={"include_usage": True}))

        assert text_in(found) == '{"title": "Sleeping turtles"}'
        assert found[-2]["usage"]["total_tokens"] > 0
        assert found[-1] == "[DONE]"


class TestTaskFailing:
    @pytest.fixture
    def model(self) -> ScriptedModel:
        return ScriptedModel([], tasks={"title": ConnectionError("gone")})

    async def test_a_task_that_fails_has_the_models_error(self, plain: httpx2.AsyncClient) -> None:
        refused = await plain.post(URL, json=body(user(TITLE)))

        assert refused.status_code >= 500
        assert refused.json()["error"]["code"].startswith("model_")


async def test_the_demo_model_names_chats_after_their_question() -> None:
    async with live_server(Planwerk(model=DemoModel())) as server, server.client() as plain:
        title = await post(plain, user(TITLE))

    assert json.loads(title) == {"title": "How do turtles sleep"}


@pytest.mark.parametrize(
    ("said", "key", "value"),
    [
        ('{"title": "A"}', "title", "A"),
        ('Sure! {"title": "A"} Enjoy.', "title", "A"),
        ('{"name": "A"}', "tags", ['{"name": "A"}']),
        ('"A title"\nwith more', "title", "A title"),
        ("1. one\n2) two\n- three", "queries", ["one", "two", "three"]),
        ("goes on", "text", "goes on"),
        ("{broken", "title", "{broken"),
    ],
)
def test_whatever_a_model_says_becomes_the_json_that_was_asked_for(said: str, key: str, value: Any) -> None:
    assert json.loads(as_json(said, key)) == {key: value}
