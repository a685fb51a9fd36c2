"""Sleeping costs no time in tests, and keeps its order."""

from __future__ import annotations

import asyncio
import time

from planwerk.testing.virtual_clock import virtual_time


async def test_an_hour_passes_at_once_and_in_order() -> None:
    order: list[str] = []

    async def sleep(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        order.append(name)

    with virtual_time() as clock:
        began = clock.now
        await asyncio.gather(sleep("late", 3600), sleep("early", 60))
        passed = clock.now - began

    assert order == ["early", "late"]
    assert 3600 <= passed < 3601


async def test_a_thread_is_waited_for_in_real_time() -> None:
    with virtual_time():
        async with asyncio.timeout(1000):
            answer = await asyncio.to_thread(lambda: (time.sleep(0.02), "done")[1])

    assert answer == "done"


async def test_real_time_comes_back_afterwards() -> None:
    loop = asyncio.get_running_loop()
    with virtual_time():
        await asyncio.sleep(100)

    before = loop.time()
    assert abs(before - time.monotonic()) < 1
