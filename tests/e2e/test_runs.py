"""The list of runs, stepping through one, replaying and forking it (U8, U9)."""

from __future__ import annotations

import json
import re

from playwright.async_api import Browser, Locator, expect

from tests.e2e.live_model import LiveModel
from tests.e2e.person import PHONE, Person, enter
from tests.e2e.served import Served
from tests.e2e.test_run_view import open_run, row, step


def listed(person: Person) -> Locator:
    return person.page.get_by_role("list", name="Runs").get_by_role("link")


async def open_list(person: Person) -> None:
    await person.link("Runs").click()
    await expect(person.heading("Runs", exact=True)).to_be_visible()


async def test_an_empty_list_says_what_it_is_for(anna: Person) -> None:
    await open_list(anna)

    await expect(anna.page.get_by_text("No runs yet")).to_be_visible()
    await anna.link("Ask a first question").click()
    await expect(anna.composer).to_be_visible()


async def test_runs_are_listed_filtered_and_opened(anna: Person, model: LiveModel) -> None:
    await anna.ask_and_read("Why is the sky blue?", "Short waves scatter more.")
    await anna.ask("What is in the box?")
    (await model.next_answer()).breaks_off(ConnectionError("cut"))
    await expect(anna.answers.last.get_by_role("alert")).to_be_visible()

    await open_list(anna)
    await expect(listed(anna)).to_have_count(2)
    await expect(listed(anna).first).to_contain_text("What is in the box?")
    await expect(listed(anna).first).to_contain_text("Failed")
    await anna.page.get_by_label("State").select_option("completed")
    await expect(listed(anna)).to_have_count(1)
    await anna.page.reload()
    await expect(listed(anna)).to_have_count(1)
    await anna.page.get_by_label("State").select_option("stopped")
    await expect(anna.page.get_by_text("No run fits")).to_be_visible()
    await anna.button("Show all").click()
    await listed(anna).last.click()

    await expect(anna.heading("Run of Assistant")).to_be_visible()


async def test_what_begins_elsewhere_waits_behind_a_pill(anna: Person) -> None:
    await anna.ask_and_read("One?", "One.")
    await open_list(anna)
    await expect(listed(anna)).to_have_count(1)

    async with enter(anna.page.context.browser or _none(), anna.served) as other:
        await other.sign_in()
        await other.ask_and_read("Two?", "Two.")
        await expect(anna.button("1 new run")).to_be_visible()
        await expect(listed(anna)).to_have_count(1)
        await anna.button("1 new run").click()

        await expect(listed(anna)).to_have_count(2)


def _none() -> Browser:
    raise AssertionError("there is a browser")


async def test_a_run_is_stepped_through_by_keyboard(anna: Person) -> None:
    await anna.ask_and_read("Why is the sky blue?", "Short waves scatter more.")
    await open_run(anna)
    slider = anna.page.get_by_role("slider", name="Position")

    await slider.focus()
    await anna.page.keyboard.press("Home")
    await expect(anna.pane("Timeline").get_by_role("row")).to_have_count(0)
    for _ in range(3):
        await anna.page.keyboard.press("ArrowRight")
    await expect(slider).to_have_attribute("aria-valuetext", re.compile(r"^No\. 4 of \d+, Step due$"))
    await expect(row(anna, "begin")).to_contain_text("working")
    await expect(step(anna, "answer")).to_have_accessible_name("answer not reached")
    await anna.page.keyboard.press("End")

    await expect(anna.pane("Timeline").get_by_role("row")).to_have_count(9)
    await expect(step(anna, "answer")).to_have_accessible_name(re.compile(r"done$"))


async def test_a_run_plays(anna: Person) -> None:
    await anna.ask_and_read("Why is the sky blue?", "Short waves scatter more.")
    await open_run(anna)
    slider = anna.page.get_by_role("slider", name="Position")
    await slider.fill("30")

    await anna.button("Play").click()

    await expect(anna.button("Pause")).to_be_visible()
    await expect(slider).to_have_attribute("aria-valuetext", re.compile("Run ended$"))
    await expect(anna.button("Play")).to_be_visible()


