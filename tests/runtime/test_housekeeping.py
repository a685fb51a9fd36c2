"""Runs that answer a request outside any conversation are forgotten once they have ended and their time is over."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from planwerk.access.actors import UserActor
from planwerk.app import Planwerk
from planwerk.runtime.contexts import thread_owner
from planwerk.runtime.housekeeping import Housekeeping
from planwerk.runtime.ports import RunRecord
from planwerk.runtime.worker import STOP
from planwerk.testing import ScriptedModel
from planwerk.workflow import entries as journal
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import StartEvent, StopEvent
from planwerk.workflow.ids import EventId, RunId, new_id
from planwerk.workflow.steps import step
from tests.runtime.stores import ADAPTERS, OpenStores, open_stores

SECOND = 1_000_000
DAY = 86_400 * SECOND
ANNA = UserActor(id=new_id(), name="Anna")


@pytest.fixture(params=ADAPTERS)
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[OpenStores]:
    async with open_stores(request.param, tmp_path) as opened:
        yield opened


def record(run: RunId, *, ended: int | None, expires: int | None) -> RunRecord:
    return RunRecord(
        run=run,
        tenant="default",
        workspace=None,
        thread=None,
        message=None,
        profile="assistant",
        profile_name="Assistant",
        profile_version=1,
        blueprint="Assistant",
        status="running" if ended is None else "completed",
        actor={},
        started_microseconds=0,
        ended_microseconds=ended,
        expires_microseconds=expires,
    )


class HousekeepingStart(StartEvent):
    pass


class HousekeepingStop(StopEvent):
    pass


async def open_run(stores: OpenStores, *, ended: int | None, expires: int | None) -> RunId:
    run = RunId(new_id())
    opened = journal.RunOpened(run, 0, "B", "f", {}, {}, "default", expires=expires)
    published = journal.EventPublished(HousekeepingStart(), EventId(new_id()), 0)
    await stores.journal.append(run, [opened, published], expected_version=0, fence=0)
    await stores.contexts.set("run", run, "count", 1)
    await stores.contexts.set("thread", thread_owner(run, None), "count", 1)
    await stores.contexts.set(STOP, run, "by", "Anna")
    await stores.queue.enqueue(run)
    await stores.records.put(record(run, ended=None, expires=expires))
    if ended is not None:
        await stores.records.put(record(run, ended=ended, expires=expires))
    return run


async def test_ended_runs_whose_time_is_over_are_forgotten_and_no_other(stores: OpenStores) -> None:
    over = await open_run(stores, ended=2, expires=DAY)
    kept = await open_run(stores, ended=2, expires=None)
    working = await open_run(stores, ended=None, expires=DAY)
    later = await open_run(stores, ended=2, expires=DAY + 1)
    housekeeping = Housekeeping(
        stores.journal, stores.records, stores.requests, stores.queue, stores.contexts, clock=lambda: DAY
    )

    assert await housekeeping.forget_expired() == 1
    assert await housekeeping.forget_expired() == 0

    assert await stores.journal.read(over) == []
    assert await stores.records.get(over) is None
    assert (await stores.contexts.get("run", over, "count")).version == 0
    assert (await stores.contexts.get("thread", thread_owner(over, None), "count")).version == 0
    assert (await stores.contexts.get(STOP, over, "by")).version == 0
    for run in (kept, working, later):
        assert len(await stores.journal.read(run)) == 2
        assert await stores.records.get(run) is not None
        assert (await stores.contexts.get("run", run, "count")).value == 1
        assert (await stores.contexts.get("thread", thread_owner(run, None), "count")).value == 1
    taken = [await stores.queue.take("w", now_microseconds=0, lease_microseconds=9) for _ in range(4)]
    assert {lease.run for lease in taken if lease is not None} == {kept, working, later}


async def test_more_runs_than_one_batch_are_forgotten_at_once(stores: OpenStores) -> None:
    for _ in range(205):
        await open_run(stores, ended=2, expires=DAY)
    housekeeping = Housekeeping(
        stores.journal, stores.records, stores.requests, stores.queue, stores.contexts, clock=lambda: DAY
    )

    assert await housekeeping.forget_expired() == 205

    assert await stores.journal.feed(0, 300) == []


async def test_what_is_appended_after_the_last_of_the_feed_was_forgotten_is_not_missed(stores: OpenStores) -> None:
    await open_run(stores, ended=2, expires=None)
    await open_run(stores, ended=2, expires=DAY)
    seen = (await stores.journal.feed(0))[-1].feed
    await Housekeeping(
        stores.journal, stores.records, stores.requests, stores.queue, stores.contexts, clock=lambda: DAY
    ).forget_expired()

    new = await open_run(stores, ended=None, expires=None)

    assert [item.run for item in await stores.journal.feed(seen)] == [new]


class Housekept(Agent):
    @step()
    async def end(self, start: HousekeepingStart) -> HousekeepingStop:
        return HousekeepingStop()


@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_a_run_is_gone_a_day_after_it_was_asked_for(adapter: str, tmp_path: Path) -> None:
    now = [SECOND]
    storage = tmp_path / "data.db" if adapter == "sqlite" else None
    async with Planwerk([Housekept], storage=storage, model=ScriptedModel([]), clock=lambda: now[0]) as planwerk:
        run = await planwerk.host.start("housekept", HousekeepingStart(), actor=ANNA, forget_after_seconds=86_400)
        kept = await planwerk.host.start("housekept", HousekeepingStart(), actor=ANNA)
        for each in (run, kept):
            async for _ in planwerk.host.follow(each):
                pass
        await planwerk.projector.catch_up()
        assert await planwerk.housekeeping.forget_expired() == 0

        now[0] += DAY

        assert await planwerk.housekeeping.forget_expired() == 1
        assert await planwerk.host.entries(run) == []
        assert len(await planwerk.host.entries(kept)) > 2
