"""The gate: what kind of message this is, in one word of the task model (C1.1).

In doubt a message is normal: searching for nothing costs a little, not answering a question costs trust.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from planwerk.messages.prompts import visible_text


class GateLabel(StrEnum):
    """What a message is."""

    IDENTITY = "identity"
    """Asks who or what the assistant is."""
    ABILITIES = "abilities"
    """Asks what it can do."""
    BEHAVIOUR = "behaviour"
    """Asks how it works, or why it did what it did."""
    SMALL_TALK = "small_talk"
    """Greets, thanks, says goodbye: needs nothing looked up."""
    NORMAL = "normal"

    @property
    def is_meta(self) -> bool:
        """Whether the assistant answers about itself."""
        return self in {GateLabel.IDENTITY, GateLabel.ABILITIES, GateLabel.BEHAVIOUR}


_ANSWER: Final = re.compile(
    r"[\W_]*(?:the\s+)?(?:(?:label|category|class|kind|answer)[\W_]*(?:is)?[\W_]*)?"
    r"(identity|abilities|ability|behaviou?r|small[\s_-]?talk|normal)[\W_]*",
    re.IGNORECASE,
)
_SPELLINGS: Final = {"ability": "abilities", "behavior": "behaviour", "smalltalk": "small_talk"}


def read_label(answer: str) -> GateLabel:
    """The one label in a model's answer, whatever surrounds it (quotes, Markdown, JSON); anything else is normal."""
    found = _ANSWER.fullmatch(visible_text(answer))
    if found is None:
        return GateLabel.NORMAL
    word = re.sub(r"[\s-]", "_", found.group(1).lower())
    return GateLabel(_SPELLINGS.get(word, word))