async def test_a_replay_says_that_all_would_be_decided_the_same(anna: Person) -> None:
    await anna.ask_and_read("Why is the sky blue?", "Short waves scatter more.")
    await open_run(anna)
    asked = len(anna.sent("POST", "/replay"))

    await anna.button("Replay").click()

    await expect(anna.page.get_by_text("would be decided the same")).to_be_visible()
    assert len(anna.sent("POST", "/replay")) == asked + 1


async def test_a_run_is_forked_from_a_step_with_another_setting(anna: Person, model: LiveModel) -> None:
    await anna.ask_and_read("Why is the sky blue?", "Short waves scatter more.")
    await open_run(anna)
    await step(anna, "assemble").click()
    await anna.button("Fork from here").click()
    dialog = anna.page.get_by_role("dialog", name="Fork this run")

    await expect(dialog).to_contain_text("Forking calls models.")
    await expect(dialog).to_contain_text("ComposePromptEvent")
    await dialog.get_by_label("Instructions").fill("Answer like a pirate.")
    await expect(dialog).to_contain_text("Changed")
    await anna.button("Fork and run", within=dialog).click()
    await model.answer("Arr, short waves.")

    await expect(anna.link("a run, at No.", exact=False)).to_be_visible()
    await expect(anna.page.get_by_role("status").first).to_have_text("Done")
    body = json.loads(anna.sent("POST", "/fork")[0].post_data or "")
    assert body["config"] == {"system_prompt": "Answer like a pirate."}
    await anna.link("All runs").click()
    await expect(listed(anna)).to_have_count(2)
    await expect(listed(anna).first).to_contain_text("Fork")
    await anna.link("Chat").click()
    await anna.link("Why is the sky blue", exact=False, within=anna.chats).click()
    await expect(anna.answers).to_have_count(1)


async def test_two_runs_are_compared_step_by_step(anna: Person) -> None:
    await anna.ask_and_read("Why is the sky blue?", "Short waves scatter more.")
    await anna.ask_and_read("Why is the sea blue?", "Water takes the red.")
    await open_list(anna)
    await anna.button("Compare").click()
    for question in ("Why is the sky blue?", "Why is the sea blue?"):
        await anna.page.get_by_role("checkbox", name=f"Choose {question}").check()
    await anna.link("Compare these two").click()

    await expect(anna.heading("Two runs compared")).to_be_visible()
    answered = anna.page.get_by_role("listitem").filter(has=anna.page.get_by_text("answer", exact=True)).first
    await answered.get_by_text("Show what differs").click()
    await expect(answered).to_contain_text("Short waves scatter more.")
    await expect(answered).to_contain_text("Water takes the red.")
    await anna.link("Why is the sea blue?").click()
    await expect(anna.heading("Run of Assistant")).to_be_visible()


async def test_the_dialog_holds_the_focus_and_closes_by_escape(anna: Person) -> None:
    await anna.ask_and_read("Why is the sky blue?", "Short waves scatter more.")
    await open_run(anna)
    await anna.button("Fork from here").focus()
    await anna.page.keyboard.press("Enter")
    dialog = anna.page.get_by_role("dialog", name="Fork this run")
    await expect(dialog).to_be_visible()

    for _ in range(12):
        await anna.page.keyboard.press("Tab")
    inside = "document.activeElement === document.body || !!document.activeElement.closest('dialog')"
    assert await anna.page.evaluate(inside)
    await anna.page.keyboard.press("Escape")

    await expect(dialog).to_have_count(0)
    await expect(anna.button("Fork from here")).to_be_focused()


async def test_on_a_phone_runs_are_listed_and_forked(browser: Browser, served: Served) -> None:
    async with enter(browser, served, size=PHONE, has_touch=True, is_mobile=True) as person:
        await person.sign_in()
        await person.composer.fill("Why is the sky blue?")
        await person.button("Send").tap()
        await served.model.answer("Short waves scatter more.")
        await expect(person.answers.last).to_contain_text("Worked")
        await person.link("All chats").tap()
        await open_list(person)
        await listed(person).first.tap()
        await person.button("Fork from here").tap()

        dialog = person.page.get_by_role("dialog", name="Fork this run")
        await expect(dialog).to_be_visible()
        width = await person.page.evaluate("document.documentElement.scrollWidth")
        assert width == PHONE[0]
        await person.button("Cancel", within=dialog).click()
        await expect(dialog).to_have_count(0)
