"""A run asks a person in a thread, and outside any: from the journal into the log and back (E7.9, E8.1, S2.3, S2.4)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from planwerk.access.actors import AgentActor
from planwerk.app import DEFAULT_TENANT, Planwerk
from planwerk.messages.events import UserMessageEvent
from planwerk.messages.prompts import first_user_prompt
from planwerk.runtime.ports import NEVER, RequestRecord
from planwerk.runtime.profiles import ProfileArtifact
from planwerk.testing import ScriptedModel
from planwerk.testing.virtual_clock import virtual_clock, virtual_time
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import StartEvent, StopEvent
from planwerk.workflow.ids import EventId, RunId, new_id
from planwerk.workflow.locale_string import LocaleString
from planwerk.workflow.people import AnswerInvalid, HumanInTheLoop
from planwerk.workflow.steps import step
from planwerk.workflow.timers import Timer
from planwerk.workspace.rules.commands import AnswerRequest, StopRun
from planwerk.workspace.rules.errors import (
    Forbidden,
    InvalidState,
    NotFound,
    RequestAnsweredBefore,
    RequestNotOpen,
    RequestTimedOut,
)
from planwerk.workspace.rules.events import MessagePosted, RequestAnswered, RequestOpened, RunPaused
from tests.runtime.test_host import ANNA, BEN, Chat, open_chat


class AskingStart(StartEvent):
    recipients: tuple[str, ...] = ()


class AskingStop(StopEvent):
    text: str


class AskSize(HumanInTheLoop.Input):
    """Which size."""


class AskMore(HumanInTheLoop.Chat):
    """What else there is to know."""


class AskedInChat(Agent):
    """Asks in a way that the message names: `input`, `chat`, `mine`, `timer`."""

    @step()
    async def ask(self, message: UserMessageEvent) -> AskSize | AskMore | Timer:
        how = first_user_prompt(message.messages)
        if how == "chat":
            return AskMore(question=LocaleString(en="What else?", de="Was noch?"), timeout_seconds=500)
        if how.startswith("timer"):
            return Timer.after(float(how.partition(" ")[2]))
        recipients = (BEN.id,) if how == "mine" else ()
        return AskSize(question="Which size?", choices=("S", "L"), timeout_seconds=1_000, recipients=recipients)

    @step()
    async def size(self, answer: AskSize.Answered) -> AskingStop:
        return AskingStop(text=f"Size {answer.text}.")

    @step()
    async def more(self, answer: AskMore.Answered) -> AskingStop:
        return AskingStop(text=f"Heard {answer.text}.")

    @step()
    async def late(self, late: AskSize.TimedOut | AskMore.TimedOut | Timer.Fired) -> AskingStop:
        return AskingStop(text="Time is up.")


class AskedOutside(Agent):
    """Asks outside any thread."""

    @step()
    async def ask(self, start: AskingStart) -> AskSize:
        return AskSize(question="Which size?", timeout_seconds=1_000, recipients=start.recipients)

    @step()
    async def size(self, answer: AskSize.Answered) -> AskingStop:
        return AskingStop(text=f"Size {answer.text}.")

    @step()
    async def late(self, late: AskSize.TimedOut) -> AskingStop:
        return AskingStop(text="Time is up.")


def planwerk(storage: Path | None) -> Planwerk:
    profile = ProfileArtifact(slug="assistant", blueprint="AskedInChat", name=LocaleString("Asker"))
    return Planwerk(
        [AskedInChat, AskedOutside],
        profiles=[profile],
        storage=storage,
        model=ScriptedModel([]),
        clock=virtual_clock(),
    )


@pytest.fixture(params=["in_memory", "sqlite"])
async def chat(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Chat]:
    with virtual_time():
        async with planwerk(None if request.param == "in_memory" else tmp_path / "data.db") as app:
            yield await open_chat(app)


async def request_of(chat: Chat, run: RunId) -> RequestRecord:
    """The run's request, once the log has it."""
    await chat.until(lambda view: any(known.id == run and known.status == "waiting" for known in view.runs))
    [record] = await chat.app.host.requests_of(run)
    return record


