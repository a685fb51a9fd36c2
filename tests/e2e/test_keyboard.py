"""Every flow with the keyboard alone: no click in this file."""

from __future__ import annotations

from playwright.async_api import Locator, expect

from tests.e2e.live_model import LiveModel
from tests.e2e.person import Person
from tests.e2e.served import PASSWORD, Served

FOCUS_STYLE = """(one) => {
  let box = one;
  for (let at = 0; at < 4 && box; at += 1, box = box.parentElement) {
    const style = getComputedStyle(box);
    if (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2) return true;
    if (box.querySelector?.("rect") && getComputedStyle(box.querySelector("rect")).strokeWidth === "2px") return true;
  }
  return false;
}"""


async def reach(person: Person, target: Locator, *, key: str = "Tab", most: int = 60) -> None:
    """Press Tab until the focus is there, as somebody without a mouse does; the focus is always to be seen."""
    for _ in range(most):
        if await target.evaluate("(one) => one === document.activeElement"):
            assert await target.evaluate(FOCUS_STYLE), "the focus cannot be seen"
            return
        await person.page.keyboard.press(key)
    raise AssertionError(f"{most} times {key} do not reach {target}")


async def test_signing_in_and_out(stranger: Person, served: Served) -> None:
    await stranger.page.goto(served.url)
    await expect(stranger.heading("Sign in")).to_be_visible()
    await reach(stranger, stranger.page.get_by_label("Name or e-mail"))
    await stranger.page.keyboard.type(served.login)
    await reach(stranger, stranger.page.get_by_label("Password"))
    await stranger.page.keyboard.type(PASSWORD)
    await stranger.page.keyboard.press("Enter")
    await expect(stranger.heading("Anna")).to_be_visible()

    await reach(stranger, stranger.button("Account"), key="Shift+Tab")
    await stranger.page.keyboard.press("Enter")
    dialog = stranger.page.get_by_role("dialog", name="Account")
    await reach(stranger, dialog.get_by_role("radio", name="As the system"))
    await stranger.page.keyboard.press("ArrowRight")
    await stranger.page.keyboard.press("ArrowRight")
    await expect(stranger.page.locator("html")).to_have_attribute("data-theme", "dark")
    await stranger.page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)
    await expect(stranger.button("Account")).to_be_focused()
    await stranger.page.keyboard.press("Enter")
    await reach(stranger, stranger.button("Sign out"))
    await stranger.page.keyboard.press("Enter")
    await expect(stranger.heading("Sign in")).to_be_visible()


async def test_asking_reading_the_steps_and_a_follow_up(anna: Person, model: LiveModel) -> None:
    await expect(anna.composer).to_be_focused()
    await anna.page.keyboard.type("Why is the sky blue?")
    await anna.page.keyboard.press("Enter")
    await model.answer("Short waves scatter more.")
    await expect(anna.answers.last).to_contain_text("Worked")
    await expect(anna.composer).to_be_focused()

    await reach(anna, anna.activity, key="Shift+Tab")
    await anna.page.keyboard.press("Enter")
    first = anna.answers.last.get_by_role("list", name="Steps").get_by_role("button").first
    await reach(anna, first)
    await anna.page.keyboard.press("Enter")
    await reach(anna, anna.answers.last.get_by_role("tab", name="Arguments"))
    await anna.page.keyboard.press("ArrowRight")
    await expect(anna.answers.last.get_by_role("tab", name="Result")).to_be_focused()
    follow_up = anna.page.get_by_role("group", name="Follow-up questions").get_by_role("button").first
    await reach(anna, follow_up)
    await anna.page.keyboard.press("Enter")
    await model.answer("The sea.")
    await expect(anna.answers.last).to_contain_text("The sea.")


