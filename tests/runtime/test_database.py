"""One SQLite file, many writers: shared commits, failures that leave the others alone, an orderly end."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from planwerk.storage.sqlite.database import SqliteDatabase, StorageBusy


@pytest.fixture
async def database(tmp_path: Path) -> AsyncGenerator[SqliteDatabase]:
    opened = SqliteDatabase(tmp_path / "data.db")
    await opened.write(lambda connection: connection.execute("CREATE TABLE notes (text TEXT UNIQUE)"))
    yield opened
    await opened.close()


async def note(database: SqliteDatabase, text: str) -> None:
    await database.write(lambda connection: connection.execute("INSERT INTO notes VALUES (?)", (text,)))


def notes(database: SqliteDatabase) -> list[str]:
    rows = database.read(lambda connection: connection.execute("SELECT text FROM notes ORDER BY text").fetchall())
    return [row[0] for row in rows]


async def test_all_who_write_in_one_iteration_of_the_loop_share_one_commit(database: SqliteDatabase) -> None:
    before = database.commits

    await asyncio.gather(*(note(database, f"{number:03}") for number in range(100)))

    assert database.commits == before + 1
    assert len(notes(database)) == 100


async def test_an_operation_that_raises_leaves_the_others_alone(database: SqliteDatabase) -> None:
    results = await asyncio.gather(*(note(database, text) for text in "abac"), return_exceptions=True)

    assert [type(result) for result in results] == [type(None), type(None), sqlite3.IntegrityError, type(None)]
    assert notes(database) == ["a", "b", "c"]


async def test_an_atomic_operation_that_raises_after_it_wrote_leaves_nothing(database: SqliteDatabase) -> None:
    def write_and_raise(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO notes VALUES ('half')")
        raise ValueError("no")

    failing = database.write(write_and_raise, atomic=True)
    results = await asyncio.gather(failing, note(database, "whole"), return_exceptions=True)

    assert isinstance(results[0], ValueError)
    assert notes(database) == ["whole"]


async def test_what_waits_is_written_before_the_end_and_nothing_after(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "data.db")
    await database.write(lambda connection: connection.execute("CREATE TABLE notes (text TEXT UNIQUE)"))
    writing = asyncio.create_task(note(database, "last"))
    await asyncio.sleep(0)

    await database.close()

    await writing
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        await note(database, "late")
    again = SqliteDatabase(tmp_path / "data.db")
    assert notes(again) == ["last"]
    await again.close()


async def test_a_writer_that_was_cancelled_disturbs_nobody(database: SqliteDatabase) -> None:
    impatient = asyncio.create_task(note(database, "impatient"))
    patient = asyncio.create_task(note(database, "patient"))
    await asyncio.sleep(0)
    impatient.cancel()

    await patient

    assert "patient" in notes(database)


async def test_a_transaction_that_sqlite_gives_up_fails_for_all_who_shared_it(database: SqliteDatabase) -> None:
    def give_up(connection: sqlite3.Connection) -> None:
        connection.execute("ROLLBACK")
        raise sqlite3.OperationalError("database or disk is full")

    results = await asyncio.gather(
        note(database, "before"), database.write(give_up), note(database, "after"), return_exceptions=True
    )

    assert all(isinstance(result, sqlite3.OperationalError) for result in results)
    assert notes(database) == []
    await note(database, "again")
    assert notes(database) == ["again"]


async def test_a_writer_waits_for_a_process_that_holds_the_file_and_says_so_in_the_end(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("planwerk.storage.sqlite.database.LOCK_WAIT_MILLISECONDS", 1)
    other = sqlite3.connect(database.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")  # as a process does that is stopped in the middle of a write

    with pytest.raises(StorageBusy, match="another process has kept"):
        await note(database, "refused")
    assert caplog.text.count("from being written") == 12
    later = asyncio.create_task(note(database, "waited"))
    while not database.is_waiting_for_lock:  # noqa: ASYNC110 - it waits in a thread, which tells nobody
        await asyncio.sleep(0)
    other.execute("COMMIT")
    other.close()
    await later

    assert notes(database) == ["waited"]
