"""From a file in the browser to an answer that cites it (issue 4, point 1)."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import cast

import pytest_asyncio
from examples.rag_over_a_folder import FolderReader
from playwright.async_api import Browser, expect

from planwerk.models.demo.model import DemoModel
from tests.documents.making import write_pdf
from tests.e2e.live_model import LiveModel
from tests.e2e.person import Person, enter
from tests.e2e.served import Served


@pytest_asyncio.fixture(loop_scope="session")
async def library(tmp_path: Path) -> AsyncGenerator[Served]:
    """The example, answered by the demo model."""
    served = Served(tmp_path, cast("LiveModel", DemoModel()), blueprints=[FolderReader])
    await served.start()
    await served.set_up_owner()
    try:
        yield served
    finally:
        await served.stop()


async def test_what_is_uploaded_is_found_and_cited_in_an_answer(
    browser: Browser, library: Served, tmp_path: Path
) -> None:
    good = write_pdf(tmp_path / "leave.pdf", [["Urlaub"], ["Der Antrag auf Urlaub geht an die Vorgesetzte."]])
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.4 nothing")
    async with enter(browser, library) as anna:
        page = anna.page
        await anna.sign_in()
        await anna.link("Knowledge").click()
        await anna.button("New collection").click()
        await page.get_by_role("textbox", name="Name").fill("Documents")
        await anna.button("Make it").click()
        await expect(anna.heading("Documents")).to_be_visible()

        await page.get_by_test_id("files").set_input_files([good, broken])

        await expect(page.get_by_role("row", name=re.compile("leave.pdf"))).to_contain_text("Ready")
        await expect(page.get_by_role("row", name=re.compile("broken.pdf"))).to_contain_text("The PDF is damaged")
        await page.get_by_role("searchbox", name="Question").fill("Urlaubsantrag")
        await anna.button("Look").click()
        await expect(page.get_by_role("list", name="Passages found")).to_contain_text("page 1–2")

        await ask(anna, "Wohin geht der Antrag auf Urlaub?")
        await expect(anna.answers.last).to_contain_text(re.compile(r"Vorgesetzte\. \[s[0-9a-f]{6}\]"))


async def ask(person: Person, words: str) -> None:
    await person.page.goto(person.served.url)
    await person.ask(words)
    await expect(person.answers.last).to_contain_text("Worked")