async def test_queueing_and_stopping(anna: Person, model: LiveModel) -> None:
    await expect(anna.composer).to_be_focused()
    await anna.page.keyboard.type("First?")
    await anna.page.keyboard.press("Enter")
    first = await model.next_answer()
    first.says("One ")
    await expect(anna.answers.last).to_contain_text("One")

    await reach(anna, anna.composer)
    await anna.page.keyboard.type("Second?")
    await reach(anna, anna.page.get_by_role("radio", name="after"))
    await anna.page.keyboard.press("ArrowLeft")
    await expect(anna.page.get_by_role("radio", name="instead")).to_be_checked()
    await reach(anna, anna.button("Add"))
    await anna.page.keyboard.press("Enter")
    second = await model.next_answer()
    second.says("Two ")
    await expect(anna.answers.last).to_contain_text("Two")

    await reach(anna, anna.button("Stop"))
    await anna.page.keyboard.press("Enter")
    await expect(anna.answers.last).to_contain_text("Stopped.")
    await reach(anna, anna.button("Retry from here").last, key="Shift+Tab")
    await anna.page.keyboard.press("Enter")
    await model.answer("Two, whole.")
    await expect(anna.answers.last).to_contain_text("Two, whole.")


async def test_renaming_and_changing_the_conversation(anna: Person) -> None:
    await anna.ask_and_read("Hello there", "Hi.")
    await expect(anna.heading("Hello there")).to_be_visible()

    await reach(anna, anna.button("Rename"), key="Shift+Tab")
    await anna.page.keyboard.press("Enter")
    await expect(anna.page.get_by_role("textbox", name="Title")).to_be_focused()
    await anna.page.keyboard.type("Greetings")
    await anna.page.keyboard.press("Escape")
    await expect(anna.heading("Hello there")).to_be_visible()
    await expect(anna.button("Rename")).to_be_focused()
    await anna.page.keyboard.press("Enter")
    await anna.page.keyboard.type("Greetings")
    await anna.page.keyboard.press("Enter")
    await expect(anna.heading("Greetings")).to_be_visible()
    await expect(anna.button("Rename")).to_be_focused()

    await reach(anna, anna.link("New chat", within=anna.chats), key="Shift+Tab")
    await anna.page.keyboard.press("Enter")
    await expect(anna.heading("Anna")).to_be_visible()
    await reach(anna, anna.link("Greetings", exact=False, within=anna.chats), key="Shift+Tab")
    await anna.page.keyboard.press("Enter")
    await expect(anna.answers.last).to_contain_text("Hi.")


async def test_looking_at_a_run(anna: Person) -> None:
    await anna.ask_and_read("Hello there", "Hi.")
    await reach(anna, anna.link("Open run"), key="Shift+Tab")
    await anna.page.keyboard.press("Enter")
    await expect(anna.heading("Run of Assistant")).to_be_visible()

    answer = anna.pane("Graph").get_by_role("button", name="answer")
    await reach(anna, answer)
    await anna.page.keyboard.press("Enter")
    await expect(answer).to_have_attribute("aria-pressed", "true")
    await anna.page.keyboard.press("ArrowLeft")
    await expect(anna.pane("Graph").get_by_role("button", name="fit Conversation")).to_be_focused()
    await reach(anna, anna.pane("Inspector").get_by_role("tab", name="Event"))
    await anna.page.keyboard.press("ArrowRight")
    await expect(anna.pane("Inspector").get_by_role("tab", name="Cause & effect")).to_be_focused()
    await reach(anna, anna.link("Back to the chat"), key="Shift+Tab")
    await anna.page.keyboard.press("Enter")
    await expect(anna.answers.last).to_contain_text("Hi.")


async def test_a_link_leads_past_the_frame(anna: Person) -> None:
    await expect(anna.composer).to_be_focused()
    skip = anna.link("Skip to the content")
    await reach(anna, skip, key="Shift+Tab")
    await expect(skip).to_be_in_viewport()

    await anna.page.keyboard.press("Enter")
    await anna.page.keyboard.press("Tab")

    await expect(anna.composer).to_be_focused()
