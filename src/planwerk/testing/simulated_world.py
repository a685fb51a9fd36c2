"""One simulated run: real workers on one journal and one queue, processes that die, stop for a while or lose their
lease, and a run that has to end all the same (E10.2).
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Coroutine, Hashable
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from pydantic_ai.messages import ModelRequest, UserPromptPart

from planwerk.access.actors import SystemActor
from planwerk.runtime.agents import NamedAgents
from planwerk.runtime.answers import hand_in
from planwerk.runtime.driver import RunDriver
from planwerk.runtime.live import LiveHub
from planwerk.runtime.ports import Lease
from planwerk.runtime.programs import Programs
from planwerk.runtime.steering import bring, is_steerable
from planwerk.runtime.worker import LEASE_SECONDS, Worker
from planwerk.storage.in_memory.contexts import InMemoryContexts
from planwerk.storage.in_memory.journal import InMemoryJournal
from planwerk.storage.in_memory.work_queue import InMemoryWorkQueue
from planwerk.testing.faults import AT_APPEND, AT_CALL, FaultPlan, Kind
from planwerk.testing.faulty_storage import FaultyJournal, FaultyWorkQueue, SharedContexts
from planwerk.testing.folding import state_of
from planwerk.testing.interleaving import OWNER
from planwerk.testing.people import Respond, answer_of
from planwerk.workflow import entries as journal
from planwerk.workflow.blueprint import Agent, AgentConfig
from planwerk.workflow.events import Event
from planwerk.workflow.ids import EventId, MessageId, RunId
from planwerk.workflow.people import AskPersonEvent

EPOCH_MICROSECONDS: Final = 1_800_000_000_000_000
MAX_VIRTUAL_SECONDS: Final = 3 * 3600.0
"""No run may take longer; it is far more than the faults can cost."""
PARK_SECONDS: Final = 5.0
"""How long a simulated worker keeps a run that waits."""
ANSWERED_AFTER: Final = (0.0, 0.001, 0.5, 4.9995, 5.0, 30.0, 200.0)
"""When people answer: at once, about when the run is let go, long after."""
ANSWERED_TWICE: Final = 0.3
"""Share of requests to which a second, other answer comes; the first counts."""
SAID: Final = 2
"""Messages that are said into a run that can be steered (S2.3)."""
MAX_MOMENTS: Final = 200_000
"""Awaits of one simulated run; a run beyond it goes round in circles."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What is simulated: the same for all seeds."""

    blueprint: type[Agent]
    start: Event
    config: AgentConfig
    programs: Programs
    contexts: SharedContexts
    agents: NamedAgents
    """Blueprints that are served, and those that stand for profiles."""
    respond: Respond | None = None
    """How people answer what the run asks; each answer comes after a while, and some come twice."""


@dataclass(slots=True)
class Outcome:
    """What one simulated run left behind."""

    run: RunId
    entries: list[journal.Entry] = field(default_factory=list[journal.Entry])
    others: list[list[journal.Entry]] = field(default_factory=list[list[journal.Entry]])
    """Journals of the runs that were asked for (E8.2)."""
    appends: list[int] = field(default_factory=list[int])
    """The version after each append of an owner, in order."""
    live: dict[int, Hashable] = field(default_factory=dict[int, Hashable])
    """State of the live schedule by version, where it stood exactly there."""
    complaints: list[str] = field(default_factory=list[str])
    """Promises found broken while it ran."""
    seconds: float = 0.0
    moments: int = 0
    """Awaits until the run had ended."""


class SimulatedWorker(Worker):
    """A worker whose drivers can be looked at."""

    drivers_made: list[RunDriver]

    def _driver(self, lease: Lease, found: list[journal.Entry]) -> RunDriver:
        driver = super()._driver(lease, found)
        self.drivers_made.append(driver)
        return driver


