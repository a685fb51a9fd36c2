"""UI-03: what is in an answer, a question or a title is text, under the policy that the server really sends."""

from __future__ import annotations

from playwright.async_api import expect

from tests.e2e.live_model import LiveModel
from tests.e2e.person import Person

HOSTILE = (
    "<img src=x onerror=window.harmed=1>",
    "<svg onload=window.harmed=1>",
    '<iframe srcdoc="<script>parent.harmed=1</script>">',
    "[a](javascript:window.harmed=1)",
    '<a href=" JaVaScRiPt:window.harmed=1">b</a>',
    "<script>window.harmed=1</script>",
    "![pixel](https://tracker.invalid/pixel.png)",
)
HANDLERS = """[...document.querySelectorAll("#root *")].flatMap((one) =>
  [...one.attributes]
    .filter((at) => at.name.startsWith("on") || /^\\s*javascript:/i.test(at.value))
    .map((at) => at.name))"""


async def harmless(person: Person) -> None:
    assert await person.page.evaluate("window.harmed") is None
    assert await person.page.evaluate(HANDLERS) == []
    assert await person.page.locator("#root iframe, #root script, #root object, #root img:not([alt=''])").count() == 0
    assert [request.url for request in person.requests if not request.url.startswith(person.served.url)] == []


async def test_an_answer_that_would_run_code_is_read_as_text(anna: Person, model: LiveModel) -> None:
    await anna.ask("<img src=x onerror=window.harmed=1> ?")
    answer = await model.next_answer()
    answer.thinks(HOSTILE[0])
    for text in HOSTILE:
        for at in range(0, len(text), 7):
            answer.says(text[at : at + 7])
        answer.says("\n\n")
    answer.says("**Ordinary** text still works, and [links](https://example.invalid/) do.")
    await expect(anna.answers.last.get_by_role("strong")).to_have_text("Ordinary")
    await harmless(anna)
    await anna.activity.click()
    await harmless(anna)

    answer.ends()

    await expect(anna.answers.last).to_contain_text("Worked")
    await expect(anna.answers.last).to_contain_text("<img src=x onerror=window.harmed=1>")
    await expect(anna.messages.get_by_text("<img src=x onerror=window.harmed=1> ?")).to_be_visible()
    outside = anna.link("links", within=anna.answers.last)
    await expect(outside).to_have_attribute("rel", "noreferrer noopener")
    await harmless(anna)


async def test_a_title_is_text(anna: Person) -> None:
    await anna.ask_and_read("Hello", "Hi.")
    await anna.button("Rename").click()
    await anna.page.get_by_role("textbox", name="Title").fill(HOSTILE[0])
    await anna.page.keyboard.press("Enter")

    await expect(anna.heading(HOSTILE[0])).to_be_visible()
    await expect(anna.chats.get_by_text(HOSTILE[0])).to_be_visible()
    await harmless(anna)


async def test_the_policy_forbids_what_the_page_does_not_need(anna: Person) -> None:
    response = await anna.page.request.get(anna.served.url)

    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    refused = await anna.page.evaluate(
        """() => new Promise((tell) => {
          const name = "securitypolicyviolation";
          document.addEventListener(name, (event) => tell(event.effectiveDirective), { once: true });
          const script = document.createElement("script");
          script.textContent = "window.harmed = 1";
          document.body.append(script);
        })"""
    )
    assert refused == "script-src-elem"
    assert await anna.page.evaluate("window.harmed") is None
    anna.mishaps.clear()
