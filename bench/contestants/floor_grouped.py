"""What SQLite can write at most: the events of a hundred runs, serialised and committed together, and no engine."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from bench.contestants.floor import Tick, open_journal, rows_of
from bench.scenario import Contestant, Once, Sizes


@asynccontextmanager
async def durable_many(sizes: Sizes) -> AsyncGenerator[Once]:
    connection = open_journal(sizes.folder / "journal.db", sizes.synchronous)
    begun = 0

    async def once() -> int:
        nonlocal begun
        numbers = range(begun, begun + sizes.runs)
        begun += sizes.runs
        for position in range(1, sizes.steps + 1):
            events = [Tick(number=position, steps=sizes.steps) for _ in numbers]
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                "INSERT INTO journal VALUES (?, ?, ?, ?)",
                [
                    (run, position, type(event).__name__, event.__pydantic_serializer__.to_json(event))
                    for run, event in zip(numbers, events, strict=True)
                ],
            )
            connection.execute("COMMIT")
        return sum(rows_of(connection, run) for run in numbers)

    try:
        yield once
    finally:
        connection.close()


CONTESTANT: Final = Contestant("floor-grouped", {"durable-many": durable_many})
