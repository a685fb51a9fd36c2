"""A thread's title from what a model wrote when asked for one (CAP-03)."""

from __future__ import annotations

import json
import re
from typing import Any, Final, cast

from planwerk.messages.first_words import first_words
from planwerk.messages.prompts import visible_text
from planwerk.messages.sanitise import sanitise_text

LONGEST: Final = 80

_TAG: Final = re.compile(r"</?[A-Za-z][^<>]*>")
_PREFIX: Final = re.compile(
    r"\A(?:the\s+)?(?:(?:chat|thread)\s+)?(?:title|titel|titre|titolo)\s*(?:is)?\s*[::]\s*", re.I
)
_MARKUP: Final = re.compile(r"\A(?:[#>]+|[-*+]|\d+[.)])\s+|[*`]+|(?<!\w)_+|_+(?!\w)")
_QUOTES: Final = re.compile("[\"“”„‟«»‹›「」『』]|(?<!\\w)['‘’‚]|['‘’‚](?!\\w)")


def title_from(answer: str, message: str) -> str:
    """One clean line of a model's answer; the first words of the message where it holds no title; blank if neither."""
    for line in _without_json(visible_text(answer)).splitlines():
        title = _plain(line)
        if title:
            return title if len(title) <= LONGEST else _from_message(message)
    return _from_message(message)


def _from_message(message: str) -> str:
    return first_words(_QUOTES.sub("", _TAG.sub(" ", message)))


def _plain(line: str) -> str:
    text = _TAG.sub(" ", sanitise_text(line))
    before = None
    while before != text:  # a prefix may stand inside markup, and markup after a prefix
        before = text
        text = _PREFIX.sub("", _QUOTES.sub("", _MARKUP.sub("", text.strip())).strip())
    return " ".join(text.split()).rstrip(" .")


def _without_json(answer: str) -> str:
    """`{"title": "…"}`, also in a code fence, is how some models answer whatever they are asked."""
    bare = re.sub(r"\A```\w*\s*|\s*```\Z", "", answer.strip())
    try:
        data: Any = json.loads(bare)
    except ValueError:
        return bare
    if isinstance(data, dict):
        data = next((value for value in cast("dict[str, Any]", data).values() if isinstance(value, str)), "")
    return data if isinstance(data, str) else bare
