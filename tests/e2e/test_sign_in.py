"""Coming in: by the printed link, by password, and again when the session has ended."""

from __future__ import annotations

from playwright.async_api import Route, expect

from planwerk.app import DEFAULT_TENANT
from tests.e2e.live_model import LiveModel
from tests.e2e.person import Person
from tests.e2e.served import PASSWORD, Served


async def fill_in(person: Person, login: str, password: str) -> None:
    await person.page.get_by_label("Name or e-mail").fill(login)
    await person.page.get_by_label("Password").fill(password)
    await person.button("Sign in").click()


async def test_the_printed_link_signs_in_once(stranger: Person, served: Served) -> None:
    link = await served.sign_in_link()

    await stranger.page.goto(link)

    await expect(stranger.heading("Anna")).to_be_visible()
    assert "token" not in stranger.page.url
    await stranger.page.context.clear_cookies()
    await stranger.page.goto(link)
    await expect(stranger.page.get_by_role("alert")).to_contain_text(
        "This sign-in link was used already or is too old."
    )
    await expect(stranger.heading("Sign in")).to_be_visible()


async def test_name_and_password_sign_in_and_a_wrong_one_says_so(stranger: Person, served: Served) -> None:
    await stranger.page.goto(served.url)

    await fill_in(stranger, served.login, "something else entirely")
    await expect(stranger.page.get_by_role("alert")).to_contain_text("Name or password is not right.")
    await fill_in(stranger, served.login, PASSWORD)

    await expect(stranger.heading("Anna")).to_be_visible()


async def test_signing_out_leaves_nothing_behind(anna: Person) -> None:
    await anna.ask_and_read("Why is the sky blue?", "Short waves scatter more.")

    await anna.button("Account").click()
    await anna.button("Sign out").click()

    await expect(anna.heading("Sign in")).to_be_visible()
    await anna.page.go_back()
    await expect(anna.heading("Sign in")).to_be_visible()
    await expect(anna.page.get_by_text("Short waves")).to_have_count(0)


async def test_a_session_that_ended_asks_over_the_page_and_no_text_is_lost(
    anna: Person, served: Served, model: LiveModel
) -> None:
    await anna.ask_and_read("Why is the sky blue?", "Short waves scatter more.")
    owner = await served.planwerk.access.account_by_login(DEFAULT_TENANT, served.login)

    async def unreachable(route: Route) -> None:
        await route.abort()

    await anna.page.route("**/stream?*", unreachable)  # or the stream finds it gone first
    await served.planwerk.access.end_sessions(DEFAULT_TENANT, owner.id)

    await anna.composer.fill("A text that took an hour")
    await anna.composer.press("Enter")

    dialog = anna.page.get_by_role("dialog", name="Please sign in again")
    await expect(dialog).to_be_visible()
    await anna.page.unroute("**/stream?*", unreachable)
    await expect(dialog.get_by_label("Name or e-mail")).to_have_value(served.login)
    await dialog.get_by_label("Password").fill(PASSWORD)
    await dialog.get_by_label("Password").press("Enter")
    await expect(dialog).to_have_count(0)
    await expect(anna.composer).to_have_value("A text that took an hour")
    await anna.button("Try again").click()
    await model.answer("Worth it.")
    await expect(anna.answers.last).to_contain_text("Worth it.")
    await expect(anna.composer).to_have_value("")


async def test_the_language_is_switched_on_both_sides_of_the_door(stranger: Person, served: Served) -> None:
    await stranger.page.goto(served.url)
    await stranger.page.get_by_role("radio", name="Deutsch").click()
    await expect(stranger.heading("Anmelden")).to_be_visible()

    await stranger.sign_in()
    await stranger.button("Konto").click()
    await stranger.page.get_by_role("radio", name="Français").click()

    await expect(stranger.page.get_by_role("dialog", name="Compte")).to_be_visible()
    await expect(stranger.page.locator("html")).to_have_attribute("lang", "fr")
    await stranger.page.reload()
    await expect(stranger.page.locator("html")).to_have_attribute("lang", "fr")
    owner = await served.planwerk.access.account_by_login(DEFAULT_TENANT, served.login)
    assert owner.locale == "fr"