async def told(chat: Chat, *types: type[Any]) -> list[Any]:
    return [envelope.event for envelope in await chat.space.read() if isinstance(envelope.event, types)]


async def answer(chat: Chat, record: RequestRecord, response: Any, **more: Any) -> None:
    await chat.app.host.answer(EventId(record.id), response, actor=more.pop("actor", ANNA), **more)


async def test_a_question_is_in_the_log_and_its_answer_carries_the_run_on(chat: Chat) -> None:
    posted = await chat.post("input")
    record = await request_of(chat, posted.run_id)

    await answer(chat, record, "L")
    view = await chat.until_ended(posted.run_id)

    assert [message.content for message in view.messages] == ["input", "Size L."]
    assert (view.runs[0].status, view.last_status) == ("completed", "completed")
    log = [envelope.event.wire_type for envelope in await chat.space.read()][3:]
    assert log[:4] == ["run_requested", "run_started", "request_opened", "run_paused"]
    assert log[4:6] == ["request_answered", "run_resumed"]
    [opened] = await told(chat, RequestOpened)
    assert (opened.kind, opened.request["type"], opened.request_id) == ("input", "AskSize", record.id)
    [answered] = [e for e in await chat.space.read() if isinstance(e.event, RequestAnswered)]
    assert answered.actor == ANNA
    kept = await chat.app.host.request(EventId(record.id))
    assert (kept.status, kept.answer, kept.answered_by) == (
        "answered",
        {"type": "AskSizeInputAnsweredEvent", "family": "both", "text": "L"},
        ANNA.model_dump(mode="json"),
    )


async def test_a_run_that_waits_says_so_in_lists_and_in_its_record(chat: Chat) -> None:
    posted = await chat.post("input")
    record = await request_of(chat, posted.run_id)

    view = await chat.space.thread(chat.thread)
    [paused] = await told(chat, RunPaused)

    assert view.last_status == "waiting"
    assert (await chat.app.host.status(posted.run_id)).status == "waiting"
    assert paused.requests == (record.id,)
    assert paused.until == datetime.fromtimestamp((record.expires_microseconds or 0) / 1e6, UTC)


@pytest.mark.parametrize("response", ["M", {"text": ""}, {"size": "L"}])
async def test_an_answer_that_does_not_fit_leaves_the_request_open(chat: Chat, response: Any) -> None:
    posted = await chat.post("input")
    record = await request_of(chat, posted.run_id)

    with pytest.raises(AnswerInvalid):
        await answer(chat, record, response)
    await answer(chat, record, "S")

    assert (await chat.until_ended(posted.run_id)).messages[-1].content == "Size S."


async def test_a_second_answer_is_refused_and_a_repeated_one_is_not(chat: Chat) -> None:
    posted = await chat.post("input")
    record = await request_of(chat, posted.run_id)
    first = await chat.app.host.answer(EventId(record.id), "S", actor=ANNA, command_id="once")

    again = await chat.app.host.answer(EventId(record.id), "S", actor=ANNA, command_id="once")
    with pytest.raises(RequestAnsweredBefore):
        await answer(chat, record, "L")
    await chat.until_ended(posted.run_id)
    with pytest.raises(RequestAnsweredBefore):
        await answer(chat, record, "L")

    assert again == first
    assert len(await told(chat, RequestAnswered)) == 1


async def test_two_answers_at_one_moment_are_one_answer(chat: Chat) -> None:
    posted = await chat.post("input")
    record = await request_of(chat, posted.run_id)

    results = await asyncio.gather(*(answer(chat, record, "SL"[n % 2]) for n in range(6)), return_exceptions=True)

    assert [type(result) for result in results].count(RequestAnsweredBefore) == 5
    assert (await chat.until_ended(posted.run_id)).messages[-1].content == "Size S."


