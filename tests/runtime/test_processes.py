"""Several processes on one SQLite file: one owner of each run and service, and followers that miss nothing (E7)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from planwerk.access.actors import UserActor
from planwerk.app import DEFAULT_TENANT, Planwerk
from planwerk.runtime.projector import CURSOR as PROJECTOR
from planwerk.runtime.starter import CURSOR as STARTER
from planwerk.workflow import entries as journal
from planwerk.workflow.ids import MessageId, RunId, ThreadId, new_id
from planwerk.workspace.rules.commands import CreateThread
from planwerk.workspace.rules.events import SteeringTaken
from planwerk.workspace.workspace import Workspace
from tests.runtime.working import FIFO, HeldStart, HeldStop, LongStart, LongStop, installation

ROOT = Path(__file__).parents[2]
ANNA = UserActor(id=new_id(), name="Anna")
PATIENCE_SECONDS = 90


class Workers:
    """Worker processes on one folder; none outlives the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fifo = folder / "held"
        os.mkfifo(self.fifo)
        self._processes: list[Process] = []
        self._lines: dict[int, list[str]] = {}
        self._reading: list[asyncio.Task[None]] = []

    async def start(self, *options: str, module: str = "tests/runtime/working.py") -> tuple[Process, dict[str, Any]]:
        """A worker, and what it announced."""
        command = Path(sys.executable).with_name("planwerk")
        arguments = ("worker", module, "--data", str(self.folder), "--json", *options)
        settings = {FIFO: str(self.fifo), "PLANWERK_LEASE_SECONDS": "1", "PLANWERK_MODEL": "demo"}
        process = await asyncio.create_subprocess_exec(
            command, *arguments, stdout=PIPE, stderr=PIPE, cwd=ROOT, env={**os.environ, **settings}
        )
        self._processes.append(process)
        self._lines[process.pid] = []
        self._reading.append(asyncio.create_task(self._read(process)))
        assert process.stdout is not None
        line = await process.stdout.readline()
        assert line, self.said(process)
        return process, json.loads(line)

    async def _read(self, process: Process) -> None:
        assert process.stderr is not None
        async for line in process.stderr:
            self._lines[process.pid].append(line.decode())

    def said(self, process: Process) -> str:
        """What the worker has logged so far."""
        return "".join(self._lines[process.pid])

    async def let_go(self) -> None:
        """Let a step that is held go on."""
        await asyncio.to_thread(self.fifo.write_bytes, b"go")

    async def end(self) -> None:
        for process in self._processes:
            if process.returncode is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            await process.wait()
        await asyncio.gather(*self._reading)


@asynccontextmanager
async def workers_on(folder: Path) -> AsyncGenerator[tuple[Workers, Planwerk]]:
    """A folder with workers beside an installation of this process that drives nothing itself."""
    here = installation(folder)
    await here.start(work=False)
    workers = Workers(folder)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            yield workers, here
    finally:
        await workers.end()
        await here.stop()


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    """Wait for what only asking can tell."""
    while not await is_so():  # noqa: ASYNC110 - another process has no event for it
        await asyncio.sleep(0.02)


async def ended(here: Planwerk, run: RunId) -> list[journal.Entry]:
    """The whole journal of a run, once it has ended."""
    return [entry async for _, entry in here.host.follow(run)]


def takers(found: list[journal.Entry]) -> list[str]:
    return [entry.worker for entry in found if isinstance(entry, journal.OwnershipTaken)]


def stops(found: list[journal.Entry]) -> list[Any]:
    return [
        e.event for e in found if isinstance(e, journal.EventPublished) and isinstance(e.event, HeldStop | LongStop)
    ]


async def test_a_worker_paused_longer_than_its_lease_writes_nothing_when_it_wakes(tmp_path: Path) -> None:
    async with workers_on(tmp_path) as (workers, here):
        paused, told = await workers.start()
        run = await here.host.start("held", HeldStart(), actor=ANNA)
        async for _, entry in here.host.follow(run):
            if isinstance(entry, journal.ExecutionDue):
                break
        other, other_told = await workers.start()
        paused.send_signal(signal.SIGSTOP)

        found = await ended(here, run)
        paused.send_signal(signal.SIGCONT)
        await workers.let_go()
        await until(lambda: _is_in(f"run {run} is let go", workers.said(paused)))

        assert await here.host.entries(run) == found
        assert takers(found) == [told["worker"], other_told["worker"]]
        assert [stop.pid for stop in stops(found)] == [other.pid]
        landed = Counter(entry.execution for entry in found if isinstance(entry, journal.ExecutionFinished))
        assert list(landed.values()) == [1, 1]
        assert "Traceback" not in workers.said(paused)
        # It is none the worse for it: the next run that only it can take ends.
        other.terminate()
        assert await other.wait() == 0
        again = await here.host.start("long", LongStart(rounds=3), actor=ANNA)
        assert takers(await ended(here, again)) == [told["worker"]]


