"""Files that belong to the organisation: uploads and the originals of documents, under ids of ours (design §2).

A name that a client gives is never part of a path. What is written becomes a file when it is finished; what is dropped
or fails in between leaves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from planwerk.workflow.errors import PlanwerkError


class FileTooLarge(PlanwerkError):
    """A file is larger than the limit; nothing of it was kept."""

    code = "file_too_large"
    http_status = 413

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"the file is larger than {limit / 1_048_576:,.0f} MiB (S5.4).",
            what_to_do="Split it, or send a smaller one.",
        )


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that was kept; `content_hash` is its SHA-256 in hexadecimal."""

    id: str
    size_bytes: int
    content_hash: str