async def test_an_answer_after_the_timeout_is_refused(chat: Chat) -> None:
    posted = await chat.post("input")
    record = await request_of(chat, posted.run_id)
    await chat.app.host.result(posted.run_id)
    view = await chat.until_ended(posted.run_id)

    with pytest.raises(RequestTimedOut):
        await answer(chat, record, "S")

    assert view.messages[-1].content == "Time is up."
    assert (await chat.app.host.request(EventId(record.id))).status == "timed_out"
    closed = [envelope.event for envelope in await chat.space.read() if envelope.event.wire_type == "request_closed"]
    assert [getattr(event, "reason", "") for event in closed] == ["timed_out"]


async def test_an_answer_to_a_stopped_run_is_refused(chat: Chat) -> None:
    posted = await chat.post("input")
    record = await request_of(chat, posted.run_id)
    await chat.space.send(StopRun(run_id=posted.run_id))

    with pytest.raises(RequestNotOpen):
        await answer(chat, record, "S")
    view = await chat.until_ended(posted.run_id)

    assert view.runs[0].status == "stopped"
    assert (await chat.app.host.request(EventId(record.id))).status == "closed"


async def test_only_those_it_asks_may_answer(chat: Chat) -> None:
    posted = await chat.post("mine")
    record = await request_of(chat, posted.run_id)

    with pytest.raises(Forbidden, match="others"):
        await answer(chat, record, "S")
    with pytest.raises(NotFound):
        await answer(chat, record, "S", actor=BEN)  # who is asked, but has no access to the thread


async def test_an_agent_answers_nothing(chat: Chat) -> None:
    posted = await chat.post("input")
    record = await request_of(chat, posted.run_id)
    agent = AgentActor(thread_id=chat.thread, run_id=posted.run_id, name="Asker")
    command = AnswerRequest(run_id=posted.run_id, request_id=EventId(record.id), response={"text": "S"})

    with pytest.raises(Forbidden, match=r"A2\.4"):
        await chat.app.workspaces.of(DEFAULT_TENANT, chat.workspace, agent).send(command)


async def test_what_is_asked_in_the_conversation_is_answered_by_the_next_message(chat: Chat) -> None:
    posted = await chat.post("chat")
    record = await request_of(chat, posted.run_id)

    answered = await chat.post("It is urgent")
    view = await chat.until_ended(posted.run_id)

    assert answered.run_id == posted.run_id
    assert [(m.role, m.content, m.parent_id) for m in view.messages] == [
        ("user", "chat", None),
        ("assistant", "What else?", posted.message_id),
        ("user", "It is urgent", record.id),
        ("assistant", "Heard It is urgent.", answered.message_id),
    ]
    assert len(view.runs) == 1
    question = (await told(chat, MessagePosted))[1]
    assert (question.message_id, question.request_id, question.run_id) == (record.id, record.id, None)
    history = await chat.space.history(view.messages[-1].id)
    assert len(history) == 4


async def test_a_question_in_the_conversation_can_be_answered_by_its_id(chat: Chat) -> None:
    posted = await chat.post("chat")
    record = await request_of(chat, posted.run_id)

    await answer(chat, record, "from elsewhere")
    view = await chat.until_ended(posted.run_id)

    assert [message.content for message in view.messages][2:] == ["from elsewhere", "Heard from elsewhere."]
    with pytest.raises(RequestAnsweredBefore):
        await answer(chat, record, "again")


async def test_a_message_instead_stops_the_run_that_asked(chat: Chat) -> None:
    posted = await chat.post("chat")
    await request_of(chat, posted.run_id)

    other = await chat.post("input", when="instead")
    view = await chat.until(lambda view: any(run.id == other.run_id and run.status == "waiting" for run in view.runs))

    assert [run.status for run in view.runs] == ["stopped", "waiting"]


async def test_a_message_below_an_older_one_is_no_answer(chat: Chat) -> None:
    posted = await chat.post("chat")
    await request_of(chat, posted.run_id)

    edited = await chat.post("input", parent_id=None)

    assert edited.run_id != posted.run_id
    assert (await chat.space.thread(chat.thread)).queued == (edited.run_id,)