class SimulatedProcess:
    """A worker process: everything it does stops at once when it dies."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.plan = world.plan
        self.is_dead = False
        self.is_leaving = False
        self.paused_until = 0.0
        self.tasks: dict[asyncio.Task[Any], None] = {}
        setting = world.setting
        self.worker = SimulatedWorker(
            store=FaultyJournal(self, world.journal),
            queue=FaultyWorkQueue(self, world.queue),
            contexts=setting.contexts,
            live=LiveHub(),
            blueprints=setting.agents.blueprints,
            agents=setting.agents,
            programs=setting.programs,
            clock=world.now_microseconds,
            name=name,
            park_seconds=PARK_SECONDS,
        )
        self.worker.drivers_made = []
        self.serving = self.spawn(self.worker.run())

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start a task of this process."""
        context = copy_context()
        context.run(OWNER.set, self)
        return self.world.loop.create_task(work, context=context)

    @property
    def is_serving(self) -> bool:
        return not (self.is_dead or self.is_leaving or self.paused_until > self.world.loop.time())

    def at_await(self) -> Coroutine[Any, Any, None] | None:
        if self.is_dead:
            return _vanish()
        world = self.world
        kind = self.plan.next_due()
        if self.plan.moments > MAX_MOMENTS:
            world.give_up(f"the run goes round in circles: more than {MAX_MOMENTS} awaits")
        if kind is not None:
            world.happen(kind, self)
            if self.is_dead:
                return _vanish()
        if self.paused_until > world.loop.time():
            return self._wait_while_paused()
        seconds = self.plan.hold_up()
        return asyncio.sleep(seconds) if seconds is not None else None

    async def _wait_while_paused(self) -> None:
        await asyncio.sleep(self.paused_until - self.world.loop.time())
        if self.is_dead:
            raise asyncio.CancelledError

    def note(self, kind: Kind, where: str) -> None:
        self.plan.note(self.world.elapsed, kind, where)

    def crash(self) -> None:
        self.is_dead = True
        self.world.loop.call_soon(self._bury)
        self.world.replace(self, may_be_known=True)

    def _bury(self) -> None:
        for task in list(self.tasks):
            task.cancel()

    def appended(self, run: RunId, version: int) -> None:
        outcome = self.world.outcome
        if run != outcome.run:
            return
        outcome.appends.append(version)
        for driver in reversed(self.worker.drivers_made):
            if driver.opened is not None and driver.run == run:
                if driver.schedule.position == version:
                    outcome.live[version] = state_of(driver.schedule)
                return

    async def leave(self, seconds: float) -> None:
        """Graceful shutdown: hand runs over within a limit (E7.5)."""
        await self.worker.shutdown(seconds=seconds)
        self.serving.cancel()
        await asyncio.wait([self.serving])


