"""The question in a form that needs no earlier turns, read from what a model wrote when asked for it (CAP-01)."""

from __future__ import annotations

import re
from typing import Final

from planwerk.messages.prompts import visible_text
from planwerk.messages.sanitise import sanitise_text

_PREFIX: Final = re.compile(
    r"\A[*_#\s]*(?:(?:standalone|rewritten|condensed)\s+question|eigenständige frage|question(?: autonome)?"
    r"|domanda(?: autonoma)?|frage)[*_]*\s*:[*_]*\s*",
    re.IGNORECASE,
)
_QUOTES: Final = (('"', '"'), ("“", "”"), ("„", "“"), ("«", "»"), ("`", "`"))


def read_condensed(answer: str) -> str:
    """The rewritten question without what surrounds it; blank if there is none."""
    text = _PREFIX.sub("", sanitise_text(visible_text(answer))).strip()
    for opening, closing in _QUOTES:
        if len(text) > 1 and text.startswith(opening) and text.endswith(closing):
            text = text[1:-1].strip()
    return text