async def _is_in(part: str, whole: str) -> bool:
    return part in whole


async def test_two_workers_share_the_runs_of_one_file_and_no_lock_is_ever_seen(tmp_path: Path) -> None:
    async with workers_on(tmp_path) as (workers, here):
        one, first = await workers.start("--max-runs", "3")
        two, second = await workers.start("--max-runs", "3")

        runs = [await here.host.start("long", LongStart(rounds=40), actor=ANNA) for _ in range(16)]
        journals = [await ended(here, run) for run in runs]

        assert [stop.rounds for found in journals for stop in stops(found)] == [40] * 16
        assert {worker for found in journals for worker in takers(found)} == {first["worker"], second["worker"]}
        for worker in (one, two):
            worker.terminate()
            assert await worker.wait() == 0
            assert "locked" not in workers.said(worker)
            assert "Traceback" not in workers.said(worker)


async def test_a_worker_that_is_told_to_end_hands_its_run_over(tmp_path: Path) -> None:
    async with workers_on(tmp_path) as (workers, here):
        leaving, _ = await workers.start()
        run = await here.host.start("long", LongStart(rounds=200), actor=ANNA)
        async for _, entry in here.host.follow(run):
            if isinstance(entry, journal.ExecutionFinished):
                break
        _, told = await workers.start()
        leaving.terminate()

        found = await ended(here, run)

        assert await leaving.wait() == 0
        assert [stop.rounds for stop in stops(found)] == [200]
        assert takers(found)[-1] in {told["worker"], takers(found)[0]}
        assert all(entry.attempt == 1 for entry in found if isinstance(entry, journal.ExecutionFailed))


async def test_a_stop_reaches_a_run_that_another_process_drives(tmp_path: Path) -> None:
    async with workers_on(tmp_path) as (workers, here):
        await workers.start()
        run = await here.host.start("long", LongStart(rounds=100_000), actor=ANNA)
        async for _, entry in here.host.follow(run):
            if isinstance(entry, journal.ExecutionFinished):
                break

        await here.host.stop(run, actor=ANNA)
        found = await ended(here, run)

        end = found[-1]
        assert isinstance(end, journal.RunEnded)
        assert end.status == "stopped"
        assert end.error is not None
        assert "Anna" in end.error.message


async def test_what_is_said_reaches_a_run_of_another_process_once_also_when_that_is_killed(tmp_path: Path) -> None:
    async with workers_on(tmp_path) as (workers, here):
        driving, _ = await workers.start()
        workspace = await here.workspaces.private_of(DEFAULT_TENANT, ANNA)
        space, thread = here.workspaces.of(DEFAULT_TENANT, workspace, ANNA), ThreadId(new_id())
        await space.send(CreateThread(thread_id=thread, profile="hearing"))

        async def say(text: str) -> tuple[RunId, MessageId]:
            posted = await here.host.post_message(
                tenant=DEFAULT_TENANT,
                workspace=workspace,
                thread=thread,
                message_id=MessageId(new_id()),
                content=text,
                actor=ANNA,
                when="now",
            )
            return posted.run_id, posted.message_id

        async def is_taken() -> bool:
            return any(isinstance(envelope.event, SteeringTaken) for envelope in await space.read())

        run, _ = await say("Begin")
        said = [await say("one")]
        await until(is_taken)
        said.append(await say("two"))
        driving.kill()
        await driving.wait()
        await workers.start()
        said.append(await say("three"))

        found = await ended(here, run)
        brought = [e.id for e in found if isinstance(e, journal.EventPublished) and e.event.from_outside]
        assert [message for _, message in said] == brought
        assert {said_to for said_to, _ in said} == {run}
        await until(lambda: _has_ended(space, thread))
        view = await space.thread(thread)
        assert [message.content for message in view.messages] == ["Begin", "one", "two", "three", "one, two, three"]
        assert len(view.runs) == 1


async def _has_ended(space: Workspace, thread: ThreadId) -> bool:
    return (await space.summary(thread)).active_run is None


