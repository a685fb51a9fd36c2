"""What `resume` refuses: a process that ends otherwise than it should, and a run that does not go on as it should."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from bench.processes import ProcessFailed, in_fresh_process, killed_in_fresh_process

from bench import moments, resuming

ENGINE = "tests.bench.test_resuming"
FIRST = {"first": 3}


async def wake(folder: Path) -> int:
    """An engine that goes on with the step it is told; the module is the contestant."""
    for number in range(FIRST["first"], 2 + resuming.LEFT + 1):
        moments.step(number)
    return 2 + resuming.LEFT


async def test_a_run_that_goes_on_with_the_step_in_flight_has_its_time_taken() -> None:
    FIRST["first"] = 3

    assert (await resuming.wake(ENGINE, "", done=2))["milliseconds"] > 0


@pytest.mark.parametrize("first", [2, 4])
async def test_a_step_repeated_or_left_out_is_no_resumption(first: int) -> None:
    FIRST["first"] = first

    with pytest.raises(resuming.NotResumed, match=rf'"steps": \[{first}'):
        await resuming.wake(ENGINE, "", done=2)


async def test_a_fresh_process_that_fails_says_why() -> None:
    with pytest.raises(ProcessFailed, match=r"No module named 'bench\.contestants\.nobody'"):
        await in_fresh_process("bench.resuming", "wake", engine="bench.contestants.nobody", folder="", done=1)


async def test_a_process_that_should_have_been_killed_and_ended_is_refused() -> None:
    with pytest.raises(ProcessFailed, match=r"asyncio\.sleep ended with 0"):
        await killed_in_fresh_process("asyncio", "sleep", delay=0)


async def test_steps_are_told_to_nobody_once_nobody_listens() -> None:
    heard: list[int] = []

    with moments.heard_by(heard.append):
        moments.step(1)
        await asyncio.sleep(0)
    moments.step(2)

    assert heard == [1]
