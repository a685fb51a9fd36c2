"""Whole text: what neither UTF-8 nor a database can hold is replaced where it comes in (SRV-25)."""

from __future__ import annotations

from typing import Any, cast


def whole_text(text: str) -> str:
    """The text with U+FFFD for each half of a character and each NUL; pairs of halves are joined, the rest is kept."""
    if text.isascii():
        return text.replace("\0", "\ufffd") if "\0" in text else text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").replace("\0", "\ufffd")


def whole(value: Any) -> Any:
    """A JSON-like value with all its texts whole, keys included; anything else is passed through as it is."""
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, dict):
        return {whole(key): whole(item) for key, item in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list):
        return [whole(item) for item in cast("list[Any]", value)]
    if type(value) is tuple:
        return tuple(whole(item) for item in cast("tuple[Any, ...]", value))
    return value
