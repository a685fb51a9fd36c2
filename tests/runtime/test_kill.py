"""`kill -9` at any moment: what was accepted ends exactly once, and nothing is recorded twice (E7, ENG-13)."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest

from planwerk.access.actors import UserActor
from planwerk.app import DEFAULT_TENANT, Planwerk
from planwerk.workflow import entries as journal
from planwerk.workflow.events import StopEvent
from planwerk.workflow.ids import MessageId, RunId, ThreadId, id_in_run, new_id
from planwerk.workflow.people import AskPersonEvent
from planwerk.workspace.rules.commands import CreateThread
from tests.runtime.killed import FOLDER, KilledStart, KilledStop, installation, runs_below

PROGRAMS = 6
CHATS = 3
BELOW = PROGRAMS // 3 * 5
"""Each boss has three agents at work, and leaves two runs behind."""
EXPECTED = [
    ((0, 1, 2, 3), ("DRAFT", "3:00:00", "frozenset", "Decimal")),
    ((0, 1, 2), ("asked",)),
    ((7,), ("chatted",)),
    ((3,), ("led",)),
    ((0,), ("left",)),
]
ANNA = UserActor(id=new_id(), name="Anna")


async def accept(folder: Path) -> tuple[list[RunId], list[ThreadId]]:
    """Have runs accepted by a process that works none of them off."""
    planwerk = installation(folder)
    await planwerk.start(work=False)
    (folder / "person.json").write_text(ANNA.model_dump_json())
    profiles = ["killed", "killed-asker", "killed-boss"] * (PROGRAMS // 3)
    runs = [await planwerk.host.start(profile, KilledStart(number=7), actor=ANNA) for profile in profiles]
    workspace = await planwerk.workspaces.private_of(DEFAULT_TENANT, ANNA)
    space = planwerk.workspaces.of(DEFAULT_TENANT, workspace, ANNA)
    threads = [ThreadId(new_id()) for _ in range(CHATS)]
    for number, thread in enumerate(threads):
        profile = "assistant" if number % 2 == 0 else "killed-chat"
        await space.send(CreateThread(thread_id=thread, profile=profile))
        for question in ("Explain one", "Explain two"):
            posted = await planwerk.host.post_message(
                tenant=DEFAULT_TENANT,
                workspace=workspace,
                thread=thread,
                message_id=MessageId(new_id()),
                content=question,
                actor=ANNA,
            )
            runs.append(posted.run_id)
    await planwerk.stop()
    (folder / "accepted.txt").write_text("\n".join(runs))
    return runs, threads


async def life(folder: Path, seconds: float | None) -> bool:
    """One process: killed this long after it is up, or left to end; whether it came to its end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.runtime.killed",
        str(folder),
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        env={**os.environ, FOLDER: str(folder)},
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"up\n"
    if seconds is not None:
        try:
            async with asyncio.timeout(seconds):
                await process.wait()
        except TimeoutError:
            process.send_signal(signal.SIGKILL)
    rest = await process.stdout.read()
    await process.wait()
    return rest == b"done\n"


def body_starts(folder: Path) -> Counter[str]:
    """How often each execution's body was begun, by what the processes wrote beside their database."""
    file = folder / "bodies.txt"
    lines = file.read_text().splitlines() if file.exists() else []
    return Counter(line.split()[0] for line in lines)


async def check_requests(planwerk: Planwerk, run: RunId, found: list[journal.Entry], starts: Counter[str]) -> None:
    """No request is lost, and no answer applied or accepted twice."""
    asked = {
        place: e for place, e in enumerate(found, 1) if isinstance(e, journal.EventPublished) and e.event.answered_by
    }
    answers = [e.answers for e in found if isinstance(e, journal.EventPublished) and e.answers is not None]
    assert sorted(answers) == sorted(asked)
    await planwerk.projector.catch_up()
    records = await planwerk.host.requests_of(run)
    people = {entry.id for entry in asked.values() if isinstance(entry.event, AskPersonEvent)}
    assert {record.id for record in records} == people
    assert {record.status for record in records} <= {"answered"}
    assert all(starts[f"answered/{request}"] <= 1 for request in people)


async def check(folder: Path, runs: list[RunId], threads: list[ThreadId], lives: int) -> None:
    """Every run ended once, every execution landed once, and the log tells it without gap or double."""
    starts = body_starts(folder)
    planwerk = installation(folder)
    await planwerk.start(work=False)
    every = dict.fromkeys(runs)
    for run in runs:
        every |= dict.fromkeys(below for entry in await planwerk.host.entries(run) for below in runs_below(run, entry))
    opened = [record.run for record in await planwerk.host.newest(DEFAULT_TENANT, limit=10 * len(every))]
    assert set(every) <= set(opened)
    assert sum(run not in runs for run in every) == BELOW
    for run in every:
        found = await planwerk.host.entries(run)
        ends = [entry for entry in found if isinstance(entry, journal.RunEnded)]
        assert [end.status for end in ends] == ["completed"], (run, ends)
        assert found[-1] is ends[0]
        landed = [e.execution for e in found if isinstance(e, journal.ExecutionFinished | journal.ExecutionFailed)]
        assert max(Counter(landed).values()) == 1
        due = {entry.execution for entry in found if isinstance(entry, journal.ExecutionDue)}
        assert due == set(landed)
        works = [e.execution for e in found if isinstance(e, journal.ExecutionDue) and e.step == "work"]
        assert all(1 <= starts[id_in_run(run, execution)] <= lives for execution in works)
        stops = [e.event for e in found if isinstance(e, journal.EventPublished) and isinstance(e.event, StopEvent)]
        assert len(stops) == 1
        if isinstance(stops[0], KilledStop):
            assert (stops[0].numbers, stops[0].types) in EXPECTED
        await check_requests(planwerk, run, found, starts)
    workspace = await planwerk.workspaces.private_of(DEFAULT_TENANT, ANNA)
    space = planwerk.workspaces.of(DEFAULT_TENANT, workspace, ANNA)
    log = await space.read()
    assert [envelope.seq for envelope in log] == list(range(1, len(log) + 1))
    for thread in threads:
        view = await space.thread(thread)
        asks = view.profile == "killed-chat"
        assert [message.role for message in view.messages].count("assistant") == (4 if asks else 2)
        assert [run.status for run in view.runs] == ["completed", "completed"]
    await planwerk.stop()


async def kills(folder: Path, times: int, seed: int) -> None:
    chance = random.Random(seed)
    killed = 0
    while killed < times:
        runs, threads = await accept(folder)
        ended, lives = False, 0
        while not ended and killed < times:
            # Every other life is long enough to finish a step: one in flight at three kills in a row is poison (E7.2).
            ended = await life(folder, chance.uniform(0.0, 0.12) if lives % 2 == 0 else chance.uniform(0.3, 0.8))
            lives += 1
            killed += not ended
        if not ended:
            assert await life(folder, None)
            lives += 1
        await check(folder, runs, threads, lives)


async def test_runs_survive_kills_at_any_moment(tmp_path: Path) -> None:
    times = 20 if os.environ.get("CI") else 6

    await kills(tmp_path, times, seed=20261201)


@pytest.mark.soak
async def test_runs_survive_two_hundred_kills(tmp_path: Path) -> None:
    await kills(tmp_path, 200, seed=1)
