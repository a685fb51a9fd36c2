"""What every journal keeps: order, one owner, whole appends, readers who miss nothing (E7.1, E7.3)."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage

from planwerk.messages.events import UserMessageEvent
from planwerk.messages.prompts import assistant_message, user_prompt
from planwerk.runtime.errors import StaleFence, StaleVersion
from planwerk.storage.migrate import upgrade
from planwerk.storage.sqlite.database import SqliteDatabase
from planwerk.storage.sqlite.journal import SqliteJournal
from planwerk.workflow import entries as journal
from planwerk.workflow.events import ControlEvent
from planwerk.workflow.ids import EventId, ExecutionId, RunId, new_id
from tests.runtime.stores import ADAPTERS, OpenStores, open_stores


class JournalTickEvent(ControlEvent):
    number: int


@pytest.fixture(params=ADAPTERS)
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[OpenStores]:
    async with open_stores(request.param, tmp_path) as opened:
        yield opened


def tick(number: int) -> journal.EventPublished:
    return journal.EventPublished(JournalTickEvent(number=number), EventId(new_id()), number)


RUN = RunId(new_id())
OTHER = RunId(new_id())


async def test_entries_are_read_back_in_order_from_any_position(stores: OpenStores) -> None:
    version = await stores.journal.append(RUN, [tick(1), tick(2)], expected_version=0, fence=0)
    version = await stores.journal.append(RUN, [tick(3)], expected_version=version, fence=0)

    assert version == 3
    assert [entry.at for entry in await stores.journal.read(RUN) if isinstance(entry, journal.EventPublished)] == [
        1,
        2,
        3,
    ]
    assert [entry.at for entry in await stores.journal.read(RUN, 1) if isinstance(entry, journal.EventPublished)] == [
        2,
        3,
    ]
    assert await stores.journal.read(RUN, 3) == []
    assert await stores.journal.read(OTHER) == []


async def test_an_append_on_an_old_version_is_refused_whole(stores: OpenStores) -> None:
    await stores.journal.append(RUN, [tick(1)], expected_version=0, fence=0)

    with pytest.raises(StaleVersion) as refused:
        await stores.journal.append(RUN, [tick(2), tick(3)], expected_version=0, fence=0)

    assert refused.value.current == 1
    assert len(await stores.journal.read(RUN)) == 1


async def test_an_append_beyond_the_end_is_refused(stores: OpenStores) -> None:
    with pytest.raises(StaleVersion):
        await stores.journal.append(RUN, [tick(2)], expected_version=5, fence=0)


async def test_of_two_appends_at_one_moment_exactly_one_is_taken(stores: OpenStores) -> None:
    results = await asyncio.gather(
        *(stores.journal.append(RUN, [tick(number)], expected_version=0, fence=0) for number in range(5)),
        return_exceptions=True,
    )

    assert [result for result in results if not isinstance(result, BaseException)] == [1]
    assert len(await stores.journal.read(RUN)) == 1


async def test_an_append_of_an_owner_whose_lease_has_passed_on_is_refused(stores: OpenStores) -> None:
    await stores.queue.enqueue(RUN)
    first = await stores.queue.take("one", now_microseconds=0, lease_microseconds=10)
    assert first is not None
    version = await stores.journal.append(RUN, [tick(1)], expected_version=0, fence=first.fence)
    second = await stores.queue.take("two", now_microseconds=20, lease_microseconds=10)
    assert second is not None
    version = await stores.journal.append(
        RUN, [journal.OwnershipTaken(second.fence, 0)], expected_version=version, fence=second.fence
    )

    with pytest.raises((StaleFence, StaleVersion)):
        await stores.journal.append(RUN, [tick(2)], expected_version=1, fence=first.fence)
    with pytest.raises(StaleFence):
        await stores.journal.append(RUN, [tick(2)], expected_version=version, fence=first.fence)


async def test_followers_see_each_entry_once_in_order_and_end_with_the_run(stores: OpenStores) -> None:
    async def follow(after: int) -> list[int]:
        return [position async for position, _ in stores.journal.follow(RUN, after)]

    early, middle = asyncio.create_task(follow(0)), asyncio.create_task(follow(7))
    version = 0
    for number in range(20):
        version = await stores.journal.append(RUN, [tick(number), tick(number)], expected_version=version, fence=0)
    await stores.journal.append(RUN, [journal.RunEnded("completed", 0)], expected_version=version, fence=0)

    assert await early == list(range(1, 42))
    assert await middle == list(range(8, 42))
    assert await follow(40) == [41]


async def test_the_feed_has_the_appends_of_all_runs_in_the_order_they_were_committed(stores: OpenStores) -> None:
    await stores.journal.append(RUN, [tick(1)], expected_version=0, fence=0)
    await stores.journal.append(OTHER, [tick(2), tick(3)], expected_version=0, fence=0)
    await stores.journal.append(RUN, [tick(4)], expected_version=1, fence=0)

    items = await stores.journal.feed(0)

    assert [(item.run, item.first_position, len(item.entries)) for item in items] == [
        (RUN, 1, 1),
        (OTHER, 1, 2),
        (RUN, 2, 1),
    ]
    assert [item.run for item in await stores.journal.feed(items[1].feed)] == [RUN]
    assert len(await stores.journal.feed(0, limit=2)) == 2


async def test_changes_are_told_once_at_the_beginning_and_after_each_append(stores: OpenStores) -> None:
    async with aclosing(stores.journal.changes()) as changes:
        await anext(changes)
        waiting = asyncio.ensure_future(anext(changes))
        await asyncio.sleep(0)
        assert not waiting.done()

        await stores.journal.append(RUN, [tick(1)], expected_version=0, fence=0)

        await waiting


async def test_eng_21_many_writers_and_a_reader_share_one_file_without_an_error(tmp_path: Path) -> None:
    """ENG-21."""
    upgrade(tmp_path / "data.db")
    database = SqliteDatabase(tmp_path / "data.db")
    store = SqliteJournal(database)
    runs = [RunId(new_id()) for _ in range(8)]
    reading = True

    async def write(run: RunId) -> None:
        for number in range(50):
            await store.append(run, [tick(number)], expected_version=number, fence=0)

    async def read() -> int:
        scans = 0
        while reading:
            rows = await database.read_in_thread(
                lambda connection: connection.execute(
                    "SELECT run, count(*) FROM journal_appends GROUP BY run"
                ).fetchall()
            )
            assert all(count <= 50 for _, count in rows)
            scans += 1
        return scans

    reader = asyncio.create_task(read())
    await asyncio.gather(*map(write, runs))
    reading = False

    assert await reader > 0
    for run in runs:
        found = await store.read(run)
        assert [entry.at for entry in found if isinstance(entry, journal.EventPublished)] == list(range(50))
    assert database.commits < 400
    await database.close()


async def test_a_second_process_that_writes_is_waited_for(tmp_path: Path) -> None:
    upgrade(tmp_path / "data.db")
    database = SqliteDatabase(tmp_path / "data.db")
    store = SqliteJournal(database)
    other = sqlite3.connect(tmp_path / "data.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")

    writing = asyncio.create_task(store.append(RUN, [tick(1)], expected_version=0, fence=0))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not writing.done()
    other.execute("COMMIT")

    assert await writing == 1
    other.close()
    await database.close()


async def test_a_history_that_several_events_carry_is_stored_once(tmp_path: Path) -> None:
    """E7.7: the bytes of a step do not grow with the length of the conversation."""
    upgrade(tmp_path / "data.db")
    database = SqliteDatabase(tmp_path / "data.db")
    store = SqliteJournal(database)
    messages: list[ModelMessage] = []
    for number in range(50):
        messages += [user_prompt(f"question {number} " + "x" * 500), assistant_message(f"answer {number}")]
    event = UserMessageEvent(messages=tuple(messages))
    entries: list[journal.Entry] = [journal.EventPublished(event, EventId(new_id()), 0) for _ in range(10)]

    await store.append(RUN, entries, expected_version=0, fence=0)

    stored = database.read(
        lambda connection: connection.execute("SELECT length(entries) FROM journal_appends").fetchone()[0]
    )
    assert stored < 10 * 400
    again = await SqliteJournal(database).read(RUN)
    assert all(isinstance(entry, journal.EventPublished) and entry.event == event for entry in again)
    await database.close()


async def test_an_execution_may_be_journaled_by_its_id_alone(stores: OpenStores) -> None:
    due = journal.ExecutionDue(ExecutionId("x"), "Memory.search", 3, ((1,), (), (2, 3)), 7)

    await stores.journal.append(RUN, [due], expected_version=0, fence=0)

    assert await stores.journal.read(RUN) == [due]
