"""Replay then follow, on one iterator, without a gap or a double (A5.2, SRV-09, ART-13)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

from planwerk.workspace import Workspaces
from planwerk.workspace.rules.commands import CreateThread
from planwerk.workspace.rules.envelope import LogEnvelope
from tests.workspace.world import ALICE, TENANT, World, open_storage, thread_id

PATIENCE_SECONDS = 20


async def first(envelopes: AsyncGenerator[LogEnvelope], count: int) -> list[int]:
    """The numbers of the next so many envelopes."""
    async with aclosing(envelopes), asyncio.timeout(PATIENCE_SECONDS):
        return [(await anext(envelopes)).seq for _ in range(count)]


async def create_threads(world: World, count: int) -> None:
    for _ in range(count):
        await world.alice.send(CreateThread(thread_id=thread_id()))
        await asyncio.sleep(0)


async def test_a_subscriber_gets_what_was_and_then_what_comes(stored_world: World) -> None:
    world = stored_world
    await create_threads(world, 8)

    following = asyncio.ensure_future(first(world.alice.subscribe(4), 16))
    await asyncio.sleep(0)
    await create_threads(world, 10)

    assert await following == list(range(5, 21))


async def test_a_hundred_reconnects_at_random_moments_each_get_everything_once(stored_world: World) -> None:
    world, seeded = stored_world, random.Random(9)
    await create_threads(world, 8)  # the log stands at 10

    async def reconnect(delay: int) -> list[int]:
        for _ in range(delay):
            await asyncio.sleep(0)
        return await first(world.alice.subscribe(4), 16)

    readers = [asyncio.ensure_future(reconnect(seeded.randint(0, 60))) for _ in range(100)]
    await create_threads(world, 10)

    assert await asyncio.gather(*readers) == [list(range(5, 21))] * 100


async def test_a_reader_that_comes_back_again_and_again_gets_everything_once(stored_world: World) -> None:
    world, seeded = stored_world, random.Random(3)
    got: list[int] = []

    async def read_and_reconnect() -> None:
        while len(got) < 40:
            count = min(seeded.randint(1, 4), 40 - len(got))
            got.extend(await first(world.alice.subscribe(got[-1] if got else 0), count))

    reading = asyncio.ensure_future(read_and_reconnect())
    await create_threads(world, 38)
    await reading

    assert got == list(range(1, 41))


async def test_a_subscriber_to_threads_gets_theirs_and_what_belongs_to_none(stored_world: World) -> None:
    world = stored_world
    other = thread_id()
    await world.alice.send(CreateThread(thread_id=other))
    await world.post("mine")
    await world.post("not mine", thread=other)

    async with aclosing(world.alice.subscribe(0, threads=[world.thread])) as envelopes:
        seen = [(await anext(envelopes)).type for _ in range(4)]
        following = asyncio.ensure_future(anext(envelopes))
        await world.post("still not mine", thread=other)
        await world.post("mine again")
        seen.append((await following).type)

    assert seen == ["workspace_created", "thread_created", "message_posted", "run_requested", "message_posted"]


async def test_a_subscriber_from_beyond_the_head_waits_for_what_comes_after_it(world: World) -> None:
    head = await world.alice.head_seq()

    following = asyncio.ensure_future(first(world.alice.subscribe(head), 2))
    await asyncio.sleep(0)
    assert not following.done()
    await world.post("hello")

    assert await following == [head + 1, head + 2]


async def test_more_than_a_batch_is_replayed_in_order(world: World) -> None:
    await create_threads(world, 1_200)

    assert await first(world.alice.subscribe(0), 1_202) == list(range(1, 1_203))


async def test_a_subscriber_that_leaves_is_forgotten(stored_world: World) -> None:
    await first(stored_world.alice.subscribe(0), 1)

    followers = stored_world.storage._wakeups._followers  # pyright: ignore # what must not leak is not part of the port
    assert len(followers) == 0  # pyright: ignore


async def test_what_another_process_commits_is_followed_too(tmp_path: Path) -> None:
    async with open_storage("sqlite", tmp_path) as ours, open_storage("sqlite", tmp_path) as theirs:
        world = await World.begin(ours)
        elsewhere = Workspaces(theirs).of(TENANT, world.id, ALICE)

        following = asyncio.ensure_future(first(world.alice.subscribe(2), 1))
        await asyncio.sleep(0)
        await elsewhere.send(CreateThread(thread_id=thread_id()))

        assert await following == [3]


async def test_two_processes_committing_at_once_leave_no_gap_and_lose_nothing(tmp_path: Path) -> None:
    async with open_storage("sqlite", tmp_path) as ours, open_storage("sqlite", tmp_path) as theirs:
        world = await World.begin(ours)
        handles = [world.alice, Workspaces(theirs).of(TENANT, world.id, ALICE)]
        threads = [thread_id() for _ in range(48)]
        following = asyncio.ensure_future(first(world.alice.subscribe(0), 50))

        await asyncio.gather(
            *(handles[number % 2].send(CreateThread(thread_id=thread)) for number, thread in enumerate(threads))
        )

        assert await following == list(range(1, 51))
        listed = (await world.alice.threads(limit=100)).items
        assert {thread.id for thread in listed} == {*threads, world.thread}


async def test_the_same_command_on_two_processes_is_carried_out_once(tmp_path: Path) -> None:
    async with open_storage("sqlite", tmp_path) as ours, open_storage("sqlite", tmp_path) as theirs:
        world = await World.begin(ours)
        handles = [world.alice, Workspaces(theirs).of(TENANT, world.id, ALICE)]
        command = CreateThread(thread_id=thread_id())

        outcomes = await asyncio.gather(*(handle.send(command, command_id="c1") for handle in handles * 3))

        assert len(set(outcomes)) == 1
        assert await world.alice.head_seq() == 3
