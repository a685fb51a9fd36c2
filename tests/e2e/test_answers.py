"""Asking and being answered: streaming, steps, reload, stop, retry, follow-ups, the title."""

from __future__ import annotations

import re

from playwright.async_api import expect

from tests.e2e.live_model import LiveModel
from tests.e2e.person import Person


async def test_a_question_is_answered_in_a_stream_and_the_thread_gets_a_title(anna: Person, model: LiveModel) -> None:
    await anna.ask("Why is the sky blue?")
    answer = await model.next_answer()

    answer.says("Short waves ")
    await expect(anna.answers.last).to_contain_text("Short waves")
    await expect(anna.button("Stop")).to_be_visible()
    answer.says("scatter **more**.")
    answer.ends()

    await expect(anna.answers.last.get_by_role("strong")).to_have_text("more")
    await expect(anna.activity).to_contain_text(re.compile(r"Worked .+ · \d+ steps"))
    await expect(anna.button("Stop")).to_have_count(0)
    await expect(anna.heading("Why is the sky blue")).to_be_visible()
    await expect(anna.link("Why is the sky blue", exact=False, within=anna.chats)).to_be_visible()


async def test_the_activity_line_unfolds_to_the_steps_of_the_run(anna: Person) -> None:
    await anna.ask_and_read("Why is the sky blue?", "Short waves scatter more.")

    await anna.activity.click()

    steps = anna.answers.last.get_by_role("list", name="Steps").get_by_role("listitem")
    await expect(steps).to_have_count(9)
    await steps.nth(4).get_by_role("button").click()
    await anna.answers.last.get_by_role("tab", name="Result").click()
    await expect(steps.nth(4).get_by_role("tabpanel")).to_contain_text("Event")
    await anna.activity.click()
    await expect(steps).to_have_count(0)


async def test_a_reload_in_mid_answer_loses_nothing(anna: Person, model: LiveModel) -> None:
    await anna.ask("Count to four.")
    answer = await model.next_answer()
    answer.says("One, ", "two, ")
    await expect(anna.answers.last).to_contain_text("One, two,")

    await anna.page.reload()

    await expect(anna.answers.last).to_contain_text("One, two,")
    answer.says("three, ")
    await expect(anna.answers.last).to_contain_text("One, two, three,")
    answer.says("four.")
    answer.ends()
    await expect(anna.answers.last).to_contain_text("Worked")
    assert await prose(anna) == "One, two, three, four."
    await anna.page.reload()
    await expect(anna.answers).to_have_count(1)
    assert await prose(anna) == "One, two, three, four."
    assert model.asked_times == 1


async def test_stop_ends_the_answer_and_keeps_what_was_written(anna: Person, model: LiveModel) -> None:
    await anna.ask("Tell me a long story.")
    answer = await model.next_answer()
    answer.says("Once upon a time ")
    await expect(anna.answers.last).to_contain_text("Once upon a time")

    await anna.button("Stop").click()

    await expect(anna.answers.last).to_contain_text("Stopped. What was written is kept.")
    await expect(anna.answers.last).to_contain_text("Once upon a time")
    assert answer.closed.is_set()
    await expect(anna.button("Stop")).to_have_count(0)
    await anna.ask_and_read("And a short one?", "The end.")


async def test_an_answer_that_broke_off_is_kept_and_can_be_asked_again(anna: Person, model: LiveModel) -> None:
    await anna.ask("What is in the box?")
    answer = await model.next_answer()
    answer.says("In the box is ")
    await expect(anna.answers.last).to_contain_text("In the box is")
    answer.breaks_off(ConnectionError("cut"))

    alert = anna.answers.last.get_by_role("alert")
    await expect(alert).to_contain_text("The answer broke off.")
    await expect(alert).to_contain_text("What was written is kept.")
    await expect(anna.answers.last).to_contain_text("In the box is")
    await anna.button("Retry from here").click()
    await model.answer("In the box is a hat.")

    await expect(anna.answers.last).to_contain_text("In the box is a hat.")
    await expect(anna.answers.last).to_contain_text("Worked")
    await expect(anna.messages.get_by_text("What is in the box?", exact=True)).to_have_count(1)


async def test_a_model_that_says_nothing_fails_with_a_reason(anna: Person, model: LiveModel) -> None:
    await anna.ask("Say nothing.")
    (await model.next_answer()).ends()

    await expect(anna.answers.last.get_by_role("alert")).to_contain_text("The answer failed.")
    await expect(anna.button("Retry from here")).to_be_visible()
    await anna.ask_and_read("Say something.", "Something.")


async def test_a_follow_up_question_is_asked_by_a_click(anna: Person, model: LiveModel) -> None:
    await anna.ask_and_read("Why is the sky blue?", "Short waves scatter more.")
    follow_ups = anna.page.get_by_role("group", name="Follow-up questions").get_by_role("button")
    await expect(follow_ups).to_have_count(3)
    question = await follow_ups.first.inner_text()

    await follow_ups.first.click()
    answer = await model.answer("The sea, for example.")

    assert answer.question == question
    await expect(anna.answers).to_have_count(2)
    await expect(anna.answers.last).to_contain_text("The sea, for example.")


async def test_a_title_is_changed_in_its_place_and_stays(anna: Person) -> None:
    await anna.ask_and_read("Why is the sky blue?", "Short waves scatter more.")

    await anna.button("Rename").click()
    await anna.page.get_by_role("textbox", name="Title").fill("Colours of the sky")
    await anna.page.keyboard.press("Enter")

    await expect(anna.heading("Colours of the sky")).to_be_visible()
    await expect(anna.link("Colours of the sky", exact=False, within=anna.chats)).to_be_visible()
    await anna.ask_and_read("And at night?", "Black.")
    await anna.page.reload()
    await expect(anna.heading("Colours of the sky")).to_be_visible()


async def prose(anna: Person) -> str:
    """The text of the newest answer alone."""
    return await anna.answers.last.get_by_role("paragraph").first.inner_text()
