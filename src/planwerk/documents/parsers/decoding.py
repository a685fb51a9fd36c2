"""Bytes as text: by their mark, as UTF-8, as what the page declares, and otherwise as Windows-1252 (SRV-25)."""

from __future__ import annotations

import codecs
import re
from typing import Final

MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
HALF: Final = re.compile("[\ud800-\udfff]")
_DECLARED: Final = re.compile(rb"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{2,40})", re.I)


def decode(data: bytes, *, declared_in_html: bool = False) -> str:
    """The text, with every line break a newline; what is no character becomes U+FFFD, NUL is left out."""
    return clean(_decoded(data, declared_in_html))


def clean(text: str) -> str:
    """Every line break a newline, half characters as U+FFFD, no NUL."""
    even = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    return even if even.isascii() else HALF.sub("\ufffd", even)


def _decoded(data: bytes, declared_in_html: bool) -> str:
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    if declared_in_html and (found := _DECLARED.search(data[:4096])):
        try:
            return data.decode(found[1].decode("ascii"), "replace")
        except LookupError:
            pass
    return data.decode("cp1252", "replace")
