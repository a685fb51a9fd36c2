"""More than one conversation, and a server that goes away: text stays where it belongs (UI-05, UI-09)."""

from __future__ import annotations

import asyncio

from playwright.async_api import expect

from tests.e2e.live_model import LiveModel
from tests.e2e.person import Person
from tests.e2e.served import Served


async def test_text_that_arrives_stays_in_its_conversation(anna: Person, model: LiveModel) -> None:
    await anna.ask_and_read("Other talk", "A quiet answer.")
    await anna.link("New chat", within=anna.chats).click()
    await anna.ask("Count to fifty")
    counting = await model.next_answer()
    numbers = [f"{number} " for number in range(1, 51)]
    counting.says(*numbers[:10])
    await expect(anna.answers.last).to_contain_text("9 10")

    await anna.link("Other talk", exact=False, within=anna.chats).click()
    await expect(anna.heading("Other talk")).to_be_visible()
    counting.says(*numbers[10:30])
    working = anna.link("Count to fifty", exact=False, within=anna.chats).or_(
        anna.link("New chat Assistant", exact=False, within=anna.chats)
    )
    await expect(working).to_contain_text("Working")
    await expect(anna.answers).to_have_count(1)
    await expect(anna.messages).not_to_contain_text("9 10")
    await expect(anna.button("Stop")).to_have_count(0)

    await working.click()
    await expect(anna.answers.last).to_contain_text(" ".join(str(number) for number in range(1, 31)))
    counting.says(*numbers[30:])
    counting.ends()
    await expect(anna.answers.last).to_contain_text("Worked")
    whole = "".join(numbers).strip()
    await expect(anna.answers.last.get_by_role("paragraph").first).to_have_text(whole)
    await anna.page.reload()
    await expect(anna.answers.last.get_by_role("paragraph").first).to_have_text(whole)


async def test_a_server_that_restarts_in_mid_answer_goes_on_without_a_reload(
    anna: Person, served: Served, model: LiveModel
) -> None:
    await anna.ask("Count to four.")
    first = await model.next_answer()
    first.says("One, two, ")
    await expect(anna.answers.last).to_contain_text("One, two,")
    thread = anna.page.url

    await served.stop()
    await expect(anna.page.get_by_role("status").filter(has_text="Connection lost")).to_be_visible()
    await served.start()
    again = await model.next_answer()
    again.says("One, two, three, four.")
    again.ends()

    await expect(anna.answers.last).to_contain_text("Worked")
    await expect(anna.answers.last.get_by_role("paragraph").first).to_have_text("One, two, three, four.")
    await expect(anna.page.get_by_role("status").filter(has_text="Connection lost")).to_have_count(0)
    await anna.ask_and_read("And five?", "Five.")
    assert anna.page.url == thread
    await expect(anna.answers).to_have_count(2)
    await expect(anna.chats.get_by_role("link").filter(has_text="Assistant")).to_have_count(1)
    await one_stream(anna, served)


async def test_an_answer_that_was_finished_while_the_page_was_cut_off_appears_by_itself(
    anna: Person, model: LiveModel
) -> None:
    await anna.ask("Count to four.")
    answer = await model.next_answer()
    answer.says("One, two, ")
    await expect(anna.answers.last).to_contain_text("One, two,")

    async with cut_off(anna):
        answer.says("three, four.")
        answer.ends()
        await answer.closed.wait()

    await expect(anna.answers.last).to_contain_text("Worked")
    await expect(anna.answers.last.get_by_role("paragraph").first).to_have_text("One, two, three, four.")


async def test_the_same_conversation_in_two_windows_shows_the_same(anna: Person, served: Served) -> None:
    await anna.ask_and_read("Why is the sky blue?", "Short waves scatter more.")
    other = Person(await anna.page.context.new_page(), served)
    await other.page.goto(anna.page.url)
    await expect(other.answers.last).to_contain_text("Short waves")

    await other.ask("And the sea?")
    answer = await served.model.next_answer()
    answer.says("It mirrors ")
    await expect(anna.answers.last).to_contain_text("It mirrors")
    await expect(other.answers.last).to_contain_text("It mirrors")
    answer.says("the sky.")
    answer.ends()

    await expect(anna.answers.last).to_contain_text("Worked")
    await expect(other.answers.last).to_contain_text("Worked")
    assert await anna.messages.inner_text() == await other.messages.inner_text()
    assert other.mishaps == []


class cut_off:  # noqa: N801 - reads as a word where it is used
    """The network of the page is gone in the block."""

    def __init__(self, person: Person) -> None:
        self._context = person.page.context

    async def __aenter__(self) -> None:
        await self._context.set_offline(True)

    async def __aexit__(self, *_: object) -> None:
        await self._context.set_offline(False)


async def one_stream(person: Person, served: Served) -> None:
    """In the end the page holds one stream open; those it left take a moment to be noticed."""
    registry = served.application.state.streams
    async with asyncio.timeout(10):
        while len(registry) != 1:
            await person.page.evaluate("new Promise(requestAnimationFrame)")