async def test_a_bare_answer_to_a_question_in_the_conversation_is_refused(chat: Chat) -> None:
    posted = await chat.post("chat")
    record = await request_of(chat, posted.run_id)
    command = AnswerRequest(run_id=posted.run_id, request_id=EventId(record.id), response={"text": "S"})

    with pytest.raises(InvalidState, match="conversation"):
        await chat.space.send(command)


async def test_a_timer_pauses_its_run_and_asks_nobody(chat: Chat) -> None:
    posted = await chat.post("timer 100")
    await chat.until(lambda view: view.last_status == "waiting")
    await chat.app.host.result(posted.run_id)
    view = await chat.until_ended(posted.run_id)

    log = [envelope.event.wire_type for envelope in await chat.space.read()]
    assert view.messages[-1].content == "Time is up."
    assert log.count("run_paused") == 1
    assert not any(name.startswith("request_") for name in log)
    assert await chat.app.host.requests_of(posted.run_id) == []


async def test_a_wait_of_seconds_is_not_told(chat: Chat) -> None:
    posted = await chat.post("timer 2")
    await chat.until_ended(posted.run_id)

    assert "run_paused" not in [envelope.event.wire_type for envelope in await chat.space.read()]


async def test_a_run_outside_any_thread_is_answered_by_id(chat: Chat) -> None:
    host = chat.app.host
    run = await host.start("asked-outside", AskingStart(), actor=ANNA)
    record = await outside(chat, run)
    assert [r.id for r in await host.waiting_requests([f"account:{ANNA.id}"])] == [record.id]

    await answer(chat, record, "L")
    with pytest.raises(RequestAnsweredBefore):
        await answer(chat, record, "S")
    stop = await host.result(run)
    await chat.app.projector.catch_up()

    assert stop == AskingStop(text="Size L.")
    assert await host.waiting_requests([f"account:{ANNA.id}"]) == []


async def test_a_run_outside_any_thread_asks_only_whom_it_names(chat: Chat) -> None:
    run = await chat.app.host.start("asked-outside", AskingStart(recipients=(BEN.id,)), actor=ANNA)
    record = await outside(chat, run)

    with pytest.raises(Forbidden):
        await answer(chat, record, "L")
    await answer(chat, record, "L", actor=BEN)

    assert await chat.app.host.result(run) == AskingStop(text="Size L.")


async def test_a_request_of_another_tenant_does_not_exist(chat: Chat) -> None:
    posted = await chat.post("input")
    record = await request_of(chat, posted.run_id)

    with pytest.raises(NotFound):
        await answer(chat, record, "S", tenant="other")
    with pytest.raises(NotFound):
        await chat.app.host.answer(EventId(new_id()), "S", actor=ANNA)


async def test_an_answer_survives_a_restart_and_is_applied_once(tmp_path: Path) -> None:
    with virtual_time():
        async with planwerk(tmp_path / "data.db") as app:
            chat = await open_chat(app)
            posted = await chat.post("input")
            record = await request_of(chat, posted.run_id)
        beside = planwerk(tmp_path / "data.db")
        await beside.start(work=False)  # answers while nobody works
        await beside.host.answer(EventId(record.id), "L", actor=ANNA)
        await asyncio.sleep(5_000)  # long after its timeout
        await beside.stop()

        async with planwerk(tmp_path / "data.db") as again:
            stop = await again.host.result(posted.run_id)
            journal = await again.host.entries(posted.run_id)

    assert stop == AskingStop(text="Size L.")
    assert sum(getattr(entry, "answers", None) is not None for entry in journal) == 1


