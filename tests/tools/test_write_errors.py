"""docs/errors.md: every code that the source can give stands there, with what it means (S2.6)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools.write_errors import TARGET, Entry, entries, page

import planwerk
from planwerk.server.problems import CODES

SOURCE = Path(planwerk.__file__).parent
CODE = re.compile(r"""\bcode(?:: ClassVar\[str\])? ?= ?"([a-z_]+)"|send_problem\([^"]*"([a-z_]+)\"""")


def test_the_page_of_errors_is_up_to_date() -> None:
    assert TARGET.read_text(encoding="utf-8") == page(), "run python tools/write_errors.py"


def test_every_code_in_the_source_is_on_the_page() -> None:
    known = {entry.code for entry in entries()}

    written = {
        first or second
        for file in SOURCE.rglob("*.py")
        for first, second in CODE.findall(file.read_text(encoding="utf-8"))
    }

    assert len(written) > 50
    assert written | set(CODES.values()) <= known


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: f"{entry.room}-{entry.code}")
def test_every_code_says_what_it_means(entry: Entry) -> None:
    assert entry.meaning.endswith("."), entry
    assert 400 <= entry.status < 600
