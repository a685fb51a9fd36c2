"""Changelog fragments are named so that a release can gather them."""

from __future__ import annotations

import re
from pathlib import Path

FRAGMENTS = Path(__file__).resolve().parents[2] / "changelog.d"
NAME = re.compile(r"[a-z0-9-]+\.(added|changed|fixed|removed)\.md")


def test_every_fragment_is_named_by_topic_and_kind_and_says_something() -> None:
    fragments = [path for path in FRAGMENTS.iterdir() if path.name != "README.md"]

    assert [path.name for path in fragments if not NAME.fullmatch(path.name)] == []
    assert [path.name for path in fragments if not path.read_text("utf-8").strip()] == []
