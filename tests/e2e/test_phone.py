"""On a phone: one thing at a time, nothing wider than the screen, everything under a thumb."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.e2e.live_model import LiveModel
from tests.e2e.person import PHONE, Person, enter
from tests.e2e.served import Served

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SMALL = """[...document.querySelectorAll("#root button, #root a, #root textarea")]
  .filter((one) => one.checkVisibility() && !one.matches(".skip, .prose a, dd a, svg *"))
  .map((one) => [one.getAttribute("aria-label") ?? one.textContent, one.getBoundingClientRect().height])
  .filter(([, height]) => height < 40)"""


@pytest_asyncio.fixture(loop_scope="session")
async def phone(browser: Browser, served: Served) -> AsyncGenerator[Person]:
    async with enter(browser, served, size=PHONE, has_touch=True, is_mobile=True) as person:
        await person.sign_in()
        yield person


async def test_a_question_is_asked_and_read(phone: Person, model: LiveModel) -> None:
    await phone.composer.fill("Why is the sky blue?")
    await phone.button("Send").tap()
    await model.answer(
        "Short waves scatter more.\n\n```python\n" + "print('a very long line of code') # " * 6 + "\n```\n\n"
        "| one | two | three | four | five |\n|---|---|---|---|---|\n| " + "wide cell words | " * 5
    )
    await expect(phone.answers.last).to_contain_text("Worked")

    assert await phone.page.evaluate(OVERFLOW) == 0
    assert await phone.page.evaluate(SMALL) == []
    await expect(phone.composer).to_be_in_viewport()
    await expect(phone.page.get_by_role("navigation", name="Main")).to_be_in_viewport()


async def test_the_list_is_a_page_of_its_own(phone: Person, model: LiveModel) -> None:
    await phone.composer.fill("Why is the sky blue?")
    await phone.button("Send").tap()
    await model.answer("Short waves scatter more.")
    await expect(phone.heading("Why is the sky blue")).to_be_visible()
    await expect(phone.chats).to_be_hidden()

    await phone.link("All chats").tap()
    await expect(phone.chats).to_be_visible()
    assert await phone.page.evaluate(OVERFLOW) == 0
    await phone.link("Why is the sky blue", exact=False, within=phone.chats).tap()

    await expect(phone.answers.last).to_contain_text("Short waves")
    await expect(phone.chats).to_be_hidden()
    await phone.link("New chat", within=phone.page.get_by_role("navigation")).tap()
    await expect(phone.heading("Anna")).to_be_visible()


async def test_enter_breaks_the_line_where_there_is_no_shift(phone: Person) -> None:
    await phone.composer.fill("one")
    await phone.composer.press("Enter")

    await expect(phone.composer).to_have_value("one\n")
    assert phone.sent("POST", "/api/threads") == []


async def test_a_run_is_read_from_top_to_bottom(phone: Person, model: LiveModel) -> None:
    await phone.composer.fill("Why is the sky blue?")
    await phone.button("Send").tap()
    await model.answer("Short waves scatter more.")
    await phone.link("Open run").tap()
    await expect(phone.heading("Run of Assistant")).to_be_visible()

    assert await phone.page.evaluate(OVERFLOW) == 0
    await phone.pane("Timeline").get_by_role("row", name="answer").tap()
    await expect(phone.pane("Inspector")).to_contain_text("LLMEvent")
    await phone.pane("Inspector").scroll_into_view_if_needed()
    await expect(phone.pane("Inspector")).to_be_in_viewport()
