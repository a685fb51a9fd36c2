"""Writing while an answer is written: the message waits its turn, or takes the place of what is written."""

from __future__ import annotations

from playwright.async_api import expect

from tests.e2e.live_model import LiveModel
from tests.e2e.person import Person


async def test_a_message_added_after_waits_until_the_answer_is_done(anna: Person, model: LiveModel) -> None:
    await anna.ask("First?")
    first = await model.next_answer()
    first.says("One ")
    await expect(anna.answers.last).to_contain_text("One")

    await anna.composer.fill("Second?")
    when = anna.page.get_by_role("radiogroup", name="When")
    await expect(when.get_by_role("radio", name="after")).to_be_checked()
    await anna.button("Add").click()

    await expect(anna.answers.nth(1)).to_contain_text("Waits until the answer before is done")
    assert model.asked_times == 1
    first.says("is done.")
    first.ends()
    second = await model.answer("Two is done.")
    await expect(anna.answers.nth(0)).to_contain_text("One is done.")
    await expect(anna.answers.nth(1)).to_contain_text("Two is done.")
    assert second.question == "Second?"


async def test_a_message_added_instead_stops_the_answer_and_goes_on_with_itself(anna: Person, model: LiveModel) -> None:
    await anna.ask("First?")
    first = await model.next_answer()
    first.says("One ")
    await expect(anna.answers.last).to_contain_text("One")

    await anna.composer.fill("Rather this?")
    await anna.page.get_by_role("radiogroup", name="When").get_by_role("radio", name="instead").check()
    await anna.button("Add").click()
    second = await model.answer("This it is.")

    assert first.closed.is_set()
    assert second.question == "Rather this?"
    await expect(anna.answers.nth(0)).to_contain_text("Stopped. What was written is kept.")
    await expect(anna.answers.nth(0)).to_contain_text("One")
    await expect(anna.answers.nth(1)).to_contain_text("This it is.")
    await expect(anna.answers).to_have_count(2)
