"""How much a file may take to be read (C3.1): hostile files are told, not endured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MEBIBYTE: Final = 1_048_576
FILE_BYTES: Final = 50 * MEBIBYTE
"""Largest file, where no setting says otherwise (S5.4)."""


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """Limits of one file.

    Attributes:
        file_bytes: Largest file.
        seconds: Longest time that its reading may take, of the wall clock.
        memory_bytes: Address space of the process that reads; 0 sets none.
        unpacked_bytes: Most that an archive may unpack to, by its own directory.
        unpacked_ratio: Most that it may unpack to in relation to its size; counts from 10 MiB unpacked on.
        archive_entries: Most files in an archive.
        characters: Longest text.
    """

    file_bytes: int = FILE_BYTES
    seconds: float = 60.0
    memory_bytes: int = 1024 * MEBIBYTE
    unpacked_bytes: int = 500 * MEBIBYTE
    unpacked_ratio: int = 100
    archive_entries: int = 10_000
    characters: int = 10_000_000


RATIO_COUNTS_FROM_BYTES: Final = 10 * MEBIBYTE
DEFAULT_LIMITS: Final = ParseLimits()
