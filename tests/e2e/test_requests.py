"""What runs ask people: answered in the chat, in the inbox, by somebody else, too late; nothing is lost on the way."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, expect

from planwerk.access.actors import SystemActor
from planwerk.access.principal import Principal
from planwerk.app import DEFAULT_TENANT
from planwerk.workflow.ids import EventId
from tests.e2e.asking import BLUEPRINTS, PROFILES, begin
from tests.e2e.live_model import LiveModel
from tests.e2e.person import PHONE, Person, enter
from tests.e2e.scenes import HandClock
from tests.e2e.served import Served
from tests.e2e.test_accessibility import findings
from tests.e2e.test_phone import OVERFLOW, SMALL

NIGHT_SHIFT: Final = SystemActor(name="Night shift")


@pytest_asyncio.fixture(loop_scope="session")
async def served(tmp_path: Path) -> AsyncGenerator[Served]:
    """An installation whose agents ask people."""
    served = Served(tmp_path, LiveModel(), blueprints=BLUEPRINTS, profiles=PROFILES)
    await served.start()
    await served.set_up_owner()
    try:
        yield served
    finally:
        await served.stop()


def card(person: Person, question: str) -> Locator:
    return person.page.get_by_role("article", name=question)


def waiting(person: Person) -> Locator:
    """The rail's way to the inbox, with the count."""
    return person.page.get_by_role("navigation", name="Main").get_by_role("link", name=re.compile("^Inbox"))


async def open_thread(person: Person, thread: str) -> None:
    await person.page.goto(f"{person.served.url}/threads/{thread}")


async def requests_of(served: Served, owner: Principal) -> list[str]:
    """Ids of what waits for the owner."""
    page = await served.planwerk.host.waiting_requests([f"account:{owner.account}", *await places(served, owner)])
    return [record.id for record in page]


async def places(served: Served, owner: Principal) -> list[str]:
    spaces = await served.planwerk.workspaces.list_for(DEFAULT_TENANT, owner.actor())
    return [f"workspace:{space.id}" for space in spaces]


async def test_a_question_is_answered_in_the_chat(anna: Person) -> None:
    await anna.button(re.compile("^Travel desk")).click()
    await anna.ask("The night train to Hamburg")

    question = card(anna, "Which cost centre pays for the night train?")
    await expect(question).to_contain_text("Needs you")
    await expect(anna.activity).to_have_text("Waiting for you")
    await expect(anna.chats.get_by_role("link").nth(1)).to_contain_text("Needs you")
    await expect(waiting(anna)).to_have_accessible_name("Inbox 1 waits for you")
    await anna.button("4720 Depots", within=question).click()

    await expect(anna.answers.last).to_contain_text("Noted: 4720.")
    await expect(anna.answers.last).to_contain_text("You answered “4720 Depots”")
    await expect(question).to_have_count(0)
    await expect(waiting(anna)).to_have_accessible_name("Inbox")
    await anna.page.reload()
    await expect(anna.answers.last).to_contain_text("You answered “4720 Depots”")
    await expect(anna.answers.last).to_contain_text("Noted: 4720.")


async def test_the_inbox_fills_by_itself_and_is_worked_through_by_keyboard(anna: Person, served: Served) -> None:
    await waiting(anna).click()
    await expect(anna.heading("Nothing waits for you")).to_be_visible()
    await begin(served, "travel", "The night train to Hamburg")
    await expect(anna.heading("1 waits for you")).to_be_visible()
    order = await begin(served, "orders", "A second monitor")
    await expect(anna.heading("2 wait for you")).to_be_visible()
    assert await findings(anna) == []

    train = card(anna, "Which cost centre pays for the night train?")
    await train.focus()
    await anna.page.keyboard.press("Tab")
    await expect(anna.link("Open chat")).to_be_focused()
    await anna.page.keyboard.press("Tab")
    await expect(anna.button("4410 Network planning")).to_be_focused()
    await anna.page.keyboard.press("Enter")
    await expect(card(anna, "Order these")).to_be_focused()
    await expect(anna.pane("Done just now")).to_contain_text("You answered “4410 Network planning”")
    await anna.page.keyboard.press("a")

    await expect(anna.heading("Nothing waits for you")).to_be_visible()
    await expect(anna.pane("Done just now")).to_contain_text("You confirmed")
    assert anna.page.url.endswith("/inbox")
    await open_thread(anna, order)
    await expect(anna.answers.last).to_contain_text("It is ordered.")


