"""A post reads what it needs of its thread, however long the thread is: counted in the database's own steps."""

from __future__ import annotations

from pathlib import Path

import httpx2

from planwerk.app import Planwerk
from planwerk.server.application import create_app
from planwerk.testing import ScriptedModel
from tests.counting import Work, counted
from tests.server.world import answered, new_thread, post


async def posting(planwerk: Planwerk, client: httpx2.AsyncClient, thread: str) -> Work:
    """What one post reads, with nobody working on runs meanwhile."""
    database = planwerk.stores.database
    assert database is not None
    with counted(database) as work:
        await post(client, thread, "And now?")
    return work


async def test_a_post_does_not_read_the_thread_it_goes_to(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    long_ones = 25
    async with Planwerk(storage=path, model=ScriptedModel(["Yes."] * (long_ones + 1))) as planwerk:
        key = (await planwerk.access.set_local_key(None)).text
        transport, headers = httpx2.ASGITransport(app=create_app(planwerk)), {"Authorization": f"Bearer {key}"}
        async with httpx2.AsyncClient(transport=transport, base_url="http://testserver", headers=headers) as client:
            short, long = [(await new_thread(client))["id"] for _ in range(2)]
            await answered(client, short, "First?")
            for number in range(long_ones):
                await answered(client, long, f"Question {number}?")

    idle = Planwerk(storage=path, model=ScriptedModel([]))
    await idle.start(work=False)
    try:
        transport = httpx2.ASGITransport(app=create_app(idle))
        async with httpx2.AsyncClient(transport=transport, base_url="http://testserver", headers=headers) as client:
            small = await posting(idle, client, short)
            large = await posting(idle, client, long)
    finally:
        await idle.stop()

    assert len(large.statements) == len(small.statements)
    assert large.steps <= small.steps + 20
