"""UI-01: which Enter sends."""

from __future__ import annotations

from playwright.async_api import expect

from tests.e2e.live_model import LiveModel
from tests.e2e.person import Person

PRESS = """(box, init) => {
  if (init.compositionEnded) box.dispatchEvent(new CompositionEvent("compositionend", { bubbles: true }));
  const event = new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true, ...init });
  return box.dispatchEvent(event);
}"""


async def test_only_a_plain_enter_sends_and_it_sends_once(anna: Person, model: LiveModel) -> None:
    await anna.composer.fill("日本")

    await anna.composer.evaluate(PRESS, {"isComposing": True, "keyCode": 229})
    await anna.composer.evaluate(PRESS, {"compositionEnded": True, "isComposing": False, "keyCode": 229})
    assert anna.sent("POST", "/api/threads") == []
    await anna.composer.press("Shift+Enter")
    await expect(anna.composer).to_have_value("日本\n")
    await anna.composer.press("Backspace")
    await anna.composer.press("Enter")

    answer = await model.answer("はい")
    assert answer.question == "日本"
    await expect(anna.answers.last).to_contain_text("はい")
    assert len(anna.sent("POST", "/messages")) == 1


async def test_a_line_may_be_broken_and_the_message_keeps_it(anna: Person, model: LiveModel) -> None:
    await anna.composer.fill("one")
    await anna.composer.press("Shift+Enter")
    await anna.page.keyboard.type("two")
    await anna.composer.press("Enter")

    answer = await model.answer("Two lines.")
    assert answer.question == "one\ntwo"
    await expect(anna.messages.get_by_text("one two")).to_be_visible()


async def test_nothing_is_sent_of_an_empty_box(anna: Person) -> None:
    await anna.composer.fill("   ")
    await anna.composer.press("Enter")

    await expect(anna.button("Send")).to_be_disabled()
    assert anna.sent("POST", "/api/threads") == []
