"""The name a thread has until somebody finds a better one: the first words of its first message."""

from __future__ import annotations

from typing import Final

from planwerk.messages.sanitise import sanitise_text

LONGEST: Final = 50


def first_words(text: str) -> str:
    """The first words of a text in one line of at most 50 characters, with `…` where more follow; empty if none."""
    words = " ".join(sanitise_text(text).split())
    if len(words) <= LONGEST:
        return words
    beginning = words[: LONGEST - 1]
    cut = beginning.rsplit(" ", 1)[0] if words[LONGEST - 1] != " " and " " in beginning else beginning
    return f"{cut.rstrip(' ,.;:-–—')}…"
