"""The run view: graph, timeline and inspector show one selection, live and afterwards."""

from __future__ import annotations

import re

from playwright.async_api import Locator, expect

from tests.e2e.live_model import LiveModel
from tests.e2e.person import Person


def step(person: Person, name: str) -> Locator:
    return person.button(re.compile(rf"^{name} "), within=person.pane("Graph"))


def row(person: Person, name: str) -> Locator:
    return person.pane("Timeline").get_by_role("row", name=re.compile(rf"^{name} "))


async def open_run(person: Person) -> None:
    await person.link("Open run").last.click()
    await expect(person.heading("Run of Assistant")).to_be_visible()


async def test_a_finished_run_is_told_in_its_head_and_leads_back_to_its_chat(anna: Person) -> None:
    await anna.ask_and_read("Why is the sky blue?", "Short waves scatter more.")

    await open_run(anna)

    await expect(anna.page.get_by_role("status")).to_have_text("Done")
    await expect(anna.page.get_by_role("definition").filter(has_text="Anna Keller")).to_be_visible()
    await expect(anna.pane("Timeline").get_by_role("row")).to_have_count(9)
    await expect(anna.button("Stop")).to_have_count(0)
    await anna.link("Why is the sky blue").click()
    await expect(anna.answers.last).to_contain_text("Short waves")


async def test_one_selection_is_shown_in_graph_timeline_and_inspector(anna: Person) -> None:
    await anna.ask_and_read("Why is the sky blue?", "Short waves scatter more.")
    await open_run(anna)
    inspector = anna.pane("Inspector")

    await step(anna, "gate").click()
    await expect(row(anna, r"Conversation\.gate")).to_have_attribute("aria-current", "true")
    await expect(inspector.get_by_role("heading")).to_contain_text(["MessageCleared"])

    await row(anna, "answer").click()
    await expect(step(anna, "answer")).to_have_attribute("aria-pressed", "true")
    await expect(step(anna, "gate")).to_have_attribute("aria-pressed", "false")
    await expect(inspector).to_contain_text("LLMEvent")
    await inspector.get_by_role("tab", name="Cause & effect").click()
    await inspector.get_by_role("button", name=re.compile("PromptComposed")).first.click()
    await expect(row(anna, r"Conversation\.fit")).to_have_attribute("aria-current", "true")
    await inspector.get_by_role("tab", name="Log").click()
    await expect(inspector.get_by_role("listitem").first).to_contain_text("Run opened")
    await expect(inspector.get_by_role("listitem").last).to_contain_text("Run ended")


async def test_the_arrow_keys_walk_the_chain_of_causes(anna: Person) -> None:
    await anna.ask_and_read("Why is the sky blue?", "Short waves scatter more.")
    await open_run(anna)

    await row(anna, "finish").focus()
    await anna.page.keyboard.press("Enter")
    await anna.page.keyboard.press("ArrowLeft")
    await expect(row(anna, "answer")).to_be_focused()
    await anna.page.keyboard.press("ArrowLeft")
    await expect(row(anna, r"Conversation\.fit")).to_be_focused()
    await anna.page.keyboard.press("ArrowRight")

    await expect(row(anna, "answer")).to_be_focused()
    await expect(step(anna, "answer")).to_have_attribute("aria-pressed", "true")


async def test_a_run_grows_as_it_works_and_can_be_stopped(anna: Person, model: LiveModel) -> None:
    await anna.ask("Tell me a long story.")
    answer = await model.next_answer()
    answer.says("Once upon a time ")
    await expect(anna.answers.last).to_contain_text("Once upon")
    run = await anna.page.evaluate(
        """() => fetch("/api/threads/" + location.pathname.split("/").pop())
              .then((one) => one.json()).then((thread) => thread.active_run)"""
    )

    await anna.page.goto(f"{anna.served.url}/runs/{run}")
    await expect(anna.page.get_by_role("status")).to_have_text("Working")
    await expect(row(anna, "answer")).to_contain_text("working")
    await expect(step(anna, "finish")).to_have_accessible_name("finish not reached")
    await anna.button("Stop").click()

    await expect(anna.page.get_by_role("status")).to_have_text("Stopped")
    await expect(anna.button("Stop")).to_have_count(0)
    assert answer.closed.is_set()


async def test_a_run_that_ends_while_it_is_watched_is_shown_to_its_end(anna: Person, model: LiveModel) -> None:
    await anna.ask("Tell me a story.")
    answer = await model.next_answer()
    answer.says("Once ")
    await expect(anna.answers.last).to_contain_text("Once")
    run = await anna.page.evaluate(
        """() => fetch("/api/threads/" + location.pathname.split("/").pop())
              .then((one) => one.json()).then((thread) => thread.active_run)"""
    )
    await anna.page.goto(f"{anna.served.url}/runs/{run}")
    await expect(row(anna, "answer")).to_contain_text("working")

    answer.says("upon a time.")
    answer.ends()

    await expect(anna.page.get_by_role("status")).to_have_text("Done")
    await expect(row(anna, r"Conversation\.end_turn")).to_contain_text("done")
    await expect(anna.pane("Timeline").get_by_role("row")).to_have_count(9)


async def test_a_failed_step_says_why(anna: Person, model: LiveModel) -> None:
    await anna.ask("What is in the box?")
    (await model.next_answer()).breaks_off(ConnectionError("cut"))
    await expect(anna.answers.last.get_by_role("alert")).to_be_visible()

    await open_run(anna)
    await row(anna, "answer").click()

    await expect(anna.page.get_by_role("status")).to_have_text("Failed")
    await expect(row(anna, "answer")).to_contain_text("failed")
    await expect(anna.pane("Inspector")).to_contain_text("model_")


async def test_a_graph_that_is_wider_than_its_place_says_so_and_can_be_fitted(anna: Person) -> None:
    await anna.ask_and_read("Why is the sky blue?", "Short waves scatter more.")
    await open_run(anna)
    onward = anna.button("More to the right")
    finish = step(anna, "finish")

    await expect(finish).not_to_be_in_viewport()
    await onward.click()
    await expect(finish).to_be_in_viewport()
    await expect(onward).to_have_count(0)

    await anna.button("Fit").click()
    await expect(step(anna, "begin")).to_be_in_viewport()
    await expect(finish).to_be_in_viewport()


async def test_a_run_that_does_not_exist_says_so(anna: Person) -> None:
    await anna.page.goto(f"{anna.served.url}/runs/01a22f6e-0000-7000-8000-000000000000")

    await expect(anna.page.get_by_text("This run does not exist, or you may not see it.")).to_be_visible()