async def test_the_inbox_is_filtered_by_agent_and_leads_to_the_chat(anna: Person, served: Served) -> None:
    await begin(served, "travel", "The night train to Hamburg")
    await begin(served, "orders", "A second monitor")
    await waiting(anna).click()

    await expect(card(anna, "Order these")).to_contain_text("expires in")
    await anna.button(re.compile("^Travel desk"), within=anna.pane("Filter")).click()
    await expect(card(anna, "Which cost centre pays")).to_be_visible()
    await expect(card(anna, "Order these")).to_have_count(0)
    await anna.link("Open chat").click()

    await expect(anna.heading("The night train to Hamburg")).to_be_visible()
    await expect(card(anna, "Which cost centre pays")).to_be_visible()


async def test_what_was_answered_is_found_again_with_its_run(anna: Person, served: Served) -> None:
    await begin(served, "travel", "The night train to Hamburg")
    await begin(served, "orders", "A second monitor")
    await waiting(anna).click()
    await anna.button(re.compile("^Confirmations"), within=anna.pane("Filter")).click()
    await expect(anna.heading("1 waits for you")).to_be_visible()
    await card(anna, "Order these").focus()
    await anna.page.keyboard.press("a")
    await expect(anna.pane("Done just now")).to_contain_text("You confirmed")

    await anna.page.goto(f"{served.url}/inbox")
    await anna.button("Answered", within=anna.pane("Filter")).click()
    listed = anna.pane("Answered").get_by_role("listitem")
    await expect(listed).to_have_count(1)
    await expect(listed).to_contain_text("You confirmed")
    assert anna.page.url.endswith("/inbox?view=answered")
    assert await findings(anna) == []
    await anna.button(re.compile("^Questions"), within=anna.pane("Filter")).click()
    await expect(anna.page.get_by_text("Nothing that fits was answered")).to_be_visible()
    await anna.button("Show all").click()
    await listed.get_by_role("link", name=re.compile("^Open the run")).click()

    await expect(anna.heading("Run of Order desk")).to_be_visible()


async def test_what_somebody_else_answers_is_let_go_and_told(anna: Person, served: Served) -> None:
    thread = await begin(served, "travel", "A card for Sofie")
    await open_thread(anna, thread)
    await anna.page.get_by_role("textbox", name="Your answer").fill("Half a thought")
    owner = await served.planwerk.access.local_principal()
    (request,) = await requests_of(served, owner)

    await served.planwerk.host.answer(EventId(request), {"text": "Well done"}, actor=NIGHT_SHIFT, tenant=DEFAULT_TENANT)

    await expect(anna.answers.last).to_contain_text("Night shift answered “Well done”")
    await expect(anna.answers.last).to_contain_text("You had written: Half a thought")
    await expect(anna.answers.last).to_contain_text("Noted: Well done.")
    await expect(waiting(anna)).to_have_accessible_name("Inbox")


async def test_an_answer_that_comes_second_is_told_so(anna: Person, served: Served) -> None:
    thread = await begin(served, "travel", "A card for Sofie")
    await open_thread(anna, thread)
    await expect(card(anna, "What shall stand on the card?")).to_be_visible()
    # Nothing comes by the stream any more.
    await anna.page.route(re.compile(r"/stream\?"), lambda route: route.abort())
    await served.stop()
    await served.start()
    owner = await served.planwerk.access.local_principal()
    (request,) = await requests_of(served, owner)
    await served.planwerk.host.answer(EventId(request), {"text": "Well done"}, actor=NIGHT_SHIFT, tenant=DEFAULT_TENANT)

    await anna.page.get_by_role("textbox", name="Your answer").fill("My words")
    await anna.button("Send answer").click()

    await expect(anna.answers.last.get_by_role("alert")).to_contain_text("Your answer came second")
    await expect(anna.answers.last).to_contain_text("Night shift answered “Well done”")
    await expect(anna.answers.last).to_contain_text("You had written: My words")


async def test_a_reload_and_a_restart_while_it_waits_lose_nothing(anna: Person, served: Served) -> None:
    thread = await begin(served, "travel", "A card for Sofie")
    await open_thread(anna, thread)
    box = anna.page.get_by_role("textbox", name="Your answer")
    await expect(box).to_have_value("All the best")
    await box.fill("All the very best")

    await anna.page.reload()
    await expect(box).to_have_value("All the very best")
    await served.stop()
    await anna.button("Send answer").click()
    await expect(anna.answers.last.get_by_role("alert")).to_contain_text("Not sent.")
    await expect(box).to_have_value("All the very best")
    await served.start()
    await anna.button("Try again").click()

    await expect(anna.answers.last).to_contain_text("Noted: All the very best.")
    await expect(anna.answers).to_have_count(1)


