"""Runs in this process without a server: for tests, scripts and benchmarks."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from planwerk.access.identity import UserIdentity
from planwerk.runtime.driver import RunDriver
from planwerk.runtime.errors import RunFailed
from planwerk.runtime.execution import ExecutionContext, FrameType
from planwerk.runtime.ports import Clock, Journal
from planwerk.runtime.program import Program
from planwerk.runtime.programs import Programs
from planwerk.runtime.providers import Providers
from planwerk.workflow.blueprint import Agent, AgentConfig
from planwerk.workflow.entries import ModelCalled, RunOpened
from planwerk.workflow.events import DisplayEvent, Event, ExceptionEvent, StopEvent
from planwerk.workflow.ids import RunId, new_id
from planwerk.workflow.seen import Execution


def system_clock() -> int:
    """Microseconds since the epoch."""
    return time.time_ns() // 1000


class DriverSink:
    """What an execution shows goes to its run's journal; streamed pieces go to nobody."""

    __slots__ = ("_driver", "_execution")

    def __init__(self, driver: RunDriver, execution: Execution) -> None:
        self._driver = driver
        self._execution = execution

    def displayed(self, event: DisplayEvent) -> None:
        self._driver.displayed(self._execution, event)

    def next_response(self) -> int:
        return self._driver.next_response()

    def frame(self, kind: FrameType, *, response: int, part: int, part_kind: str = "", text: str = "") -> None:
        pass

    def model_called(self, call: ModelCalled) -> None:
        self._driver.model_called(call)


@dataclass(frozen=True, slots=True)
class LocalRun:
    """A run that has ended: its stop, its journal's last entry and its id."""

    id: RunId
    stop: StopEvent
    driver: RunDriver


class LocalRuntime:
    """Starts runs here and waits for them.

    Args:
        journal: Where runs are journaled.
        providers: What steps may ask for beside events and their config.
    """

    def __init__(
        self, journal: Journal, providers: Providers | None = None, *, clock: Clock = system_clock, fence: int = 0
    ) -> None:
        self.journal = journal
        self.providers = providers or Providers()
        self.clock = clock
        self._fence = fence
        self._programs = Programs(self.providers)

    async def run(self, blueprint: type[Agent], start: Event, *, config: AgentConfig | None = None) -> StopEvent:
        """Run a blueprint to its stop.

        Raises:
            WorkflowError: The workflow breaks an obligation; nothing was started.
            RunFailed: The run ended with an error.
        """
        run = await self.run_to_end(blueprint, start, config=config)
        if isinstance(run.stop, ExceptionEvent):
            raise RunFailed(run.id, run.stop)
        return run.stop

    async def run_to_end(self, blueprint: type[Agent], start: Event, *, config: AgentConfig | None = None) -> LocalRun:
        """Run a blueprint to its end, which may be an error, and give back the run."""
        driver = await self.start(blueprint, start, config=config)
        await driver.wait_ended()
        stop = driver.schedule.stop
        assert driver.opened is not None
        assert isinstance(stop, StopEvent)
        return LocalRun(driver.opened.run, stop, driver)

    async def start(
        self,
        blueprint: type[Agent],
        start: Event,
        *,
        config: AgentConfig | None = None,
        opened: RunOpened | None = None,
    ) -> RunDriver:
        """Open a run and begin it; `wait_ended` of the driver waits for its end.

        Args:
            opened: Its first entry, where it is not a run of its own.
        """
        settings = config if config is not None else blueprint.config()
        program = self.program(blueprint, type(start), type(settings))
        driver = self.driver(program, settings)
        opened = opened or RunOpened(
            run=RunId(new_id()),
            at=self.clock(),
            blueprint=blueprint.__name__,
            fingerprint=program.composition.fingerprint,
            config=_dumped(settings),
            actor=_actor_of(start),
            tenant="default",
        )
        await driver.open(opened, start)
        return driver

    def program(self, blueprint: type[Agent], start: type[Event], config_class: type[AgentConfig]) -> Program:
        """The blueprint made ready for a start class; validated and composed once."""
        return self._programs.get(blueprint, start, config_class)

    def driver(self, program: Program, config: AgentConfig) -> RunDriver:
        """A driver for a run of this program."""
        return RunDriver(
            program,
            self.journal,
            config=config,
            fence=self._fence,
            make_context=make_context,
            clock=self.clock,
        )


def make_context(driver: RunDriver, execution: Execution, attempt: int) -> ExecutionContext:
    """What providers see of an execution of a local run."""
    opened, start = driver.opened, driver.start
    assert opened is not None
    assert start is not None
    scope = execution.scope
    path = tuple(scope.path().split(" > ")) if scope.parent is not None else ()
    return ExecutionContext(
        opened, start, driver.config, execution.id, attempt, execution.step.name, path, DriverSink(driver, execution)
    )


def _actor_of(start: Event) -> dict[str, Any]:
    """Who starts it: the person a start event names, as nobody else could have written it here."""
    user = getattr(start, "user", None)
    if isinstance(user, UserIdentity):
        return {"kind": "user", "id": user.id, "name": user.name}
    return {"kind": "system", "name": "local"}


def _dumped(config: AgentConfig) -> dict[str, Any]:
    return config.model_dump(mode="json", exclude_defaults=True)
