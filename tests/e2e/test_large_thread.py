"""Complaint 4.3 and UI-15: a thread of 2,000 messages opens, is typed in and streams, and little is drawn for it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final

import pytest_asyncio
from playwright.async_api import Browser, expect

from planwerk.access.actors import AgentActor
from planwerk.app import DEFAULT_TENANT, Planwerk
from planwerk.runtime.starter import CURSOR as STARTER_CURSOR
from planwerk.workflow.ids import MessageId, RunId, ThreadId, new_id
from planwerk.workspace.rules.commands import CreateThread, PostMessage
from planwerk.workspace.rules.events import MessagePosted, RunEnded, RunStarted
from planwerk.workspace.rules.facts import Fact
from tests.e2e.live_model import LiveModel
from tests.e2e.person import Person, enter
from tests.e2e.served import Served

MESSAGES: Final = 2_000
TEXT: Final = "Message {number} with **some** words, `code` and a list:\n\n- one\n- two\n\nAnd a last line."
COUNTING: Final = """() => {
  const log = document.querySelector("[role=log]");
  window.touched = new Set();
  new MutationObserver((changes) => {
    for (const { target } of changes) {
      const turn = (target.nodeType === 1 ? target : target.parentElement)?.closest(".turn");
      if (turn) window.touched.add(turn);
    }
  }).observe(log, { subtree: true, childList: true, characterData: true, attributes: true });
}"""


async def write_thread(data: Path, model: LiveModel) -> ThreadId:
    """A thread with 2,000 messages, written into an installation that does not work on it."""
    planwerk = Planwerk(storage=data / "planwerk.sqlite3", model=model)
    await planwerk.start(work=False)
    actor = (await planwerk.access.local_principal()).actor()
    workspace = await planwerk.workspaces.private_of(DEFAULT_TENANT, actor)
    space = planwerk.workspaces.of(DEFAULT_TENANT, workspace, actor)
    thread = ThreadId(new_id())
    await space.send(CreateThread(thread_id=thread, title="A large one", profile="assistant"))
    for number in range(1, MESSAGES, 2):
        message, run = MessageId(new_id()), RunId(new_id())
        text = TEXT.format(number=number)
        await space.send(
            PostMessage(
                thread_id=thread,
                message_id=message,
                content=text,
                run_id=run,
                profile="assistant",
                profile_version=1,
                blueprint="LLMWrappingAgent",
            )
        )
        facts = (
            RunStarted(run_id=run, profile="assistant", profile_version=1, profile_name="Assistant"),
            MessagePosted(message_id=MessageId(run), role="assistant", content=TEXT.format(number=number + 1)),
            RunEnded(run_id=run, status="completed", duration_seconds=1.5, steps=9),
        )
        agent = AgentActor(thread_id=thread, run_id=run, name="Assistant")
        await planwerk.workspaces.record(
            DEFAULT_TENANT, workspace, [Fact(thread=thread, run=run, actor=agent, event=fact) for fact in facts]
        )
    head = (await planwerk.workspaces.storage.feed(0, MESSAGES * 4))[-1].position
    await planwerk.workspaces.storage.save_cursor(STARTER_CURSOR, head)  # its runs are over: nothing is to be started
    await planwerk.stop()
    return thread


@pytest_asyncio.fixture(loop_scope="session")
async def reader(browser: Browser, tmp_path: Path, model: LiveModel) -> AsyncGenerator[Person]:
    """The owner, with the large thread open."""
    thread = await write_thread(tmp_path, model)
    served = Served(tmp_path, model)
    await served.start()
    await served.set_up_owner()
    try:
        async with enter(browser, served) as person:
            await person.sign_in()
            await person.page.goto(f"{served.url}/threads/{thread}")
            await expect(person.messages.get_by_text(f"Message {MESSAGES} ")).to_be_in_viewport()
            yield person
    finally:
        await served.stop()


async def test_a_large_thread_draws_little_and_draws_it_once(reader: Person, model: LiveModel) -> None:
    turns = reader.page.locator(".turn")
    drawn = await turns.count()
    assert drawn <= 60
    nodes = await reader.page.evaluate("document.querySelectorAll('*').length")
    assert nodes < 6_000
    log = [one for one in reader.requests if "/log?" in one.url]
    assert len(log) == 1

    await reader.page.evaluate(COUNTING)
    await reader.composer.press_sequentially("Typing changes nothing above the box")
    assert await reader.page.evaluate("window.touched.size") == 0

    await reader.composer.press("Enter")
    answer = await model.next_answer()
    words = [f"word{number} " for number in range(400)]
    answer.says(*words)
    await expect(reader.answers.last).to_contain_text("word399")
    answer.ends()
    await expect(reader.answers.last).to_contain_text("Worked")
    touched: int = await reader.page.evaluate("window.touched.size")
    assert touched <= 2, f"{touched} turns were drawn again for one answer"
    assert await turns.count() <= drawn + 1


async def test_earlier_messages_come_page_by_page_and_what_is_read_stays_in_its_place(
    reader: Person,
) -> None:
    earlier = reader.button("Show earlier messages")
    oldest = reader.page.locator(".turn").first
    text = (await oldest.locator(".said").text_content() or "").partition(" with")[0] + " with"
    kept = reader.page.locator(".turn").filter(has_text=text)
    await reader.messages.evaluate("(log) => { log.scrollTop = 0; }")
    await expect(kept).to_be_in_viewport()

    await earlier.click()

    await expect(oldest).not_to_contain_text(text)
    await expect(kept).to_be_in_viewport()
