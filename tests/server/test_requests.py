"""What runs ask people over REST: the inbox, a request by itself, answers and their refusals (S2.4, E8.1)."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from planwerk.access.actions import Role
from planwerk.app import Planwerk
from planwerk.messages.events import UserMessageEvent
from planwerk.messages.prompts import first_user_prompt
from planwerk.runtime.profiles import ProfileArtifact
from planwerk.testing import ScriptedModel
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import StartEvent, StopEvent
from planwerk.workflow.ids import new_id
from planwerk.workflow.locale_string import LocaleString
from planwerk.workflow.people import Choice, HumanInTheLoop
from planwerk.workflow.steps import step
from tests.server.test_rest import InProcess
from tests.server.world import ended, key_of, new_thread, post, until


class RestAskStart(StartEvent):
    pass


class RestAskStop(StopEvent):
    text: str


class RestAskColour(HumanInTheLoop.Input, label=LocaleString(en="Colour", de="Farbe")):
    """Which colour."""


class RestAskSure(HumanInTheLoop.Confirmation):
    """Whether it is sure."""


class RestAskWhy(HumanInTheLoop.Chat):
    """Why, in the conversation."""


RED = Choice(value="red", label=LocaleString(en="Red", de="Rot"))


class RestAsker(Agent):
    """Asks as the message says."""

    @step()
    async def ask(self, message: UserMessageEvent) -> RestAskColour | RestAskSure | RestAskWhy:
        how, _, number = first_user_prompt(message.messages).partition(" ")
        timeout = float(number) if number else None
        if how == "sure":
            return RestAskSure(question="Sure?", subject="The mail", confirm_label="Send", timeout_seconds=timeout)
        if how == "why":
            return RestAskWhy(question="Why?")
        question = LocaleString(en="Which colour?", de="Welche Farbe?")
        return RestAskColour(question=question, choices=(RED, "blue"), default="blue", timeout_seconds=timeout)

    @step()
    async def done(self, answer: RestAskColour.Answered | RestAskWhy.Answered) -> RestAskStop:
        return RestAskStop(text=f"You said {answer.text}.")

    @step()
    async def sure(self, answer: RestAskSure.Answered) -> RestAskStop:
        return RestAskStop(text=f"{answer.confirmed} {answer.reason}")

    @step()
    async def late(self, late: RestAskColour.TimedOut | RestAskSure.TimedOut) -> RestAskStop:
        return RestAskStop(text="Too late.")


class RestLoneAsker(Agent):
    """Asks outside any conversation."""

    @step()
    async def ask(self, start: RestAskStart) -> RestAskColour:
        return RestAskColour(question="Which?", timeout_seconds=1_000)

    @step()
    async def done(self, answer: RestAskColour.Answered) -> RestAskStop:
        return RestAskStop(text=answer.text)

    @step()
    async def late(self, late: RestAskColour.TimedOut) -> RestAskStop:
        return RestAskStop(text="Too late.")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[InProcess]:
    profiles = [
        ProfileArtifact(slug="assistant", blueprint="RestAsker", name=LocaleString("Asker")),
        ProfileArtifact(slug="lone", blueprint="RestLoneAsker", name=LocaleString("Lone")),
    ]
    async with Planwerk(
        [RestAsker, RestLoneAsker], profiles=profiles, storage=tmp_path / "data.db", model=ScriptedModel([])
    ) as planwerk:
        yield InProcess(planwerk)


@pytest.fixture
async def client(server: InProcess) -> AsyncGenerator[httpx2.AsyncClient]:
    async with server.client(await key_of(server.planwerk, "ada", Role.MEMBER)) as opened:
        yield opened


async def asked(client: httpx2.AsyncClient, how: str, **headers: str) -> dict[str, Any]:
    """What a run asks that is started with this message, once the log tells it."""
    thread = (await new_thread(client))["id"]
    return await asked_by(client, (await post(client, thread, how))["run_id"], **headers)


async def asked_by(client: httpx2.AsyncClient, run: str, **headers: str) -> dict[str, Any]:
    found: list[Any] = []

    async def is_open() -> bool:
        found[:] = (await client.get(f"/api/runs/{run}/requests", headers=headers)).json()["items"]
        return bool(found) and (await client.get(f"/api/runs/{run}")).json()["status"] == "waiting"

    await until(is_open)
    return found[0]


async def answer(client: httpx2.AsyncClient, request: str, given: Any, **headers: str) -> httpx2.Response:
    return await client.post(f"/api/requests/{request}/answer", json={"answer": given}, headers=headers)


async def test_a_question_in_the_readers_language_and_its_answer(client: httpx2.AsyncClient) -> None:
    request = await asked(client, "colour", **{"Accept-Language": "de"})

    answered = await answer(client, request["id"], {"text": "red"})
    run = await ended(client, request["run"])
    after = (await client.get(f"/api/requests/{request['id']}")).json()

    assert {
        name: request[name] for name in ("kind", "type", "label", "question", "only_choices", "default", "status")
    } == {
        "kind": "input",
        "type": "RestAskColour",
        "label": "Farbe",
        "question": "Welche Farbe?",
        "only_choices": True,
        "default": "blue",
        "status": "open",
    }
    assert request["choices"] == [{"value": "red", "label": "Rot"}, {"value": "blue", "label": "blue"}]
    assert request["response_schema"]["properties"]["text"]["oneOf"][0] == {"const": "red", "title": "Rot"}
    assert (request["may_answer"], request["expires"], request["profile_name"]) == (True, None, "Asker")
    assert answered.status_code == 202
    assert answered.json()["run_id"] == request["run"]
    assert run["status"] == "completed"
    assert (after["status"], after["answer"], after["answered_by"]["name"]) == ("answered", {"text": "red"}, "Ada")
    assert not after["may_answer"]
    thread = (await client.get(f"/api/threads/{request['thread']}")).json()
    assert thread["messages"][-1]["content"] == "You said red."


async def test_a_confirmation_shows_what_is_to_be_confirmed(client: httpx2.AsyncClient) -> None:
    request = await asked(client, "sure 900")

    await answer(client, request["id"], {"confirmed": False, "reason": "not yet"})
    await ended(client, request["run"])

    assert (request["subject"], request["confirm_label"], request["decline_label"]) == ("The mail", "Send", None)
    assert request["expires"] > request["asked"]
    thread = (await client.get(f"/api/threads/{request['thread']}")).json()
    assert thread["messages"][-1]["content"] == "False not yet"


@pytest.mark.parametrize(
    ("given", "where"), [({"text": "green"}, ["text"]), ({"text": 3}, ["text"]), ({"txt": "red"}, ["text"])]
)
async def test_what_does_not_fit_is_refused_by_field(client: httpx2.AsyncClient, given: Any, where: list[str]) -> None:
    request = await asked(client, "colour")

    refused = await answer(client, request["id"], given)

    assert (refused.status_code, refused.json()["code"]) == (422, "answer_invalid")
    assert refused.json()["errors"][0]["loc"] == where
    assert (await client.get(f"/api/requests/{request['id']}")).json()["status"] == "open"


async def test_answers_that_come_second_are_refused_and_repeated_ones_are_not(client: httpx2.AsyncClient) -> None:
    request = await asked(client, "colour")
    key = {"Idempotency-Key": "a-click"}

    first = await answer(client, request["id"], {"text": "red"}, **key)
    again = await answer(client, request["id"], {"text": "red"}, **key)
    second = await answer(client, request["id"], {"text": "blue"})

    assert (first.status_code, again.json()) == (202, first.json())
    assert (second.status_code, second.json()["code"]) == (409, "request_answered")
    assert second.json()["details"] == {"request_id": request["id"]}


async def test_an_answer_after_the_time_or_after_the_end_is_refused(client: httpx2.AsyncClient) -> None:
    late = await asked_quickly(client)
    stopped = await asked(client, "colour")
    await client.post(f"/api/runs/{stopped['run']}/stop")
    await ended(client, stopped["run"])

    after_time = await answer(client, late["id"], {"text": "red"})
    after_stop = await answer(client, stopped["id"], {"text": "red"})

    assert (after_time.status_code, after_time.json()["code"]) == (409, "request_timed_out")
    assert (after_stop.status_code, after_stop.json()["code"]) == (409, "request_closed")
    assert (await client.get(f"/api/requests/{stopped['id']}")).json()["status"] == "closed"


async def asked_quickly(client: httpx2.AsyncClient) -> dict[str, Any]:
    """A request whose time is over."""
    thread = (await new_thread(client))["id"]
    run = (await post(client, thread, "colour 0.01"))["run_id"]
    await ended(client, run)
    return (await client.get(f"/api/runs/{run}/requests")).json()["items"][0]


async def test_the_inbox_has_what_waits_for_the_person_and_nothing_else(
    server: InProcess, client: httpx2.AsyncClient
) -> None:
    colour = await asked(client, "colour")
    sure = await asked(client, "sure 500")
    lone = (await client.post("/api/profiles/lone/runs", json={"event": {}})).json()["run_id"]
    outside = await asked_by(client, lone)
    done = await asked(client, "colour")
    await answer(client, done["id"], {"text": "red"})
    await ended(client, done["run"])
    async with server.client(await key_of(server.planwerk, "ben", Role.OWNER)) as ben:
        his = (await ben.get("/api/inbox")).json()

    inbox = (await client.get("/api/inbox")).json()
    of_one = (await client.get("/api/inbox?profile=lone")).json()
    first = (await client.get("/api/inbox?limit=2")).json()
    rest = (await client.get(f"/api/inbox?limit=2&cursor={first['next']}")).json()

    assert [item["id"] for item in inbox["items"]] == [sure["id"], outside["id"], colour["id"]]
    assert inbox["next"] is None
    assert [item["id"] for item in of_one["items"]] == [outside["id"]]
    assert [item["id"] for item in first["items"] + rest["items"]] == [item["id"] for item in inbox["items"]]
    assert his == {"items": [], "next": None}
    assert (await client.get("/api/inbox?cursor=soon")).json()["code"] == "cursor_invalid"


async def test_what_was_answered_is_listed_by_who_and_when_last_first_page_by_page(
    server: InProcess, client: httpx2.AsyncClient
) -> None:
    colour, sure = await asked(client, "colour"), await asked(client, "sure 500")
    lone = (await client.post("/api/profiles/lone/runs", json={"event": {}})).json()["run_id"]
    outside = await asked_by(client, lone)
    await asked(client, "colour")
    for request, given in ((sure, {"confirmed": True}), (outside, {"text": "any"}), (colour, {"text": "red"})):
        assert (await answer(client, request["id"], given)).status_code == 202
        await ended(client, request["run"])
    async with server.client(await key_of(server.planwerk, "ben", Role.OWNER)) as ben:
        his = (await ben.get("/api/inbox/answered")).json()

    found = (await client.get("/api/inbox/answered")).json()
    of_one = (await client.get("/api/inbox/answered?profile=lone")).json()
    texts = (await client.get("/api/inbox/answered?kind=input&limit=1")).json()
    more = (await client.get(f"/api/inbox/answered?kind=input&limit=2&cursor={texts['next']}")).json()
    yes_or_no = (await client.get("/api/inbox/answered?kind=confirmation&kind=chat")).json()
    open_ones = (await client.get("/api/inbox?kind=confirmation")).json()

    assert [item["id"] for item in found["items"]] == [colour["id"], outside["id"], sure["id"]]
    assert found["next"] is None
    assert [item["answered_by"]["name"] for item in found["items"]] == ["Ada"] * 3
    assert found["items"][0]["answer"] == {"text": "red"}
    assert [item["id"] for item in of_one["items"]] == [outside["id"]]
    assert [item["id"] for item in texts["items"] + more["items"]] == [colour["id"], outside["id"]]
    assert more["next"] is None
    assert [item["id"] for item in yes_or_no["items"]] == [sure["id"]]
    assert open_ones["items"] == []
    assert his == {"items": [], "next": None}
    assert (await client.get("/api/inbox/answered?cursor=soon")).json()["code"] == "cursor_invalid"


async def test_a_page_of_answers_ends_where_enough_were_looked_at(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planwerk.server.routes.requests.LOOKED_AT", 2)
    sure = await asked(client, "sure")
    await answer(client, sure["id"], {"confirmed": True})
    await ended(client, sure["run"])
    for _ in range(3):
        colour = await asked(client, "colour")
        await answer(client, colour["id"], {"text": "red"})
        await ended(client, colour["run"])

    first = (await client.get("/api/inbox/answered?kind=confirmation&limit=2")).json()
    rest = (await client.get(f"/api/inbox/answered?kind=confirmation&limit=2&cursor={first['next']}")).json()

    assert first["items"] == []
    assert [item["id"] for item in rest["items"]] == [sure["id"]]
    assert rest["next"] is None


async def test_a_run_outside_any_thread_is_answered_too(client: httpx2.AsyncClient) -> None:
    run = (await client.post("/api/profiles/lone/runs", json={"event": {}})).json()["run_id"]
    request = await asked_by(client, run)

    answered = await answer(client, request["id"], {"text": "anything"})
    second = await answer(client, request["id"], {"text": "else"})
    record = await ended(client, run)

    assert answered.json() == {"request_id": request["id"], "run_id": run, "seq": None}
    assert second.json()["code"] == "request_answered"
    assert record["status"] == "completed"


async def test_what_others_are_asked_does_not_exist(server: InProcess, client: httpx2.AsyncClient) -> None:
    request = await asked(client, "colour")

    async with server.client(await key_of(server.planwerk, "ben", Role.OWNER)) as ben:
        seen = await ben.get(f"/api/requests/{request['id']}")
        said = await answer(ben, request["id"], {"text": "red"})
        unknown = await answer(ben, new_id(), {"text": "red"})

    assert (seen.status_code, said.status_code, unknown.status_code) == (404, 404, 404)
    assert said.json()["code"] == unknown.json()["code"] == "not_found"


async def test_a_key_that_may_only_read_may_not_answer(server: InProcess, client: httpx2.AsyncClient) -> None:
    request = await asked(client, "colour")
    made = (await client.post("/api/keys", json={"name": "reader", "scopes": ["run.read"]})).json()

    async with server.client(made["text"]) as reader:
        seen = (await reader.get(f"/api/requests/{request['id']}")).json()
        refused = await answer(reader, request["id"], {"text": "red"})

    assert seen["status"] == "open"
    assert not seen["may_answer"]
    assert refused.status_code == 403


async def test_the_runs_own_stream_names_who_answered(client: httpx2.AsyncClient) -> None:
    request = await asked(client, "colour")
    await answer(client, request["id"], {"text": "red"})
    await ended(client, request["run"])

    entries = (await client.get(f"/api/runs/{request['run']}/timeline")).json()["items"]

    question = next(entry for entry in entries if entry["type"] == "RestAskColour")
    [given] = [entry for entry in entries if "answers" in entry["data"]]
    assert (question["id"], question["display"]) == (request["id"], True)
    assert (given["data"]["answers"], given["actor"]["name"]) == (question["position"], "Ada")


async def test_the_same_as_a_command(client: httpx2.AsyncClient) -> None:
    request = await asked(client, "colour")
    command = {"type": "answer_request", "run_id": request["run"], "request_id": request["id"]}
    path = f"/api/workspaces/{request['workspace']}/commands"

    misfit = await client.post(path, json={"command": {**command, "response": {"text": "green"}}})
    done = await client.post(path, json={"command": {**command, "response": {"text": "red"}}})
    await ended(client, request["run"])

    assert misfit.json()["code"] == "answer_invalid"
    assert (done.json()["outcome"], done.json()["run_id"]) == ("recorded", request["run"])


async def test_the_log_tells_of_requests_in_the_readers_language(client: httpx2.AsyncClient) -> None:
    request = await asked(client, "colour")
    await answer(client, request["id"], {"text": "red"})
    await ended(client, request["run"])

    log = await client.get(f"/api/workspaces/{request['workspace']}/log", headers={"Accept-Language": "de"})

    told = {item["type"]: item for item in log.json()["items"]}
    opened = told["request_opened"]
    assert opened["data"].keys() == {"run_id", "request_id", "kind", "expires", "request"}
    assert opened["data"]["request"] == {**request, "question": "Welche Farbe?", "label": "Farbe"} | {
        name: opened["data"]["request"][name] for name in ("choices", "response_schema", "asked")
    }
    assert told["request_answered"]["data"] == {
        "run_id": request["run"],
        "request_id": request["id"],
        "kind": "input",
        "response": {"text": "red"},
    }
    assert told["request_answered"]["actor"]["name"] == "Ada"
    assert told["run_paused"]["data"]["requests"] == [request["id"]]


async def test_the_next_message_answers_a_question_in_the_conversation(client: httpx2.AsyncClient) -> None:
    request = await asked(client, "why")

    posted = await post(client, request["thread"], "Because.")
    await ended(client, request["run"])
    thread = (await client.get(f"/api/threads/{request['thread']}")).json()

    assert posted["run_id"] == request["run"]
    assert [message["content"] for message in thread["messages"]] == ["why", "Why?", "Because.", "You said Because.."]
    assert thread["messages"][1]["id"] == request["id"]


async def test_the_document_has_the_shapes_of_answers(server: InProcess, client: httpx2.AsyncClient) -> None:
    document = (await client.get("/api/openapi.json")).json()

    given = document["components"]["schemas"]["AnswerGiven"]["properties"]["answer"]
    assert [shape["title"] for shape in given["oneOf"]] == ["TextAnswer", "ConfirmationAnswer"]
    assert "RequestView" in json.dumps(document["paths"]["/api/inbox"])