async def test_a_projector_that_is_behind_tells_everything_once(tmp_path: Path) -> None:
    with virtual_time():
        async with planwerk(tmp_path / "data.db") as app:
            chat = await open_chat(app)
            posted = await chat.post("input")
            record = await request_of(chat, posted.run_id)
            await answer(chat, record, "S")
            await chat.until_ended(posted.run_id)
            before = [envelope.event for envelope in await chat.space.read()]
            await app.workspaces.storage.save_cursor("projector", 0)
            from planwerk.runtime.projector import Projector

            behind = Projector(app.stores.journal, app.stores.records, app.stores.requests, app.workspaces)
            await behind.catch_up()

            assert [envelope.event for envelope in await chat.space.read()] == before
            assert (await app.host.request(EventId(record.id))).status == "answered"


async def test_the_inbox_shows_what_expires_first_and_goes_on_page_by_page(chat: Chat) -> None:
    requests = chat.app.stores.requests
    for number, expires in enumerate([None, 300_000_000, 200_000_000, None, 1]):
        await requests.put(record_of(f"r{number}", expires=expires))
    await requests.put(record_of("other", expires=None, workspace="w2"))

    first = await requests.waiting(["workspace:w"], now_microseconds=50, limit=3)
    rest = await requests.waiting(["workspace:w"], now_microseconds=50, after=(NEVER, first[-1].id), limit=3)
    both = await requests.waiting(["workspace:w", "workspace:w2"], now_microseconds=50)

    assert [record.id for record in first] == ["r2", "r1", "r0"]
    assert [record.id for record in rest] == ["r3"]
    assert [record.id for record in both] == ["r2", "r1", "other", "r0", "r3"]
    await requests.forget("run of r0")
    assert await requests.get("r0") is None
    assert (await requests.of_run("run of r1"))[0] == first[1]


async def test_what_was_answered_is_listed_from_the_last_answer_on_where_it_waited(chat: Chat) -> None:
    requests = chat.app.stores.requests
    ada = {"kind": "user", "id": "ada", "name": "Ada"}
    for number, closed in enumerate([100, 300, 200, 200]):
        await requests.put(record_of(f"r{number}", expires=None))
        done = replace(record_of(f"r{number}", expires=None), status="answered", answered_by=ada)
        await requests.put(replace(done, closed_microseconds=closed))
    late = replace(record_of("late", expires=150), status="timed_out", closed_microseconds=150)
    await requests.put(late)
    await requests.put(record_of("open", expires=None))
    other = replace(record_of("other", expires=None, workspace="w2"), status="answered", closed_microseconds=250)
    await requests.put(other)

    first = await requests.answered(["workspace:w"], limit=2)
    rest = await requests.answered(["workspace:w"], before=(200, first[-1].id), limit=3)
    both = await requests.answered(["workspace:w", "workspace:w2"])

    assert [record.id for record in first] == ["r1", "r3"]
    assert [record.id for record in rest] == ["r2", "r0"]
    assert [record.id for record in both] == ["r1", "other", "r3", "r2", "r0"]
    assert first[0].answered_by == ada
    assert [record.id for record in await requests.waiting(["workspace:w"], now_microseconds=50)] == ["open"]
    await requests.forget("run of r1")
    assert [record.id for record in await requests.answered(["workspace:w"])] == ["r3", "r2", "r0"]


def record_of(request: str, *, expires: int | None, workspace: str = "w") -> RequestRecord:
    return RequestRecord(
        id=request,
        run=f"run of {request}",
        position=5,
        tenant="default",
        workspace=workspace,
        thread=None,
        profile="p",
        profile_name="P",
        owner=None,
        kind="input",
        request={"type": "AskSize", "family": "both", "question": "?"},
        asked_microseconds=10,
        expires_microseconds=expires,
    )


async def outside(chat: Chat, run: RunId) -> RequestRecord:
    """The request of a run outside any thread, once it is known."""
    async for _, entry in chat.app.host.follow(run):
        if getattr(entry, "execution", None) is not None and type(entry).__name__ == "ExecutionFinished":
            break
    await chat.app.projector.catch_up()
    [record] = await chat.app.host.requests_of(run)
    return record
