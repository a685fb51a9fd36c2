"""What `parked` measures: that the runs it weighed do end with their answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from bench.parking import Answer

from bench import parking

ENGINE = "tests.bench.test_parking"
KEPT: list[bytearray] = []
WRONG_BY = {"answer": 0}
KIB_EACH = 16 * 1024
"""So much that what the rest of the process takes or gives back meanwhile does not count."""


@asynccontextmanager
async def waiting(folder: Path, runs: int) -> AsyncGenerator[Answer]:
    """An engine whose runs take much each, if there are few; the module is the contestant."""
    if runs < parking.WARM_UP_RUNS:
        KEPT.extend(bytearray(b"x" * KIB_EACH * 1024) for _ in range(runs))

    async def answer(number: int) -> int:
        return number + WRONG_BY["answer"]

    yield answer
    KEPT.clear()


async def test_memory_that_waiting_runs_keep_is_measured_per_run(tmp_path: Path) -> None:
    WRONG_BY["answer"] = 0

    kib = await parking.resident(ENGINE, str(tmp_path), runs=16)

    assert 0.9 < kib / KIB_EACH < 1.1


@pytest.mark.parametrize("engine", ["planwerk_waiting", "floor", "langgraph", "llama_index_workflows"])
async def test_every_contestant_answers_runs_that_wait(engine: str, tmp_path: Path) -> None:
    assert isinstance(await parking.resident(f"bench.contestants.{engine}", str(tmp_path), runs=3), float)


async def test_runs_that_end_with_another_answer_are_refused(tmp_path: Path) -> None:
    WRONG_BY["answer"] = 1

    with pytest.raises(parking.NotAnswered, match="was answered 19 and ended with 20"):
        await parking.resident(ENGINE, str(tmp_path), runs=2)
