"""What is said into a run that works (S2.3): from the log into the journal, once, and what becomes of it there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from planwerk.app import Planwerk
from planwerk.messages.events import SteeringMessageEvent, UserMessageEvent
from planwerk.messages.prompts import last_user_prompt
from planwerk.runtime.ports import Clock
from planwerk.runtime.profiles import ProfileArtifact
from planwerk.testing import ScriptedModel
from planwerk.testing.virtual_clock import virtual_clock, virtual_time
from planwerk.workflow import entries as journal
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.composition import compose
from planwerk.workflow.events import ControlEvent, StopEvent
from planwerk.workflow.forking import fork, last_position
from planwerk.workflow.ids import EventId, MessageId, RunId, new_id
from planwerk.workflow.locale_string import LocaleString
from planwerk.workflow.people import HumanInTheLoop
from planwerk.workflow.replay import replay
from planwerk.workflow.steps import step
from planwerk.workflow.timers import Timer
from planwerk.workspace.rules.commands import RetractMessage, StopRun
from planwerk.workspace.rules.events import MessageMoved, RunRequested, RunSteered, SteeringTaken
from planwerk.workspace.views import ThreadView
from tests.runtime.test_host import ANNA, Chat, open_chat


class SteeredStop(StopEvent):
    text: str


class SteeredDraft(ControlEvent):
    text: str


class SteeredNote(ControlEvent):
    text: str


class AskTone(HumanInTheLoop.Chat):
    """Which tone."""


class Steered(Agent):
    """Waits for a time or a person, as the message says, and heeds what is said meanwhile."""

    @step()
    async def begin(self, message: UserMessageEvent) -> SteeredDraft | Timer | AskTone:
        said = last_user_prompt(message.messages)
        if said.startswith("wait"):
            return Timer.after(float(said.split()[1]))
        if said == "ask":
            return AskTone(question="Which tone?")
        return SteeredDraft(text=f"{said} after {len(message.messages) - 1}")

    @step()
    async def waited(self, fired: Timer.Fired) -> SteeredDraft:
        return SteeredDraft(text="waited")

    @step()
    async def toned(self, tone: AskTone.Answered) -> SteeredDraft:
        return SteeredDraft(text=tone.text)

    @step()
    async def heed(self, said: SteeringMessageEvent) -> SteeredNote:
        return SteeredNote(text=last_user_prompt(said.messages))

    @step()
    async def answer(self, draft: SteeredDraft, notes: list[SteeredNote]) -> SteeredStop:
        return SteeredStop(text=", ".join([draft.text, *(note.text for note in notes)]))


class Deaf(Agent):
    """Waits, and takes nothing that is said meanwhile."""

    @step()
    async def begin(self, message: UserMessageEvent) -> Timer | SteeredStop:
        said = last_user_prompt(message.messages)
        return Timer.after(12) if said == "wait" else SteeredStop(text=f"heard {said}")

    @step()
    async def waited(self, fired: Timer.Fired) -> SteeredStop:
        return SteeredStop(text="waited")


class Late(Agent):
    """Takes what is said only with its first step, so what comes later lies there."""

    @step()
    async def begin(self, message: UserMessageEvent, said: SteeringMessageEvent | None) -> Timer | SteeredStop:
        text = last_user_prompt(message.messages)
        return Timer.after(12) if text == "wait" else SteeredStop(text=f"heard {text}")

    @step()
    async def waited(self, fired: Timer.Fired) -> SteeredStop:
        return SteeredStop(text="waited")


def planwerk(
    storage: Path | None, blueprint: type[Agent] = Steered, clock: Clock | None = None, **profile: Any
) -> Planwerk:
    assistant = ProfileArtifact(slug="assistant", blueprint=blueprint.__name__, name=LocaleString("A"), **profile)
    return Planwerk(
        [Steered, Deaf, Late],
        profiles=[assistant],
        storage=storage,
        model=ScriptedModel([]),
        clock=clock or virtual_clock(),
    )


@pytest.fixture(params=["in_memory", "sqlite"])
async def chat(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Chat]:
    with virtual_time():
        async with planwerk(None if request.param == "in_memory" else tmp_path / "data.db") as app:
            yield await open_chat(app)


async def waiting(chat: Chat, run: RunId) -> ThreadView:
    return await chat.until(lambda view: any(known.id == run and known.status == "waiting" for known in view.runs))


async def taken(chat: Chat, count: int = 1) -> None:
    async def seen() -> int:
        return len(await told(chat, SteeringTaken))

    async with asyncio.timeout(20):
        async for _ in chat.space.subscribe():
            if await seen() >= count:
                return


async def told(chat: Chat, *types: type[Any]) -> list[Any]:
    return [envelope.event for envelope in await chat.space.read() if isinstance(envelope.event, types)]


async def steering_in(chat: Chat, run: RunId) -> list[journal.EventPublished]:
    found = await chat.app.host.entries(run)
    return [
        entry
        for entry in found
        if isinstance(entry, journal.EventPublished) and isinstance(entry.event, SteeringMessageEvent)
    ]


def path_of(view: ThreadView) -> list[str]:
    """What the shown branch says: from the last message up to the root."""
    by_id = {message.id: message for message in view.messages}
    last = max(view.messages, key=lambda message: message.seq)
    deepest = last
    while True:
        below = [message for message in view.messages if message.parent_id == deepest.id]
        if not below:
            break
        deepest = below[-1]
    path: list[str] = []
    here: MessageId | None = deepest.id
    while here is not None:
        path.append(by_id[here].content)
        here = by_id[here].parent_id
    return path[::-1]


async def test_what_is_said_into_a_run_reaches_it_once_and_stands_in_its_turn(chat: Chat) -> None:
    posted = await chat.post("wait 15")
    await waiting(chat, posted.run_id)

    said = await chat.post("be short", when="now")
    await taken(chat)
    view = await chat.until_ended(posted.run_id)

    assert said.run_id == posted.run_id
    assert path_of(view) == ["wait 15", "be short", "waited, be short"]
    assert [run.id for run in view.runs] == [posted.run_id]
    [entry] = await steering_in(chat, posted.run_id)
    assert (entry.id, entry.actor, entry.execution) == (said.message_id, ANNA.model_dump(mode="json"), None)
    assert await told(chat, MessageMoved) == []


async def test_the_next_run_knows_what_was_said_in_the_right_order(chat: Chat) -> None:
    posted = await chat.post("wait 15")
    await waiting(chat, posted.run_id)
    await chat.post("be short", when="now")
    await taken(chat)
    await chat.until_ended(posted.run_id)

    second = await chat.post("and now")
    view = await chat.until_ended(second.run_id)

    assert path_of(view)[-1] == "and now after 3"
    history = await chat.space.history(second.message_id)
    assert [message.kind for message in history] == ["request", "request", "response", "request"]


async def test_the_same_message_posted_again_is_brought_once(chat: Chat) -> None:
    posted = await chat.post("wait 15")
    await waiting(chat, posted.run_id)
    message = new_id()

    first = await chat.post("be short", when="now", message_id=message)
    await taken(chat)
    again = await chat.post("be short", when="now", message_id=message)
    await chat.until_ended(posted.run_id)

    assert again.seq == first.seq
    assert len(await steering_in(chat, posted.run_id)) == 1
    assert len(await told(chat, RunSteered)) == 1


async def test_several_are_taken_in_the_order_in_which_they_were_said(chat: Chat) -> None:
    posted = await chat.post("wait 15")
    await waiting(chat, posted.run_id)

    for text in ("one", "two", "three"):
        await chat.post(text, when="now")
    view = await chat.until_ended(posted.run_id)

    assert path_of(view) == ["wait 15", "one", "two", "three", "waited, one, two, three"]


async def test_a_run_that_takes_nothing_said_meanwhile_queues_it(tmp_path: Path) -> None:
    with virtual_time():
        async with planwerk(None, Deaf) as app:
            chat = await open_chat(app)
            posted = await chat.post("wait")
            await waiting(chat, posted.run_id)

            said = await chat.post("hello", when="now")
            view = await chat.until_ended(said.run_id)

            assert said.run_id != posted.run_id
            assert path_of(view) == ["wait", "waited", "hello", "heard hello"]
            assert await told(chat, RunSteered) == []


async def test_what_no_step_has_taken_at_the_stop_becomes_the_next_turn() -> None:
    with virtual_time():
        async with planwerk(None, Late) as app:
            chat = await open_chat(app)
            posted = await chat.post("wait")
            await waiting(chat, posted.run_id)
            queued = await chat.post("queued")

            said = await chat.post("hello", when="now")
            await chat.until_ended(posted.run_id)
            view = await chat.until(lambda view: len(view.runs) == 3 and all(run.ended for run in view.runs))

            assert said.run_id == posted.run_id
            assert path_of(view) == ["wait", "waited", "queued", "heard queued", "hello", "heard hello"]
            assert len(await steering_in(chat, posted.run_id)) == 1
            asked = [e for e in await told(chat, RunRequested) if e.message_id == said.message_id]
            assert len(asked) == 1
            assert queued.run_id == view.runs[1].id


async def test_a_run_that_is_asked_to_stop_takes_nothing_more(chat: Chat) -> None:
    posted = await chat.post("wait 15")
    await waiting(chat, posted.run_id)
    await chat.space.send(StopRun(run_id=posted.run_id))

    said = await chat.post("hello", when="now")
    view = await chat.until_ended(said.run_id)

    assert said.run_id != posted.run_id
    assert path_of(view)[-1] == "hello after 1"


async def test_a_question_in_the_conversation_takes_the_message_as_its_answer(chat: Chat) -> None:
    posted = await chat.post("ask")
    await waiting(chat, posted.run_id)

    await chat.post("friendly", when="now")
    view = await chat.until_ended(posted.run_id)

    assert path_of(view) == ["ask", "Which tone?", "friendly", "friendly"]
    assert await steering_in(chat, posted.run_id) == []


async def test_a_message_to_another_place_of_the_tree_gets_a_run_of_its_own(chat: Chat) -> None:
    posted = await chat.post("wait 12")
    await waiting(chat, posted.run_id)

    edited = await chat.post("instead of it", when="now", parent_id=None)
    await chat.until_ended(edited.run_id)

    assert edited.run_id != posted.run_id
    assert await told(chat, RunSteered) == []


async def test_what_is_retracted_before_the_run_ends_comes_to_nothing() -> None:
    with virtual_time():
        async with planwerk(None, Late) as app:
            chat = await open_chat(app)
            posted = await chat.post("wait")
            await waiting(chat, posted.run_id)
            said = await chat.post("hello", when="now")

            await chat.space.send(RetractMessage(thread_id=chat.thread, message_id=said.message_id))
            view = await chat.until_ended(posted.run_id)

            assert (path_of(view), [run.status for run in view.runs]) == (["wait", "waited"], ["completed"])


async def test_the_profiles_default_holds_where_the_sender_does_not_say() -> None:
    with virtual_time():
        async with planwerk(None, when="now") as app:
            chat = await open_chat(app)
            posted = await chat.post("wait 15")
            await waiting(chat, posted.run_id)

            said, queued = await chat.post("be short"), await chat.post("later", when="next")

            assert said.run_id == posted.run_id
            assert queued.run_id != posted.run_id
            await chat.until_ended(queued.run_id)


async def test_it_reaches_a_run_that_is_parked_and_one_whose_process_has_ended(tmp_path: Path) -> None:
    with virtual_time():
        clock = virtual_clock()
        async with planwerk(tmp_path / "data.db", clock=clock) as app:
            chat = await open_chat(app)
            posted = await chat.post("wait 75")
            await waiting(chat, posted.run_id)
            await asyncio.sleep(60)
            assert app.worker.driven == 0
            await chat.post("one", when="now")
            await taken(chat)
            workspace, thread = chat.workspace, chat.thread
            await app.host.post_message(
                tenant=chat.space.tenant,
                workspace=workspace,
                thread=thread,
                message_id=MessageId(new_id()),
                content="two",
                actor=ANNA,
                when="now",
            )

        async with planwerk(tmp_path / "data.db", clock=clock) as app:
            chat = Chat(app, workspace, thread, app.workspaces.of(chat.space.tenant, workspace, ANNA))
            view = await chat.until_ended(posted.run_id)

    assert path_of(view) == ["wait 75", "one", "two", "waited, one, two"]


async def test_a_run_that_was_steered_replays_without_a_divergence(chat: Chat) -> None:
    posted = await chat.post("wait 15")
    await waiting(chat, posted.run_id)
    await chat.post("one", when="now")
    await chat.post("two", when="now")
    await chat.until_ended(posted.run_id)
    entries = await chat.app.host.entries(posted.run_id)

    replayed = replay(entries, compose(Steered, UserMessageEvent))

    assert (replayed.divergence, replayed.entries) == (None, len(entries))
    assert isinstance(entries[-1], journal.RunEnded)
    assert entries[-1].untaken == ()


async def test_a_fork_of_a_run_that_was_steered_has_heard_what_was_said_until_there(chat: Chat) -> None:
    posted = await chat.post("wait 15")
    await waiting(chat, posted.run_id)
    await chat.post("one", when="now")
    await chat.post("two", when="now")
    await chat.until_ended(posted.run_id)
    entries, composition = await chat.app.host.entries(posted.run_id), compose(Steered, UserMessageEvent)

    for position in range(2, last_position(entries) + 1):
        made = fork(entries, position, at=7, make_id=new_id)

        assert replay([entries[0], *made.entries], composition).divergence is None
        heard = [e for e in made.entries if isinstance(e, journal.EventPublished) and e.event.from_outside]
        before = [e for e in entries[: made.position] if isinstance(e, journal.EventPublished) and e.event.from_outside]
        assert [e.event for e in heard] == [e.event for e in before]
        assert {e.id for e in heard}.isdisjoint({e.id for e in before})
    forked = await chat.app.forks.fork(posted.run_id, last_position(entries), actor=ANNA)
    assert await chat.app.host.result(forked.run) == SteeredStop(text="waited, one, two")


async def test_an_identity_that_the_run_has_is_not_journaled_again(chat: Chat) -> None:
    posted = await chat.post("wait 15")
    await waiting(chat, posted.run_id)
    await chat.post("one", when="now")
    await taken(chat)
    [entry] = await steering_in(chat, posted.run_id)
    driver = chat.app.worker._drivers[posted.run_id]  # pyright: ignore[reportPrivateUsage] - the owner of the run

    assert await driver.bring(EventId(entry.id), entry.event)

    assert len(await steering_in(chat, posted.run_id)) == 1
