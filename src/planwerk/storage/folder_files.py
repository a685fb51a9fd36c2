"""Port `FileStore` on a folder: `TENANT/ab/ID`, where every part of the path is made here."""

from __future__ import annotations

import asyncio
import hashlib
import re
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final
from weakref import finalize

from planwerk.workflow.ids import new_id
from planwerk.workspace.files import FileTooLarge, StoredFile

PIECE_BYTES: Final = 262_144
_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TENANT: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


class FolderFiles:
    """Files below a folder, which is made when the first one is written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def begin(self, tenant: str, *, most_bytes: int) -> FolderWriter:
        file = new_id()
        path = self._path(tenant, file)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return FolderWriter(path, file, most_bytes)

    @contextmanager
    def on_disk(self, tenant: str, file: str) -> Generator[Path]:
        path = self._path(tenant, file)
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {file!r}")
        yield path

    async def read(self, tenant: str, file: str) -> AsyncGenerator[bytes]:
        with self.on_disk(tenant, file) as path, path.open("rb") as opened:
            while piece := await asyncio.to_thread(opened.read, PIECE_BYTES):
                yield piece

    async def delete(self, tenant: str, file: str) -> bool:
        try:
            self._path(tenant, file).unlink()
        except FileNotFoundError:
            return False
        return True

    def _path(self, tenant: str, file: str) -> Path:
        if _TENANT.fullmatch(tenant) is None or _ID.fullmatch(file) is None:
            raise FileNotFoundError(f"there is no file {file[:60]!r}")
        return self._folder / tenant / file[-2:] / file


class FolderWriter:
    """A file that is being written beside the place where it will be."""

    def __init__(self, path: Path, file: str, most_bytes: int) -> None:
        self._path, self._file, self._most_bytes = path, file, most_bytes
        self._part = path.with_suffix(".part")
        self._opened: IO[bytes] | None = self._part.open("xb")
        self._hash = hashlib.sha256()
        self._size = 0

    def write(self, data: bytes) -> None:
        assert self._opened is not None
        self._size += len(data)
        if self._size > self._most_bytes:
            self.drop()
            raise FileTooLarge(self._most_bytes)
        self._hash.update(data)
        self._opened.write(data)

    def finish(self) -> StoredFile:
        assert self._opened is not None
        self._opened.close()
        self._opened = None
        self._part.rename(self._path)
        return StoredFile(self._file, self._size, self._hash.hexdigest())

    def drop(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None
            self._part.unlink(missing_ok=True)


class TemporaryFiles(FolderFiles):
    """Files that are gone with this process, for an installation that keeps everything in memory."""

    def __init__(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="planwerk-")
        super().__init__(Path(folder.name))
        finalize(self, folder.cleanup)
