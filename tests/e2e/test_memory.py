"""What an agent remembers of a person: there in her next chat, seen, edited and deleted by her (C2.3, U14)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import cast

import pytest_asyncio
from examples.helpdesk import Helpdesk
from playwright.async_api import Browser, Locator, expect

from planwerk.models.demo.model import DemoModel
from tests.e2e.live_model import LiveModel
from tests.e2e.person import PHONE, Person, enter
from tests.e2e.served import Served


@pytest_asyncio.fixture(loop_scope="session")
async def helpdesk(tmp_path: Path) -> AsyncGenerator[Served]:
    """The example, answered by the demo model."""
    served = Served(tmp_path, cast("LiveModel", DemoModel()), blueprints=[Helpdesk])
    await served.start()
    await served.set_up_owner()
    try:
        yield served
    finally:
        await served.stop()


def listed(person: Person) -> Locator:
    return person.page.get_by_role("list", name="What is remembered").get_by_role("listitem")


async def open_memory(person: Person) -> None:
    await person.button("Account").click()
    await person.link("Memory").click()
    await expect(person.heading("Memory")).to_be_visible()


async def say(person: Person, words: str) -> None:
    """Begin a chat with these words and have them answered."""
    await person.page.goto(person.served.url)
    await person.ask(words)
    await expect(person.answers.last).to_contain_text("Worked")


async def until_remembered(person: Person, text: str) -> None:
    """The writer works after the answer."""

    async def is_there() -> bool:
        response = await person.page.request.get(f"{person.served.url}/api/me/memories")
        return text in await response.text()

    for _ in range(200):
        if await is_there():
            return
        await person.page.wait_for_timeout(50)
    raise AssertionError(f"{text!r} was not remembered")


async def test_what_was_said_is_remembered_edited_and_forgotten(browser: Browser, helpdesk: Served) -> None:
    async with enter(browser, helpdesk) as anna:
        page = anna.page
        await anna.sign_in()
        await open_memory(anna)
        await expect(page.get_by_text("Nothing is remembered about you yet")).to_be_visible()

        await say(anna, "My laptop is a ThinkPad.")
        await until_remembered(anna, "ThinkPad")
        await say(anna, "Which laptop should be replaced?")
        await expect(anna.answers.last).to_contain_text("My laptop is a ThinkPad.")

        await open_memory(anna)
        await expect(listed(anna)).to_have_count(1)
        await listed(anna).get_by_role("link", name="Said in “My laptop is a ThinkPad”").click()
        await expect(anna.heading("My laptop is a ThinkPad")).to_be_visible()

        await page.go_back()
        await anna.button("Edit: My laptop is a ThinkPad.").click()
        field = page.get_by_role("textbox", name="What is remembered")
        await field.fill("My laptop is a MacBook.")
        await field.press("Enter")
        await expect(anna.button("Edit: My laptop is a MacBook.")).to_be_focused()
        await say(anna, "Which laptop should be replaced?")
        await expect(anna.answers.last).to_contain_text("My laptop is a MacBook.")
        await expect(anna.answers.last).not_to_contain_text("ThinkPad")

        await open_memory(anna)
        async with page.expect_download() as download:
            await anna.link("Export").click()
        saved = await download.value
        assert saved.suggested_filename == "memories.json"
        assert "MacBook" in await asyncio.to_thread(Path(await saved.path()).read_text, "utf-8")
        await anna.button("Delete: My laptop is a MacBook.").click()
        await anna.button("Delete").click()
        await expect(page.get_by_text("Nothing is remembered about you yet")).to_be_visible()
        await say(anna, "Which laptop should be replaced?")
        await expect(anna.answers.last).not_to_contain_text("MacBook")


async def test_all_is_forgotten_by_keyboard_on_a_phone(browser: Browser, helpdesk: Served) -> None:
    async with enter(browser, helpdesk, size=PHONE) as anna:
        page = anna.page
        await anna.sign_in()
        await say(anna, "My name is Anna. I live in Olten.")
        await until_remembered(anna, "Olten")
        await page.goto(f"{helpdesk.url}/settings/memory")
        await expect(listed(anna)).to_have_count(2)

        await anna.button("Delete all").press("Enter")
        await expect(anna.button("Keep")).to_be_focused()
        await page.keyboard.press("Escape")
        await expect(listed(anna)).to_have_count(2)
        await expect(anna.button("Delete all")).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(anna.button("Keep")).to_be_focused()
        await page.keyboard.press("Shift+Tab")
        await page.keyboard.press("Enter")

        await expect(page.get_by_text("Nothing is remembered about you yet")).to_be_visible()
        await expect(anna.heading("Memory")).to_be_focused()
        await page.reload()
        await expect(page.get_by_text("Nothing is remembered about you yet")).to_be_visible()
