"""One SQLite file: one writing connection per process, one commit per loop iteration shared by all who write.

A thread round trip costs five times a NORMAL commit, so writes run on the loop's own thread; what several runs write
in one iteration of the loop shares one transaction. Nothing awaits while a transaction is open. When another
process holds the lock, the waiting is done in a thread, so the loop never blocks on it.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, Literal, TypeVar

from planwerk.workflow.errors import PlanwerkError

T = TypeVar("T")
Operation = Callable[[sqlite3.Connection], T]

log = logging.getLogger(__name__)

LOCK_WAIT_MILLISECONDS: Final = 5_000
LOCK_WAITS: Final = 12
"""A process that is stopped in the middle of a write keeps all others waiting; each wait is told in the log."""
CHECKPOINT_PAGES: Final = 2_000
STATEMENT_CACHE: Final = 256


class StorageBusy(PlanwerkError):
    """Another process keeps the file from being written; nothing was written (ENG-21)."""

    code = "storage_busy"
    http_status = 503

    def __init__(self, path: Path, seconds: float) -> None:
        super().__init__(
            f"another process has kept {path} from being written for {seconds:g} s.",
            what_to_do="Look for a stopped or hanging process that uses the data folder, and end it or let it go on.",
        )


@dataclass(slots=True)
class _Waiting(Generic[T]):
    operation: Operation[T]
    atomic: bool
    future: asyncio.Future[T]


class SqliteDatabase:
    """A file that many coroutines write as one writer.

    Args:
        path: The file; it is created if missing.
        durability: `"process"` survives a kill of the process (WAL, NORMAL); `"power"` also power loss (FULL, E7.3).
    """

    def __init__(self, path: Path | str, *, durability: Literal["process", "power"] = "process") -> None:
        self.path = Path(path)
        self._durability = durability
        self._writer = self._connect()
        self._reader = self._connect(reading=True)
        self._waiting: list[_Waiting[Any]] = []
        self._flushing: asyncio.Task[None] | None = None
        self._scheduled = False
        self._closed = False
        self.commits = 0
        """Commits made by this object, for the benchmarks."""

    def _connect(self, *, reading: bool = False) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, isolation_level=None, check_same_thread=False, cached_statements=STATEMENT_CACHE
        )
        connection.execute(f"PRAGMA busy_timeout={LOCK_WAIT_MILLISECONDS}")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={'NORMAL' if self._durability == 'process' else 'FULL'}")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
        if reading:
            connection.execute("PRAGMA query_only=ON")
        else:
            connection.execute("PRAGMA busy_timeout=0")
        return connection

    async def write(self, operation: Operation[T], *, atomic: bool = False) -> T:
        """Run the operation in this iteration's transaction and return its result once that is committed.

        Args:
            operation: Synchronous; checks before it writes, so that raising leaves nothing behind.
            atomic: Wrap it in a savepoint, for operations that may raise after they wrote.
        """
        if self._closed:
            raise sqlite3.ProgrammingError(f"{self.path} is closed: nothing more can be written to it.")
        loop = asyncio.get_running_loop()
        waiting = _Waiting(operation, atomic, loop.create_future())
        self._waiting.append(waiting)
        if not self._scheduled and self._flushing is None:
            self._scheduled = True
            loop.call_soon(self._flush)
        return await waiting.future

    def read(self, operation: Operation[T]) -> T:
        """Run a short reading operation now, on the reading connection: it sees what is committed."""
        return operation(self._reader)

    async def read_in_thread(self, operation: Operation[T]) -> T:
        """Run a long reading operation in a thread, on a connection of its own."""

        def run() -> T:
            connection = self._connect(reading=True)
            try:
                return operation(connection)
            finally:
                connection.close()

        return await asyncio.to_thread(run)

    def changes(self) -> int:
        """A number that differs after any other process committed (PRAGMA data_version; 4 µs)."""
        row: tuple[int] = self._reader.execute("PRAGMA data_version").fetchone()
        return row[0]

    @property
    def is_waiting_for_lock(self) -> bool:
        """Whether writes wait here because another process writes."""
        return self._flushing is not None

    async def close(self) -> None:
        """Write what waits, then close; later writes are refused."""
        while self._waiting or self._flushing is not None:
            await asyncio.sleep(0)
            if self._flushing is not None:
                await asyncio.wait([self._flushing])
        self._closed = True
        self._reader.close()
        self._writer.close()

    def _flush(self) -> None:
        self._scheduled = False
        try:
            self._writer.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if not _is_locked(error):
                self._fail_all(error)
                return
            self._flushing = asyncio.get_running_loop().create_task(self._flush_after_lock())
            return
        self._run_and_commit()

    async def _flush_after_lock(self) -> None:
        """Another process writes: wait for the lock in a thread, then go on here."""
        try:
            begun = await asyncio.to_thread(self._begin_in_thread)
            if begun is not None:
                self._fail_all(begun)
            else:
                self._run_and_commit()
        finally:
            self._flushing = None
            if self._waiting and not self._scheduled:
                self._scheduled = True
                asyncio.get_running_loop().call_soon(self._flush)

    def _begin_in_thread(self) -> Exception | None:
        self._writer.execute(f"PRAGMA busy_timeout={LOCK_WAIT_MILLISECONDS}")
        try:
            for waited in range(1, LOCK_WAITS + 1):
                try:
                    self._writer.execute("BEGIN IMMEDIATE")
                except sqlite3.OperationalError as error:
                    if not _is_locked(error):
                        return error
                    seconds = waited * LOCK_WAIT_MILLISECONDS / 1000
                    log.warning("another process has kept %s from being written for %g s", self.path, seconds)
                else:
                    return None
        finally:
            self._writer.execute("PRAGMA busy_timeout=0")
        return StorageBusy(self.path, LOCK_WAITS * LOCK_WAIT_MILLISECONDS / 1000)

    def _run_and_commit(self) -> None:
        batch, self._waiting = self._waiting, []
        done: list[tuple[_Waiting[Any], Any]] = []
        failed: list[tuple[_Waiting[Any], Exception]] = []
        for waiting in batch:
            try:
                if not self._writer.in_transaction:
                    raise sqlite3.OperationalError("the transaction was rolled back by an earlier failure")
                done.append((waiting, self._perform(waiting)))
            except Exception as error:
                failed.append((waiting, error))
                if not self._writer.in_transaction:
                    # SQLite gave the whole transaction up (a full disk, say): nothing of it was written.
                    failed.extend((earlier, error) for earlier, _ in done)
                    done = []
        try:
            if self._writer.in_transaction:
                self._writer.execute("COMMIT")
                self.commits += 1
        except sqlite3.Error as error:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            failed.extend((waiting, error) for waiting, _ in done)
            done = []
        for waiting, result in done:
            if not waiting.future.done():
                waiting.future.set_result(result)
        for waiting, error in failed:
            if not waiting.future.done():
                waiting.future.set_exception(error)

    def _perform(self, waiting: _Waiting[T]) -> T:
        if not waiting.atomic:
            return waiting.operation(self._writer)
        self._writer.execute("SAVEPOINT operation")
        try:
            result = waiting.operation(self._writer)
        except BaseException:
            self._writer.execute("ROLLBACK TO operation")
            self._writer.execute("RELEASE operation")
            raise
        self._writer.execute("RELEASE operation")
        return result

    def _fail_all(self, error: Exception) -> None:
        batch, self._waiting = self._waiting, []
        for waiting in batch:
            if not waiting.future.done():
                waiting.future.set_exception(error)


def _is_locked(error: sqlite3.OperationalError) -> bool:
    return error.sqlite_errorcode & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
