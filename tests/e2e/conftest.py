"""One browser for all, one server and one fresh profile of the browser for each test; all in the same loop."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

from planwerk.server.static_files import STATIC
from tests.e2e.live_model import LiveModel
from tests.e2e.person import Person, enter
from tests.e2e.served import Served

HERE: Final = Path(__file__).parent
CHROMIUM: Final = os.environ.get("PLANWERK_CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",
    "--disable-lcd-text",
    "--force-color-profile=srgb",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test here drives a browser, and all share the loop that the browser lives in."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.e2e)
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def browser() -> AsyncGenerator[Browser]:
    """Debian's chromium, as CI has it."""
    assert (STATIC / "index.html").is_file(), "the web client is not built: run `make setup`, or `npm run build` in ui/"
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        await browser.close()


@pytest.fixture
def model() -> LiveModel:
    """The model that answers; the test writes what it says."""
    return LiveModel()


@pytest_asyncio.fixture(loop_scope="session")
async def served(tmp_path: Path, model: LiveModel) -> AsyncGenerator[Served]:
    """A new installation on SQLite, being served."""
    served = Served(tmp_path, model)
    await served.start()
    await served.set_up_owner()
    try:
        yield served
    finally:
        await served.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def stranger(browser: Browser, served: Served) -> AsyncGenerator[Person]:
    """Somebody at a browser who has not signed in."""
    async with enter(browser, served) as person:
        yield person


@pytest_asyncio.fixture(loop_scope="session")
async def anna(stranger: Person) -> Person:
    """The owner, signed in, at the start page."""
    await stranger.sign_in()
    return stranger
