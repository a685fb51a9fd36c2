"""One process at a time runs a service, and the next takes it over (E7.9)."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from planwerk.app import Planwerk
from planwerk.runtime.ownership import SoleOwner
from planwerk.storage.in_memory.workspace import InMemoryWorkspaceStorage
from planwerk.testing import ScriptedModel
from planwerk.testing.virtual_clock import virtual_time
from planwerk.workspace.ports import CursorLease


class Counting:
    """A service that counts how often it was begun, and knows under which fence it moves its cursor."""

    cursor_name = "counting"

    def __init__(self) -> None:
        self.begun = 0
        self.ended = 0
        self.fence: int | None = None

    def own(self, fence: int | None) -> None:
        self.fence = fence

    async def run(self) -> None:
        self.begun += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.ended += 1


class Process:
    """A process that runs the service when it owns it."""

    def __init__(self, storage: InMemoryWorkspaceStorage, name: str, dead: set[str] | None = None) -> None:
        self.service = Counting()
        self.owner = SoleOwner(
            self.service,
            storage,
            name=name,
            clock=lambda: int(asyncio.get_running_loop().time() * 1e6),
            is_dead=(dead if dead is not None else set[str]()).__contains__,
            lease_seconds=9,
        )
        self.task = asyncio.create_task(self.owner.run())

    async def end(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])


async def test_the_second_stands_by_until_the_first_ends() -> None:
    with virtual_time():
        storage = InMemoryWorkspaceStorage()
        first, second = Process(storage, "first"), Process(storage, "second")
        await asyncio.sleep(60)
        assert (first.service.begun, second.service.begun) == (1, 0)
        assert first.service.fence is not None

        await first.end()
        await asyncio.sleep(1.1)

        assert (first.service.ended, first.service.fence, first.owner.is_owner) == (1, None, False)
        assert (second.service.begun, second.owner.is_owner) == (1, True)
        assert (second.service.fence or 0) > 1
        await second.end()


async def test_the_lease_of_a_dead_process_need_not_lapse() -> None:
    with virtual_time():
        storage, dead = InMemoryWorkspaceStorage(), set[str]()
        await storage.lease_cursor("counting", "gone", now_microseconds=0, lease_microseconds=2**60)
        heir = Process(storage, "heir", dead)
        await asyncio.sleep(60)
        assert heir.service.begun == 0

        dead.add("gone")
        await asyncio.sleep(1.1)

        assert heir.service.begun == 1
        await heir.end()


async def test_an_owner_that_finds_its_lease_passed_on_stops_working_and_stands_by(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with virtual_time():
        storage = InMemoryWorkspaceStorage()
        first = Process(storage, "first")
        await asyncio.sleep(1)
        taken = await storage.lease_cursor(
            "counting", "second", now_microseconds=0, lease_microseconds=2**60, heir_of="first"
        )
        assert taken is not None

        await asyncio.sleep(4)

        assert (first.service.begun, first.service.ended, first.service.fence) == (1, 1, None)
        assert "the counting has passed to another process" in caplog.text
        await storage.release_cursor(taken)
        await asyncio.sleep(1.1)
        assert first.service.begun == 2
        await first.end()


async def test_an_owner_that_cannot_renew_its_lease_stops_working_when_it_has_lapsed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with virtual_time(), caplog.at_level(logging.CRITICAL):
        storage = InMemoryWorkspaceStorage()
        process = Process(storage, "one")
        await asyncio.sleep(1)
        renew = storage.renew_cursor

        async def fail(lease: CursorLease, *, until_microseconds: int) -> CursorLease | None:
            raise OSError("the store is away")

        monkeypatch.setattr(storage, "renew_cursor", fail)
        await asyncio.sleep(6)
        assert process.service.ended == 0
        await asyncio.sleep(4)
        assert process.service.ended == 1

        monkeypatch.setattr(storage, "renew_cursor", renew)
        await asyncio.sleep(30)

        assert process.service.begun == process.service.ended + 1
        await process.end()


async def test_an_installation_owns_both_services_while_it_works_and_leaves_them_behind(tmp_path: Path) -> None:
    async with Planwerk(storage=tmp_path / "data.db", model=ScriptedModel([])) as first:
        storage = first.stores.workspace
        await asyncio.sleep(0.05)
        owners = {await storage.cursor_owner(name) for name in ("starter", "projector")}
    second = Planwerk(storage=tmp_path / "data.db", model=ScriptedModel([]))
    await second.start(work=False)

    assert owners == {first.process_name}
    assert [await second.stores.workspace.cursor_owner(name) for name in ("starter", "projector")] == [None, None]
    await second.stop()
