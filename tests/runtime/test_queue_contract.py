"""What every work queue, context store and list of records keeps (E7.3, E9)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest

from planwerk.runtime.contexts import NotANumber, RunContext, ThreadContext
from planwerk.runtime.ports import RunFilter, RunRecord
from planwerk.workflow.ids import RunId, new_id
from tests.runtime.stores import ADAPTERS, OpenStores, open_stores


@pytest.fixture(params=ADAPTERS)
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[OpenStores]:
    async with open_stores(request.param, tmp_path) as opened:
        yield opened


RUN, OTHER = RunId(new_id()), RunId(new_id())


async def test_a_run_is_leased_to_one_worker_until_its_lease_lapses(stores: OpenStores) -> None:
    await stores.queue.enqueue(RUN)

    first = await stores.queue.take("one", now_microseconds=0, lease_microseconds=10)
    assert first is not None
    assert await stores.queue.take("two", now_microseconds=5, lease_microseconds=10) is None
    second = await stores.queue.take("two", now_microseconds=10, lease_microseconds=10)

    assert second is not None
    assert second.fence > first.fence
    assert await stores.queue.renew(first, until_microseconds=99) is None
    assert await stores.queue.renew(second, until_microseconds=99) is not None
    assert await stores.queue.take("three", now_microseconds=50, lease_microseconds=10) is None


async def test_a_finished_run_leaves_the_queue_and_a_released_one_is_taken_again(stores: OpenStores) -> None:
    await stores.queue.enqueue(RUN)
    lease = await stores.queue.take("one", now_microseconds=0, lease_microseconds=10)
    assert lease is not None
    await stores.queue.release(lease, finished=False)
    again = await stores.queue.take("two", now_microseconds=1, lease_microseconds=10)
    assert again is not None

    await stores.queue.release(again, finished=True)

    assert await stores.queue.take("three", now_microseconds=100, lease_microseconds=10) is None


async def test_a_lease_that_passed_on_releases_nothing(stores: OpenStores) -> None:
    await stores.queue.enqueue(RUN)
    old = await stores.queue.take("one", now_microseconds=0, lease_microseconds=10)
    new = await stores.queue.take("two", now_microseconds=10, lease_microseconds=100)
    assert old is not None
    assert new is not None

    await stores.queue.release(old, finished=True)

    assert await stores.queue.renew(new, until_microseconds=500) is not None


async def test_a_run_is_not_taken_before_its_time(stores: OpenStores) -> None:
    await stores.queue.enqueue(RUN, not_before_microseconds=100)

    assert await stores.queue.take("one", now_microseconds=99, lease_microseconds=10) is None
    assert await stores.queue.take("one", now_microseconds=100, lease_microseconds=10) is not None


async def test_asking_twice_for_a_run_is_one_entry(stores: OpenStores) -> None:
    await stores.queue.enqueue(RUN)
    await stores.queue.enqueue(RUN)
    assert await stores.queue.take("one", now_microseconds=0, lease_microseconds=10) is not None

    assert await stores.queue.take("one", now_microseconds=0, lease_microseconds=10) is None


async def test_a_named_run_can_be_taken(stores: OpenStores) -> None:
    await stores.queue.enqueue(RUN)
    await stores.queue.enqueue(OTHER)

    lease = await stores.queue.take("one", now_microseconds=0, lease_microseconds=10, run=OTHER)

    assert lease is not None
    assert lease.run == OTHER


async def test_a_counter_counts_each_of_many_concurrent_increments(stores: OpenStores) -> None:
    context = RunContext(stores.contexts, "run")

    await asyncio.gather(*(context.increment("seen") for _ in range(25)))

    assert await context.get("seen") == 25


async def test_contexts_of_runs_and_threads_are_apart_and_end_with_their_owner(stores: OpenStores) -> None:
    run, thread = RunContext(stores.contexts, "same"), ThreadContext(stores.contexts, "same")
    await run.set("key", {"a": [1, None]})
    await thread.set("key", "kept")

    await stores.contexts.forget("run", "same")

    assert await run.get("key", "nothing") == "nothing"
    assert await thread.get("key") == "kept"


async def test_counting_what_is_no_number_is_refused(stores: OpenStores) -> None:
    context = RunContext(stores.contexts, "run")
    await context.set("name", "Anna")

    with pytest.raises(NotANumber, match="name"):
        await context.increment("name")


def record(
    run: str, *, started: int, thread: str | None = None, tenant: str = "default", account: str = "1"
) -> RunRecord:
    return RunRecord(
        run=run,
        tenant=tenant,
        workspace="w",
        thread=thread,
        message=None,
        profile="p",
        profile_name="P",
        profile_version=1,
        blueprint="B",
        status="running",
        actor={"kind": "user", "id": account, "name": "Anna"},
        started_microseconds=started,
    )


async def test_records_are_replaced_and_listed_newest_first_within_a_tenant(stores: OpenStores) -> None:
    for number in range(3):
        await stores.records.put(record(f"r{number}", started=number, thread="t"))
    await stores.records.put(record("foreign", started=9, tenant="other"))
    ended = replace(record("r1", started=1, thread="t"), status="failed", ended_microseconds=5, error={"code": "x"})
    await stores.records.put(ended)

    assert await stores.records.get("r1") == ended
    assert await stores.records.get("unknown") is None
    assert [found.run for found in await stores.records.newest("default")] == ["r2", "r1", "r0"]
    assert [found.run for found in await stores.records.newest("default", before=(2, "r2"), limit=1)] == ["r1"]
    assert [found.run for found in await stores.records.of_thread("default", "t")] == ["r0", "r1", "r2"]
    assert await stores.records.of_thread("other", "t") == []


async def test_an_end_is_never_taken_back_by_one_who_reports_late(stores: OpenStores) -> None:
    began = record("r", started=1)
    ended = replace(began, status="completed", ended_microseconds=5)
    await stores.records.put(ended)

    await stores.records.put(began)

    assert await stores.records.get("r") == ended


async def test_records_are_filtered_and_paged_without_losing_those_of_one_moment(stores: OpenStores) -> None:
    for number in range(5):
        one = record(f"r{number}", started=7, thread="t" if number % 2 else None)
        await stores.records.put(replace(one, status="failed", profile="q") if number == 4 else one)
    await stores.records.put(replace(record("hers", started=7), actor={"kind": "user", "id": "2"}))
    await stores.records.put(replace(record("nobodys", started=7), actor={"kind": "system", "id": "1"}))
    mine = RunFilter(owner="1")

    async def listed(wanted: RunFilter, before: tuple[int, str] | None = None, limit: int = 50) -> list[str]:
        return [one.run for one in await stores.records.newest("default", wanted, before=before, limit=limit)]

    assert await listed(mine) == ["r4", "r3", "r2", "r1", "r0"]
    assert await listed(mine, limit=2) == ["r4", "r3"]
    assert await listed(mine, before=(7, "r3"), limit=2) == ["r2", "r1"]
    assert await listed(replace(mine, thread="t")) == ["r3", "r1"]
    assert await listed(replace(mine, statuses=frozenset({"failed", "stopped"}))) == ["r4"]
    assert await listed(replace(mine, profile="q")) == ["r4"]
    assert await listed(RunFilter(workspace="elsewhere")) == []


async def test_the_values_of_a_key_are_found_over_all_owners_of_a_scope(stores: OpenStores) -> None:
    await stores.contexts.set("stop", "r1", "by", "Anna")
    await stores.contexts.set("stop", "r2", "other", "x")
    await stores.contexts.set("run", "r3", "by", "Ben")

    assert await stores.contexts.owners("stop", "by") == {"r1": "Anna"}


async def test_runs_that_are_for_others_are_not_taken(stores: OpenStores) -> None:
    await stores.queue.enqueue(RUN)
    await stores.queue.enqueue(OTHER)

    lease = await stores.queue.take("one", now_microseconds=0, lease_microseconds=10, leaving={RUN})

    assert lease is not None
    assert lease.run == OTHER
    assert await stores.queue.take("one", now_microseconds=0, lease_microseconds=10, leaving={RUN}) is None
    assert await stores.queue.take("two", now_microseconds=0, lease_microseconds=10) is not None


async def test_records_of_an_owner_are_listed_a_page_at_a_time_and_none_twice_where_times_are_alike(
    stores: OpenStores,
) -> None:
    for run, started, account in [("a", 5, "1"), ("b", 5, "1"), ("c", 5, "2"), ("d", 7, "1"), ("e", 3, "1")]:
        await stores.records.put(record(run, started=started, account=account))
    await stores.records.put(record("foreign", started=5, tenant="other"))
    nobody = replace(record("system", started=6), actor={"kind": "system", "name": "starter"})
    await stores.records.put(nobody)

    first = await stores.records.newest("default", RunFilter(owner="1"), limit=2)
    rest = await stores.records.newest("default", RunFilter(owner="1"), before=first[-1].place, limit=9)

    assert [found.run for found in (*first, *rest)] == ["d", "b", "a", "e"]
    assert [found.run for found in await stores.records.newest("default", RunFilter(owner="2"))] == ["c"]
    assert await stores.records.newest("default", RunFilter(owner="3")) == []