class World:
    """Everything one simulated run needs; `run` plays it to its end."""

    def __init__(self, setting: Setting, plan: FaultPlan, run: RunId) -> None:
        self.setting = setting
        self.plan = plan
        self.loop = asyncio.get_running_loop()
        self.journal = InMemoryJournal()
        self.queue = InMemoryWorkQueue()
        setting.contexts.store = InMemoryContexts()
        self.outcome = Outcome(run)
        self.processes: list[SimulatedProcess] = []
        self._outside = copy_context()
        """Where what happens to processes runs: in none of them."""
        self._began = self.loop.time()
        self._leaving: list[asyncio.Task[None]] = []
        self._follower: asyncio.Task[None] | None = None
        self._people = random.Random(f"people of {run}")
        """Decides for people alone, so that what they do changes no fault."""

    @property
    def elapsed(self) -> float:
        return self.loop.time() - self._began

    def now_microseconds(self) -> int:
        return EPOCH_MICROSECONDS + int(self.elapsed * 1e6)

    # Playing ---------------------------------------------------------------------------------------------------------

    async def play(self) -> Outcome:
        """Open the run, let it be driven to its end, and shut everything down."""
        await self._open()
        self.loop.set_exception_handler(self._unread_error)
        self.start_process()
        self._follower = self.loop.create_task(self._follow_to_end())
        if is_steerable(self.setting.blueprint):
            self._in_background(self._say_things())
        _, hanging = await asyncio.wait([self._follower], timeout=MAX_VIRTUAL_SECONDS)
        if hanging:
            self._follower.cancel()
            self.give_up(f"the run hangs: it has not ended after {MAX_VIRTUAL_SECONDS / 3600:g} hours")
        self.outcome.seconds, self.outcome.moments = self.elapsed, self.plan.moments
        if not self.outcome.complaints:
            await self._deliver_again()
        await self._shut_down()
        self.outcome.entries = await self.journal.read(self.outcome.run)
        others = {item.run: None for item in await self.journal.feed(0, MAX_MOMENTS) if item.run != self.outcome.run}
        self.outcome.others = [await self.journal.read(run) for run in others]
        return self.outcome

    async def _open(self) -> None:
        setting, run = self.setting, self.outcome.run
        opened = journal.RunOpened(
            run=run,
            at=self.now_microseconds(),
            blueprint=setting.blueprint.__name__,
            fingerprint=setting.programs.get(
                setting.blueprint, type(setting.start), type(setting.config)
            ).composition.fingerprint,
            config=setting.config.model_dump(mode="json", exclude_defaults=True),
            actor={"kind": "system", "name": "simulation"},
            tenant="default",
        )
        start = journal.EventPublished(setting.start, EventId("start"), opened.at)
        await self.journal.append(run, [opened, start], expected_version=0, fence=0)
        await self.queue.enqueue(run)

    async def _follow_to_end(self) -> None:
        async for _, entry in self.journal.follow(self.outcome.run):
            if isinstance(entry, journal.EventPublished) and isinstance(entry.event, AskPersonEvent):
                self._in_background(self._answer(entry.id, entry.event))

    async def _answer(self, request: EventId, event: AskPersonEvent) -> None:
        """Answer as people do: after a while, and now and then twice."""
        people = self._people
        wait, twice = people.choice(ANSWERED_AFTER), people.random() < ANSWERED_TWICE
        answer = await answer_of(event, self.setting.respond)
        if answer is None:
            return
        await asyncio.sleep(wait)
        store = self.setting.contexts.store
        first = await hand_in(store, self.queue, self.outcome.run, request, answer, None)
        if not first:
            self.outcome.complaints.append(f"the first answer to {event.event_type} was refused (E8.1)")
        if twice:
            await asyncio.sleep(people.choice((0.0, 0.01)))
            second = event.overdue_answer()
            accepted = await hand_in(store, self.queue, self.outcome.run, request, second, None)
            ended = isinstance((await self.journal.read(self.outcome.run))[-1], journal.RunEnded)
            if accepted and not ended:
                self.outcome.complaints.append(f"a second answer to {event.event_type} was accepted (E8.1)")

    async def _say_things(self) -> None:
        """Say something into the run, as people do: after a while, and now and then what was said arrives twice."""
        people, store, run = self._people, self.setting.contexts.store, self.outcome.run
        for number in range(SAID):
            await asyncio.sleep(people.choice(ANSWERED_AFTER))
            prompt = UserPromptPart(f"said {number}", timestamp=datetime.fromtimestamp(EPOCH_MICROSECONDS / 1e6, UTC))
            message, said = MessageId(f"said-{number}"), (ModelRequest(parts=[prompt]),)
            for _ in range(2 if people.random() < ANSWERED_TWICE else 1):
                await bring(store, self.queue, run, message, said, SystemActor(name="simulation"))

    async def _deliver_again(self) -> None:
        """A run that has ended may be delivered once more, and nothing comes of it."""
        before = len(await self.journal.read(self.outcome.run))
        await asyncio.sleep(2 * LEASE_SECONDS)
        if not any(process.is_serving for process in self.processes):
            self.start_process()
        await self.queue.enqueue(self.outcome.run)
        await asyncio.sleep(2 * LEASE_SECONDS)
        if len(await self.journal.read(self.outcome.run)) != before:
            self.outcome.complaints.append("the journal grew after the run had ended (E4.2)")
        driven = [process.name for process in self.processes if process.is_serving and process.worker.driven]
        if driven:
            self.outcome.complaints.append(f"{', '.join(driven)} still drives a run that has ended (E4.2)")

    async def _shut_down(self) -> None:
        self.plan.due.clear()
        for process in self.processes:
            process.paused_until = 0.0
            if not process.is_dead and not process.is_leaving:
                process.is_leaving = True
                await process.leave(1.0)
        if self._leaving:
            await asyncio.wait(self._leaving, timeout=60)
        await asyncio.sleep(60)
        # Tasks of a dead process wait for what no longer comes; a real one would have taken them with it.
        left = [repr(task.get_coro()) for process in self.processes if not process.is_dead for task in process.tasks]
        if left:
            self.outcome.complaints.append(f"{len(left)} tasks are left over: {', '.join(left)}")
        for process in self.processes:
            process.is_dead = True

    def give_up(self, why: str) -> None:
        """The run is broken beyond what can be waited for."""
        if why not in self.outcome.complaints:
            self.outcome.complaints.append(why)
        if self._follower is not None:
            self._follower.cancel()

    def _unread_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.outcome.complaints.append(f"an error nobody read: {context.get('message')} {context.get('exception')!r}")

    # Faults ----------------------------------------------------------------------------------------------------------

    def start_process(self) -> SimulatedProcess:
        """One more worker; it knows by itself, or does not, that an earlier one is dead."""
        process = SimulatedProcess(self, f"worker-{len(self.processes) + 1}")
        self.processes.append(process)
        return process

    def replace(self, gone: SimulatedProcess, *, may_be_known: bool) -> None:
        """See to it that somebody serves, now or later; the leases of one known to be dead are dropped at once."""
        dice = self.plan.random
        known_dead = gone if may_be_known and dice.random() < 0.5 else None
        after = dice.choice((0.0, 0.01, 3.0))
        self.loop.call_later(after, self._start_successor, known_dead, context=self._outside)

    def _start_successor(self, known_dead: SimulatedProcess | None) -> None:
        if known_dead is not None:
            self._in_background(self.queue.drop_leases(known_dead.name))
        if not any(process.is_serving for process in self.processes):
            self.start_process()

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        self._leaving.append(self.loop.create_task(work, context=self._outside))

    def happen(self, kind: Kind, process: SimulatedProcess) -> None:
        """Let a fault happen where a process is just now, or arm it for the next append or call."""
        if kind in AT_APPEND or kind in AT_CALL:
            self.plan.armed.append(kind)
            return
        process.note(kind, process.name)
        dice = self.plan.random
        match kind:
            case "crash":
                process.crash()
            case "pause":
                process.paused_until = self.loop.time() + dice.uniform(1.3, 4) * LEASE_SECONDS
                self._start_successor(None)
            case "second owner":
                if sum(other.is_serving for other in self.processes) < 2:
                    self.start_process()
                self._in_background(self.queue.drop_leases(process.name))
            case "hand over":
                process.is_leaving = True
                self._in_background(_quietly(process, dice.choice((0.0, 0.005, 1.0))))
                self.replace(process, may_be_known=False)
            case _:
                self._in_background(self.queue.enqueue(self.outcome.run))


async def _quietly(process: SimulatedProcess, seconds: float) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        await process.spawn(process.leave(seconds))


async def _vanish() -> None:
    raise asyncio.CancelledError
