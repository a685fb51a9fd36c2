"""Sending fails: the text is given back, the reason is said, nothing half sent is shown, and a retry sends once."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Route, expect

from tests.e2e.live_model import LiveModel
from tests.e2e.person import Person

PROBLEM_500 = '{"title":"Internal","status":500,"detail":"The disk is full.","code":"internal"}'


async def offline(route: Route) -> None:
    await route.abort("internetdisconnected")


async def broken(route: Route) -> None:
    await route.fulfill(status=500, content_type="application/problem+json", body=PROBLEM_500)


async def too_large(route: Route) -> None:
    await route.fulfill(status=413, body="")


@pytest.mark.parametrize(
    ("failing", "reason"),
    [(offline, "The server did not answer."), (broken, "The disk is full."), (too_large, "The message is too long")],
)
@pytest.mark.parametrize("place", ["home", "thread"])
async def test_a_message_that_could_not_be_sent_stays_in_the_box(
    anna: Person, model: LiveModel, failing: object, reason: str, place: str
) -> None:
    if place == "thread":
        await anna.ask_and_read("Before", "Yes.")
    await anna.page.route("**/api/threads/*/messages", failing)  # type: ignore[arg-type]

    await anna.composer.fill("important 1")
    await anna.composer.press("Enter")

    alert = anna.page.get_by_role("alert").filter(has_text="Not sent.")
    await expect(alert).to_contain_text(reason)
    await expect(alert).to_contain_text("Your text is still here.")
    await expect(anna.composer).to_have_value("important 1")
    await expect(anna.page.get_by_text("important 1", exact=True)).to_have_count(1)

    await anna.page.unroute("**/api/threads/*/messages")
    await anna.button("Try again").click()
    await model.answer("Got it.")
    await expect(anna.answers.last).to_contain_text("Got it.")
    await expect(anna.composer).to_have_value("")
    await expect(alert).to_have_count(0)
    await expect(anna.messages.get_by_text("important 1", exact=True)).to_have_count(1)
    assert model.asked_times == (2 if place == "thread" else 1)


async def test_a_question_asked_before_the_page_knows_the_agents_is_sent_when_it_does(
    stranger: Person, model: LiveModel
) -> None:
    asked, hold = asyncio.Event(), asyncio.Event()

    async def slow(route: Route) -> None:
        asked.set()
        await hold.wait()
        await route.continue_()

    await stranger.page.route("**/api/profiles", slow)
    await stranger.sign_in()
    await asked.wait()
    await stranger.composer.fill("Already?")
    await stranger.composer.press("Enter")
    await expect(stranger.button("Sending")).to_be_visible()
    hold.set()

    await model.answer("Now.")
    await expect(stranger.answers.last).to_contain_text("Now.")
    await expect(stranger.messages.get_by_text("Already?", exact=True)).to_have_count(1)


async def test_a_message_sent_while_the_thread_is_still_being_read_is_sent(anna: Person, model: LiveModel) -> None:
    await anna.ask_and_read("Before", "Yes.")
    asked, hold = asyncio.Event(), asyncio.Event()

    async def slow(route: Route) -> None:
        asked.set()
        await hold.wait()
        await route.continue_()

    await anna.page.route("**/api/workspaces/*/log*", slow)
    await anna.page.reload()
    await asked.wait()
    await anna.composer.fill("Already?")
    await anna.composer.press("Enter")
    await model.answer("Now.")
    hold.set()

    await expect(anna.answers.last).to_contain_text("Now.")
    await expect(anna.messages.get_by_text("Already?", exact=True)).to_have_count(1)


async def test_a_message_whose_answer_was_lost_is_not_posted_twice_by_the_retry(anna: Person, model: LiveModel) -> None:
    await anna.ask_and_read("Before", "Yes.")

    async def lost(route: Route) -> None:
        await route.fetch()
        await route.abort("connectionreset")

    await anna.page.route("**/api/threads/*/messages", lost)
    await anna.composer.fill("important 1")
    await anna.composer.press("Enter")
    await expect(anna.page.get_by_role("alert").filter(has_text="Not sent.")).to_be_visible()
    await anna.page.unroute("**/api/threads/*/messages")
    await anna.button("Try again").click()
    await model.answer("Once.")

    await expect(anna.answers.last).to_contain_text("Once.")
    await expect(anna.composer).to_have_value("")
    await expect(anna.messages.get_by_text("important 1", exact=True)).to_have_count(1)
    assert model.asked_times == 2


async def test_the_real_server_refuses_what_is_too_long_and_the_page_says_so_before(anna: Person) -> None:
    await anna.composer.fill("é" * 600_000)

    await anna.composer.press("Enter")

    await expect(anna.page.get_by_role("alert")).to_contain_text("The message is too long: at most 1 MB fit.")
    assert anna.sent("POST", "/messages") == []
    assert len(await anna.composer.input_value()) == 600_000


async def test_what_was_typed_survives_a_reload_and_a_look_at_another_conversation(anna: Person) -> None:
    await anna.ask_and_read("Before", "Yes.")
    await anna.composer.fill("half a thought")

    await anna.link("New chat", within=anna.chats).click()
    await expect(anna.composer).to_have_value("")
    await anna.page.go_back()

    await expect(anna.composer).to_have_value("half a thought")
    await anna.page.reload()
    await expect(anna.composer).to_have_value("half a thought")
