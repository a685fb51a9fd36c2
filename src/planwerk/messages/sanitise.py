"""Half characters become U+FFFD before they are stored, streamed or sent (SRV-25).

A lone surrogate passes `json` but not UTF-8: one of them in a file, a tool result or a byte-level model's output would
make every later save and request of the conversation fail. Whole characters, also those written as two surrogates,
are kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final, TypeVar, cast

from pydantic_ai.messages import ModelMessage

MessageT = TypeVar("MessageT", bound=ModelMessage)

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def sanitise_text(text: str) -> str:
    """The text with each half character replaced by U+FFFD, and split pairs joined to the character they stand for."""
    if text.isascii() or _SURROGATE.search(text) is None:
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _SURROGATE.sub("\ufffd", joined)


def sanitise_json(value: Any) -> Any:
    """JSON data, or a dataclass of it, with every text in it sanitised; the same object when nothing had to change."""
    if isinstance(value, str):
        return sanitise_text(value)
    if isinstance(value, Mapping):
        return _sanitise_mapping(cast("Mapping[Any, Any]", value))
    if isinstance(value, list | tuple | AbstractSet):
        return _sanitise_sequence(cast("Sequence[Any]", value))
    if is_dataclass(value) and not isinstance(value, type):
        return _sanitise_dataclass(value)
    return value


def sanitise_message(message: MessageT) -> MessageT:
    """The message with every text in it sanitised: prompts, thinking, tool arguments and results, file names."""
    return cast("MessageT", sanitise_json(message))


def _sanitise_mapping(value: Mapping[Any, Any]) -> Mapping[Any, Any]:
    changed = {sanitise_json(key): sanitise_json(item) for key, item in value.items()}
    same = all(a is b and value[a] is changed[b] for a, b in zip(value, changed, strict=False))
    return value if same and len(changed) == len(value) else changed


def _sanitise_sequence(value: Sequence[Any]) -> Any:
    changed = [sanitise_json(item) for item in value]
    if all(new is old for new, old in zip(changed, value, strict=True)):
        return value
    return changed if isinstance(value, list) else type(value)(changed)  # pyright: ignore[reportCallIssue] - a container


def _sanitise_dataclass(value: Any) -> Any:
    changes: dict[str, Any] = {}
    for field in fields(value):
        if field.init:
            old = getattr(value, field.name)
            new = sanitise_json(old)
            if new is not old:
                changes[field.name] = new
    return replace(value, **changes) if changes else value
