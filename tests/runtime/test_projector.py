"""What journals report to the log: each fact once, whatever is read again; nobody is held up by another (E7.9)."""

from __future__ import annotations

import asyncio

import pytest

from planwerk.app import DEFAULT_TENANT, Planwerk
from planwerk.messages.events import AnswerCheckpointEvent, UserMessageEvent
from planwerk.messages.prompts import user_prompt
from planwerk.runtime.closing import closing_entries, stopped_by
from planwerk.runtime.profiles import SlugTaken
from planwerk.runtime.projector import Projection, Projector, RunMemory, project
from planwerk.testing import ScriptedModel
from planwerk.workflow import entries as journal
from planwerk.workflow.ids import EventId, RunId, ThreadId, WorkspaceId, new_id
from planwerk.workspace.rules.events import MessagePosted, ThreadRenamed
from tests.runtime.test_host import ANNA, open_chat


async def test_reading_all_journals_again_from_the_beginning_adds_nothing_to_the_log() -> None:
    async with Planwerk(model=ScriptedModel(["One.", "Two."])) as app:
        chat = await open_chat(app)
        for question in ("Explain one", "Explain two"):
            await chat.until_ended((await chat.post(question)).run_id)
        before = await chat.space.read()

        again = Projector(app.stores.journal, app.stores.records, app.stores.requests, app.workspaces)
        again._begun = True  # pyright: ignore[reportPrivateUsage] - from 0, not from the stored cursor
        for item in await app.stores.journal.feed(0, 1000):
            memory = await again._memory(item)  # pyright: ignore[reportPrivateUsage] - as above
            assert memory is not None
            told = Projection()
            for entry in item.entries:
                project(memory, entry, told)
            await app.workspaces.record(DEFAULT_TENANT, chat.workspace, told.facts, turns=told.turns)

        assert await chat.space.read() == before


async def test_a_run_whose_workspace_does_not_exist_holds_up_nobody() -> None:
    async with Planwerk(model=ScriptedModel(["Nowhere.", "Fine."])) as app:
        start = UserMessageEvent(messages=(user_prompt("Explain"),))
        nowhere = WorkspaceId(new_id())
        lost = await app.host.start("assistant", start, actor=ANNA, thread=ThreadId(new_id()), workspace=nowhere)
        await app.host.result(lost)
        chat = await open_chat(app)

        posted = await chat.post("Explain more")

        assert (await chat.until_ended(posted.run_id)).last_status == "completed"


def test_what_was_said_before_a_kill_is_kept_in_the_reply_of_a_run_that_is_ended() -> None:
    opened = journal.RunOpened(
        RunId(new_id()), 1, "B", "", {}, {}, "default", WorkspaceId(new_id()), ThreadId(new_id()), new_id(), locale="de"
    )
    start = UserMessageEvent(messages=(user_prompt("???"),))
    found: list[journal.Entry] = [
        opened,
        journal.EventPublished(start, EventId("a"), 1),
        journal.EventPublished(AnswerCheckpointEvent(text="half an"), EventId("b"), 2),
    ]
    told, memory = Projection(), RunMemory(opened)

    for entry in [*found, *closing_entries(found, stopped_by("Anna"), 3)]:
        project(memory, entry, told)

    events = [fact.event for fact in told.facts]
    [reply] = [event for event in events if isinstance(event, MessagePosted)]
    assert (reply.content, reply.incomplete, reply.message_id) == ("half an", True, opened.run)
    [title] = [event for event in events if isinstance(event, ThreadRenamed)]
    assert title.source == "fallback"
    assert told.record is not None
    assert told.record.status == "stopped"


async def test_of_two_profiles_that_choose_one_slug_at_one_moment_one_is_refused() -> None:
    async with Planwerk(model=ScriptedModel([])) as app:
        data = (await app.profiles.get(DEFAULT_TENANT, "assistant")).data
        copies = [data.model_copy(update={"slug": "copy"})] * 2

        made = await asyncio.gather(
            *(app.profiles.create(DEFAULT_TENANT, copy, actor=ANNA) for copy in copies), return_exceptions=True
        )

        assert [type(result) for result in made if isinstance(result, BaseException)] == [SlugTaken]
        with pytest.raises(SlugTaken):
            await app.profiles.edit(DEFAULT_TENANT, "copy", {"slug": "assistant"}, actor=ANNA)
