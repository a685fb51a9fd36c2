"""Somebody at the browser: finds things as people do, by role and label, and waits for what is to be seen."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final

from playwright.async_api import Browser, ConsoleMessage, Locator, Page, Request, expect

from tests.e2e.served import Served

WIDE: Final = (1440, 900)
PHONE: Final = (390, 844)
expect.set_options(timeout=15_000)


class Person:
    """One page of one browser profile, and what went wrong in it."""

    def __init__(self, page: Page, served: Served) -> None:
        self.page = page
        self.served = served
        self.mishaps: list[str] = []
        """Errors of the page's scripts, and what its security policy refused."""
        self.requests: list[Request] = []
        page.on("pageerror", lambda error: self.mishaps.append(str(error)))
        page.on("console", self._listen)
        page.on("request", lambda request: self.requests.append(request))

    def _listen(self, message: ConsoleMessage) -> None:
        text = message.text
        if message.type == "error" and "Failed to load resource" not in text:
            self.mishaps.append(text)

    async def sign_in(self) -> None:
        """Come in by the link that the server prints."""
        await self.page.goto(await self.served.sign_in_link())
        await expect(self.heading("Anna")).to_be_visible()

    def sent(self, method: str, ending: str) -> list[Request]:
        """The requests of this method whose address ends so."""
        return [one for one in self.requests if one.method == method and one.url.partition("?")[0].endswith(ending)]

    # Finding ----------------------------------------------------------------------------------------------------------

    def button(self, name: str | Any, *, exact: bool = True, within: Locator | None = None) -> Locator:
        return (within or self.page).get_by_role("button", name=name, exact=exact)

    def link(self, name: str | Any, *, exact: bool = True, within: Locator | None = None) -> Locator:
        return (within or self.page).get_by_role("link", name=name, exact=exact)

    def heading(self, name: str | Any, *, exact: bool = False) -> Locator:
        return self.page.get_by_role("heading", level=1, name=name, exact=exact)

    @property
    def composer(self) -> Locator:
        return self.page.get_by_role("textbox", name="Message")

    @property
    def messages(self) -> Locator:
        return self.page.get_by_role("log", name="Messages")

    @property
    def answers(self) -> Locator:
        return self.page.get_by_role("article", name="Answer")

    @property
    def chats(self) -> Locator:
        return self.page.get_by_role("region", name="Chats")

    @property
    def activity(self) -> Locator:
        """The activity line of the newest answer."""
        return self.answers.last.locator("button[aria-expanded]").first

    def pane(self, name: str) -> Locator:
        return self.page.get_by_role("region", name=name, exact=True)

    # Doing ------------------------------------------------------------------------------------------------------------

    async def ask(self, question: str) -> None:
        """Type a question, press Enter, and see it in the thread."""
        await self.composer.fill(question)
        await self.composer.press("Enter")
        await expect(self.messages.get_by_text(question, exact=True).last).to_be_visible()

    async def ask_and_read(self, question: str, answer: str) -> None:
        """Have a question answered to the end."""
        await self.ask(question)
        await self.served.model.answer(answer)
        await expect(self.answers.last).to_contain_text("Worked")


@asynccontextmanager
async def enter(
    browser: Browser, served: Served, *, size: tuple[int, int] = WIDE, locale: str = "en-GB", **options: Any
) -> AsyncGenerator[Person]:
    """A fresh profile of the browser, which must have had no mishap at the end."""
    width, height = size
    context = await browser.new_context(
        viewport={"width": width, "height": height}, locale=locale, timezone_id="Europe/Zurich", **options
    )
    try:
        person = Person(await context.new_page(), served)
        yield person
        assert person.mishaps == []
    finally:
        await context.close()
