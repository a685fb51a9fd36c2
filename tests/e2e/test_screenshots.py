"""The screens look as they did when somebody last looked at them and committed the picture.

`PLANWERK_SCREENSHOTS=write` writes the references anew. Look at each one before it is committed.
"""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path
from typing import Final, Literal

import pytest
from playwright.async_api import Browser

from tests.e2e.pictures import compare, small
from tests.e2e.scenes import SCENES
from tests.e2e.staging import HEIGHTS, staged

ROOT: Final = Path(__file__).parents[2]
REFERENCES: Final = Path(__file__).parent / "screenshots"
ACTUAL: Final = REFERENCES / "actual"
WRITING: Final = os.environ.get("PLANWERK_SCREENSHOTS") == "write"

Look = tuple[str, Literal["light", "dark"], int, str]
ALWAYS: Final[list[Look]] = [
    *((scene, "light", 1440, "en") for scene in SCENES),
    *((scene, "dark", 390, "de") for scene in SCENES),
]
ALL: Final[list[Look]] = list(product(SCENES, ("light", "dark"), HEIGHTS, ("en", "de")))


IN_README: Final[Look] = ("thread-done", "light", 1440, "en")


def reference_of(look: Look) -> Path:
    """The README shows one of the references, so that it is never out of date."""
    return ROOT / "docs/images/thread.png" if look == IN_README else REFERENCES / f"{name_of(look)}.png"


def name_of(look: Look) -> str:
    scene, theme, width, language = look
    return f"{scene}-{width}-{theme}-{language}"


@pytest.mark.parametrize(
    "look",
    [pytest.param(look, id=name_of(look), marks=() if look in ALWAYS else pytest.mark.soak) for look in ALL],
)
async def test_the_screen_looks_as_it_should(browser: Browser, tmp_path: Path, look: Look) -> None:
    scene, theme, width, language = look
    reference = reference_of(look)
    async with staged(browser, tmp_path, scene, theme=theme, width=width, language=language) as stage:
        await stage.person.page.evaluate("document.fonts.ready.then(() => undefined)")
        picture = await stage.person.page.screenshot(animations="disabled", caret="hide")

    blank = await browser.new_page()
    try:
        if WRITING:
            REFERENCES.mkdir(exist_ok=True)
            reference.write_bytes(await small(blank, picture))
        difference = await compare(blank, picture, reference.read_bytes())
    finally:
        await blank.close()
    if not difference.is_tolerable:
        ACTUAL.mkdir(parents=True, exist_ok=True)
        (ACTUAL / reference.name).write_bytes(picture)
    assert difference.is_tolerable, f"{reference.name} differs from what is shown now ({ACTUAL}): {difference}"
