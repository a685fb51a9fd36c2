"""Every setting is documented, from its definition (style.md §7)."""

from __future__ import annotations

import pytest
from tools.write_settings import TARGET, page

from planwerk.settings.keys import KeyInfo, known_keys


def test_the_page_of_settings_is_up_to_date() -> None:
    assert TARGET.read_text(encoding="utf-8") == page(), "run python tools/write_settings.py"


@pytest.mark.parametrize("info", known_keys().values(), ids=lambda info: ".".join(info.path))
def test_every_setting_says_what_it_is_for(info: KeyInfo) -> None:
    assert (info.field.description or "").endswith(".")