async def test_a_question_in_the_conversation_is_answered_by_the_composer(anna: Person, served: Served) -> None:
    thread = await begin(served, "travel", "Book a table")
    await open_thread(anna, thread)
    await expect(anna.page.get_by_role("article", name="Question")).to_contain_text("For how many people?")
    await expect(anna.page.get_by_text("Travel desk waits for your answer.")).to_be_visible()

    await anna.composer.fill("Four")
    await expect(anna.page.get_by_role("radiogroup", name="When")).to_have_count(0)
    await anna.composer.press("Enter")

    await expect(anna.answers.last).to_contain_text("Noted: Four.")
    told = anna.messages.locator(".said, .prose")
    words = ["Book a table", "For how many people?", "Four", "Noted: Four."]
    await expect(told).to_have_text(words)
    await anna.page.reload()
    await expect(told).to_have_text(words)


@pytest.mark.parametrize("words", ["Book a table", "A second monitor"])
async def test_a_run_that_waits_can_be_stopped(anna: Person, served: Served, words: str) -> None:
    thread = await begin(served, "orders", words)
    await open_thread(anna, thread)
    await expect(anna.page.get_by_role("button", name="Waiting for you")).to_be_visible()

    await anna.button("Stop").click()

    await expect(anna.messages).to_contain_text("Stopped")
    await expect(anna.messages).to_contain_text("Not answered, the run ended")
    await expect(anna.button("Stop")).to_have_count(0)
    await expect(waiting(anna)).to_have_accessible_name("Inbox")


async def test_what_is_not_answered_in_time_says_so(browser: Browser, tmp_path: Path) -> None:
    clock = HandClock()
    served = Served(tmp_path, LiveModel(), blueprints=BLUEPRINTS, profiles=PROFILES, clock=clock)
    await served.start()
    try:
        await served.set_up_owner()
        async with enter(browser, served) as anna:
            await anna.page.clock.set_fixed_time(clock.now)
            await anna.sign_in()
            thread = await begin(served, "orders", "A second monitor")
            await open_thread(anna, thread)
            await expect(card(anna, "Order these")).to_contain_text("expires in 5 hours")

            clock.passes(4 * 3600 + 3400)
            await anna.page.clock.set_fixed_time(clock.now)
            await expect(card(anna, "Order these")).to_contain_text("expires in 4 minutes")
            await served.stop()
            clock.passes(300)
            await anna.page.clock.set_fixed_time(clock.now)
            await served.start()

            await expect(anna.answers.last).to_contain_text("Not answered in time")
            await expect(anna.answers.last).to_contain_text("Nobody decided, so nothing was ordered.")
            await expect(waiting(anna)).to_have_accessible_name("Inbox")
    finally:
        await served.stop()


async def test_the_run_view_shows_that_it_waits_and_for_whom(anna: Person, served: Served) -> None:
    await begin(served, "orders", "A second monitor")
    owner = await served.planwerk.access.local_principal()
    (record,) = await served.planwerk.host.waiting_requests(await places(served, owner))
    await anna.page.goto(f"{served.url}/runs/{record.run}")

    await expect(anna.page.get_by_role("status")).to_have_text("Needs you")
    await expect(anna.page.get_by_role("row", name=re.compile("^read , waits"))).to_be_visible()
    await expect(anna.button(re.compile("read .*waits"), within=anna.pane("Graph"))).to_be_visible()
    assert await findings(anna) == []
    await anna.link("Answer in the chat").click()

    await anna.button(re.compile("^Order")).click()
    await expect(anna.answers.last).to_contain_text("It is ordered.")


async def test_the_inbox_on_a_phone(browser: Browser, served: Served) -> None:
    await begin(served, "travel", "The night train to Hamburg")
    await begin(served, "orders", "A second monitor")
    async with enter(browser, served, size=PHONE, has_touch=True, is_mobile=True) as phone:
        await phone.sign_in()
        await waiting(phone).tap()
        await expect(card(phone, "Order these")).to_be_visible()

        assert await phone.page.evaluate(OVERFLOW) == 0
        assert await phone.page.evaluate(SMALL) == []
        await phone.button("Order").tap()
        await phone.button("4720 Depots").tap()

        await expect(phone.heading("Nothing waits for you")).to_be_visible()
        await expect(phone.page.get_by_role("navigation", name="Main")).to_be_in_viewport()
