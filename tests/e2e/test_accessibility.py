"""axe finds nothing serious on any screen, in both themes, wide and narrow, with menus and dialogs open."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, cast

import pytest
from playwright.async_api import Browser, expect

from planwerk.app import DEFAULT_TENANT
from tests.e2e.live_model import LiveModel
from tests.e2e.person import Person
from tests.e2e.scenes import SCENES
from tests.e2e.served import Served
from tests.e2e.staging import staged

AXE: Final = Path(__file__).parents[2] / "ui/node_modules/axe-core/axe.min.js"
RUN: Final = """async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  return violations
    .filter((one) => one.impact === "serious" || one.impact === "critical")
    .flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.html.slice(0, 160)} ${node.failureSummary}`));
}"""


async def findings(person: Person) -> list[str]:
    """What axe calls serious or critical. It comes by the debugger, past the page's policy."""
    if not await person.page.evaluate("typeof axe !== 'undefined'"):
        await person.page.evaluate(AXE.read_text("utf-8") + "\n; undefined")
    return cast("list[Any]", await person.page.evaluate(RUN))


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 390)])
async def test_a_screen_has_no_serious_finding(
    browser: Browser, tmp_path: Path, scene: str, theme: str, width: int
) -> None:
    async with staged(browser, tmp_path, scene, theme=theme, width=width, language="en") as stage:
        assert await findings(stage.person) == []
        other = "dark" if theme == "light" else "light"
        await stage.person.page.emulate_media(color_scheme=other)
        assert await findings(stage.person) == []


async def test_what_opens_over_a_screen_has_no_serious_finding(anna: Person, served: Served, model: LiveModel) -> None:
    await anna.ask_and_read(
        "Why is the sky blue?", "Short waves\n\n```python\nscatter()\n```\n\n- more\n\n| a |\n|---|\n| b |"
    )
    await anna.activity.click()
    await anna.answers.last.get_by_role("list", name="Steps").get_by_role("button").nth(4).click()
    assert await findings(anna) == []
    await anna.button("Rename").click()
    assert await findings(anna) == []
    await anna.page.keyboard.press("Escape")
    await anna.button("Account").click()
    await expect(anna.page.get_by_role("dialog", name="Account")).to_be_visible()
    assert await findings(anna) == []
    await anna.page.keyboard.press("Escape")

    owner = await served.planwerk.access.account_by_login(DEFAULT_TENANT, served.login)
    await served.planwerk.access.end_sessions(DEFAULT_TENANT, owner.id)
    await anna.composer.fill("more")
    await anna.composer.press("Enter")
    await expect(anna.page.get_by_role("dialog", name="Please sign in again")).to_be_visible()
    assert await findings(anna) == []


async def test_the_inspector_s_tabs_have_no_serious_finding(anna: Person) -> None:
    await anna.ask_and_read("Why is the sky blue?", "Short waves scatter more.")
    await anna.link("Open run").click()
    await anna.pane("Timeline").get_by_role("row", name="answer").click()
    for tab in ("Event", "Cause & effect", "State", "Log"):
        await anna.pane("Inspector").get_by_role("tab", name=tab).click()
        assert await findings(anna) == []
