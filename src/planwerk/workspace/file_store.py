"""Files that belong to the organisation: uploads and the originals of documents, under ids of ours (design §2).

A name that a client gives is never part of a path. What is written becomes a file when it is finished; what is dropped
or fails in between leaves nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

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


class FileWriter(Protocol):
    """A file that is being written."""

    def write(self, data: bytes) -> None:
        """Add to it.

        Raises:
            FileTooLarge: It would be larger than the limit; nothing of it is left.
        """
        ...

    def finish(self) -> StoredFile:
        """Keep it."""
        ...

    def drop(self) -> None:
        """Leave nothing of it; does nothing once it is kept."""
        ...


class FileStore(Protocol):
    """Files per tenant, streamed in and out."""

    def begin(self, tenant: str, *, most_bytes: int) -> FileWriter:
        """Begin a new file."""
        ...

    def on_disk(self, tenant: str, file: str) -> AbstractContextManager[Path]:
        """A path under which another program can read it, while the context is open.

        Raises:
            FileNotFoundError: There is none.
        """
        ...

    def read(self, tenant: str, file: str) -> AsyncIterator[bytes]:
        """Its content in pieces; raises as `on_disk`."""
        ...

    async def delete(self, tenant: str, file: str) -> bool:
        """Delete it; False if there is none."""
        ...