async def test_a_run_of_a_blueprint_that_a_worker_lacks_is_left_to_one_that_has_it(tmp_path: Path) -> None:
    lacking = tmp_path / "other.py"
    lacking.write_text("from planwerk import Planwerk\nfrom planwerk.blueprints import LLMWrappingAgent\n")
    with lacking.open("a") as file:
        file.write("app = Planwerk([LLMWrappingAgent])\n")
    async with workers_on(tmp_path) as (workers, here):
        worker, _ = await workers.start(module=str(lacking))
        run = await here.host.start("long", LongStart(rounds=2), actor=ANNA)
        await until(lambda: _is_in(f"run {run} is left to another process", workers.said(worker)))

        _, told = await workers.start()
        found = await ended(here, run)

        assert takers(found) == [told["worker"]]
        assert [stop.rounds for stop in stops(found)] == [2]


async def new_thread(here: Planwerk) -> tuple[Any, ThreadId]:
    workspace = await here.workspaces.private_of(DEFAULT_TENANT, ANNA)
    thread = ThreadId(new_id())
    await here.workspaces.of(DEFAULT_TENANT, workspace, ANNA).send(CreateThread(thread_id=thread, profile="assistant"))
    return workspace, thread


async def ask(here: Planwerk, workspace: Any, thread: ThreadId, question: str) -> None:
    """Post a message and wait until the thread has its answer."""
    posted = await here.host.post_message(
        tenant=DEFAULT_TENANT,
        workspace=workspace,
        thread=thread,
        message_id=MessageId(new_id()),
        content=question,
        actor=ANNA,
    )
    space = here.workspaces.of(DEFAULT_TENANT, workspace, ANNA)

    async def is_answered() -> bool:
        view = await space.thread(thread)
        return any(run.id == posted.run_id and run.ended is not None for run in view.runs)

    await until(is_answered)


@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP])
async def test_starter_and_projector_have_one_owner_and_pass_to_the_next(tmp_path: Path, fault: signal.Signals) -> None:
    async with workers_on(tmp_path) as (workers, here):
        storage = here.stores.workspace
        owner, told = await workers.start()
        workspace, thread = await new_thread(here)
        await ask(here, workspace, thread, "Explain one")
        owners = {await storage.cursor_owner(name) for name in (STARTER, PROJECTOR)}
        heir, heir_told = await workers.start()

        owner.send_signal(fault)
        await ask(here, workspace, thread, "Explain two")
        heirs = {await storage.cursor_owner(name) for name in (STARTER, PROJECTOR)}
        owner.send_signal(signal.SIGCONT) if fault == signal.SIGSTOP else await owner.wait()
        await ask(here, workspace, thread, "Explain three")

        assert (owners, heirs) == ({told["worker"]}, {heir_told["worker"]})
        if fault == signal.SIGSTOP:  # it found out that it owns them no more, and stands by
            await until(lambda: _is_in("has passed to another process", workers.said(owner)))
            assert {await storage.cursor_owner(name) for name in (STARTER, PROJECTOR)} == heirs
        log = await here.workspaces.of(DEFAULT_TENANT, workspace, ANNA).read()
        assert [envelope.seq for envelope in log] == list(range(1, len(log) + 1))
        kinds = Counter(type(envelope.event).__name__ for envelope in log if envelope.thread == thread)
        assert {name: kinds[name] for name in ("RunRequested", "RunStarted", "RunEnded", "MessagePosted")} == {
            "RunRequested": 3,
            "RunStarted": 3,
            "RunEnded": 3,
            "MessagePosted": 6,
        }
        assert heir.returncode is None


async def test_a_follower_sees_every_entry_once_and_in_order_while_the_worker_is_killed(tmp_path: Path) -> None:
    async with workers_on(tmp_path) as (workers, here):
        run = await here.host.start("long", LongStart(rounds=400), actor=ANNA)
        arguments = ("-m", "tests.runtime.working", str(tmp_path), run)
        follower = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=PIPE, cwd=ROOT)
        assert follower.stdout is not None
        seen: list[tuple[int, str]] = []
        for lives in range(3):
            worker, _ = await workers.start()
            while [kind for _, kind in seen].count("OwnershipTaken") <= lives or seen[-1][1] != "ExecutionFinished":
                seen.append(_entry(await follower.stdout.readline()))
            if lives < 2:
                worker.kill()
                await worker.wait()
        seen += [_entry(line) async for line in follower.stdout]

        found = await ended(here, run)

        assert seen == [(position, type(entry).__name__) for position, entry in enumerate(found, start=1)]
        assert len(takers(found)) == 3
        assert await follower.wait() == 0


def _entry(line: bytes) -> tuple[int, str]:
    position, kind = line.decode().split()
    return int(position), kind
