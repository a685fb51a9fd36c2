"""Puts a screen on stage: an installation with its clock held, and a browser of the wanted size, theme and language."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from playwright.async_api import Browser

from tests.e2e.asking import BLUEPRINTS, PROFILES
from tests.e2e.live_model import LiveModel
from tests.e2e.person import enter
from tests.e2e.scenes import ASKING, HELD, SCENES, WORDS, HandClock, Stage, give_history
from tests.e2e.served import Served

HEIGHTS: Final = {390: 844, 768: 1024, 1440: 900}


@asynccontextmanager
async def staged(
    browser: Browser, data: Path, scene: str, *, theme: str, width: int, language: str
) -> AsyncGenerator[Stage]:
    """The scene, ready to be looked at."""
    words = WORDS[language]
    model = LiveModel({"title": words.title, "follow_ups": words.follow_ups}, held=HELD)
    clock = HandClock()
    agents: dict[str, Any] = {"blueprints": BLUEPRINTS, "profiles": PROFILES} if scene in ASKING else {}
    served = Served(data, model, clock=clock, **agents)
    await served.start()
    try:
        await served.set_up_owner()
        await give_history(served, clock, words)
        narrow = width < 720
        browser_options = {"color_scheme": theme, "has_touch": narrow, "is_mobile": narrow, "reduced_motion": "reduce"}
        size = (width, HEIGHTS[width])
        async with enter(browser, served, size=size, locale=f"{language}-CH", **browser_options) as person:
            await person.page.clock.set_fixed_time(clock.now)
            await person.sign_in()
            stage = Stage(person, served, model, clock, words)
            await SCENES[scene](stage)
            await person.page.mouse.move(width - 1, 1)
            yield stage
    finally:
        await served.stop()
