"""`kill -9` while a schedule is looked at: every occurrence has exactly one run, whichever call was the last (E8.3)."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from planwerk.access.actors import UserActor
from planwerk.app import DEFAULT_TENANT
from planwerk.runtime.ports import RunFilter
from planwerk.workflow.ids import RunId
from tests.runtime.killed_schedule import DAY, served

ADA = UserActor(id="ada", name="Ada")
HOUR = 3_600_000_000
EVENING = 1_796_079_600_000_000
"""2026-11-30, 23:00 in UTC."""
NIGHTS = 12


@pytest.mark.soak
async def test_whichever_call_a_killed_process_made_last_each_night_has_one_run(tmp_path: Path) -> None:
    file = tmp_path / "data.db"
    async with served(file, EVENING) as planwerk:
        schedule: dict[str, Any] = {"cron": "30 2 * * *", "event": {}, "while_running": "start"}
        await planwerk.profiles.edit(DEFAULT_TENANT, "nightly", {"schedule": schedule}, actor=ADA)

    looks = [str(file), str(EVENING + 4 * HOUR), str(NIGHTS)]  # each half an hour after it was due
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.runtime.killed_schedule", *looks, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()

    async with served(file, EVENING + NIGHTS * DAY - HOUR) as planwerk:
        runs = await planwerk.host.newest(DEFAULT_TENANT, RunFilter(is_scheduled=True))
        for run in runs:
            await planwerk.host.result(RunId(run.run))
        status = await planwerk.schedules.status(await planwerk.profiles.get(DEFAULT_TENANT, "nightly"))
    times = [run.scheduled_microseconds or 0 for run in runs]
    assert sorted(times) == [EVENING + night * DAY + 7 * HOUR // 2 for night in range(NIGHTS)]
    assert [each.outcome for each in status.state.recent] == ["started"] * NIGHTS
    assert int(said) >= NIGHTS - 2  # so many calls there are to die at, at least
