"""Schedules beside the runs, and their failures in the inbox (E8.3, U5)."""

from __future__ import annotations

from playwright.async_api import expect

from planwerk.access.actors import UserActor
from planwerk.app import DEFAULT_TENANT
from tests.e2e.live_model import LiveModel
from tests.e2e.person import Person

ANNA = UserActor(id="anna", name="Anna Keller")


async def test_a_schedule_is_seen_run_by_hand_and_its_failure_put_away(anna: Person, model: LiveModel) -> None:
    page = anna.page
    await anna.link("Runs").click()
    await page.get_by_role("tab", name="Schedules").click()
    await expect(page.get_by_text("No agent runs by itself yet")).to_be_visible()
    schedule = {"cron": "0 7 29 2 *", "zone": "Europe/Zurich", "message": "What is new?"}
    await anna.served.planwerk.profiles.edit(DEFAULT_TENANT, "assistant", {"schedule": schedule}, actor=ANNA)

    await page.reload()
    listed = page.get_by_role("list", name="Schedules").get_by_role("listitem")
    await expect(listed).to_contain_text("By the expression 0 7 29 2 *, Zurich time")
    await expect(listed).to_contain_text("Has not run yet")
    await anna.button("Run Assistant now").click()
    (await model.next_answer()).breaks_off(ConnectionError("cut"))

    await expect(listed).to_contain_text("Failed, ")
    await anna.button("Pause the schedule of Assistant").click()
    await expect(listed).to_contain_text("Paused")
    await listed.get_by_role("link", name="All runs").click()
    await expect(page.get_by_role("list", name="Runs").get_by_role("link")).to_contain_text("What is new?")

    await page.goto(f"{anna.served.url}/inbox")
    failed = page.get_by_role("region", name="Failed schedules")
    await expect(failed).to_contain_text("Assistant failed, ")
    await anna.button("Dismiss the failure of Assistant").click()
    await expect(anna.heading("Nothing waits for you")).to_be_visible()
    await page.reload()
    await expect(anna.heading("Nothing waits for you")).to_be_visible()
