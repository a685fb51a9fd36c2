"""One server for each data folder: it holds the folder's lock, and commands find it by that (S1.7)."""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from planwerk.workflow.errors import PlanwerkError

LOCK_FILE: Final = "server.lock"
_ONLY_MINE: Final = 0o600
"""The file holds the local key, so nobody else of this machine may read it."""


@dataclass(frozen=True, slots=True)
class Holder:
    """The server that holds a data folder, and how to talk to it."""

    pid: int
    url: str
    key: str = field(repr=False)


class DataFolderHeld(PlanwerkError):
    """Another server uses this data folder; there is one for each (S1.7)."""

    code = "data_folder_held"
    http_status = 409

    def __init__(self, data: Path, holder: Holder | None) -> None:
        who = f"the server at {holder.url} (process {holder.pid})" if holder else "another process that is starting"
        super().__init__(
            f"the data folder {data} is held by {who} (S1.7: one server a folder).",
            what_to_do="Use that one, stop it first, or give this one a folder of its own with --data DIR.",
        )
        self.holder = holder


class DataLock:
    """The lock of a data folder, held until `release` or the end of the process, however that comes.

    Raises:
        DataFolderHeld: Another process has it.
    """

    def __init__(self, data: Path) -> None:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = os.open(data / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _ONLY_MINE)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise DataFolderHeld(data, _read(data / LOCK_FILE)) from None
        os.fchmod(self._file, _ONLY_MINE)
        self._write(b"")

    def tell(self, holder: Holder) -> None:
        """Let commands know where the server listens."""
        self._write(json.dumps(asdict(holder)).encode())

    def release(self) -> None:
        """Give the folder free."""
        self._write(b"")
        os.close(self._file)

    def _write(self, data: bytes) -> None:
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, data, 0)


def holder_of(data: Path) -> Holder | None:
    """The server that holds this data folder, or None.

    Raises:
        DataFolderHeld: A process has the lock, but does not say yet where it listens.
    """
    try:
        file = os.open(data / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        holder = _read(data / LOCK_FILE)
        if holder is None:
            raise DataFolderHeld(data, None) from None
        return holder
    finally:
        os.close(file)
    return None


def _read(path: Path) -> Holder | None:
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
        return Holder(int(data["pid"]), str(data["url"]), str(data["key"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
