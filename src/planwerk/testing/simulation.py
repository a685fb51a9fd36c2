"""Run a blueprint many times under faults, and check what the engine promises (E10.2).

    def test_my_blueprint_survives() -> None:
        simulate(MyAgent, MyStart())

A seed decides everything: what is held up, what crashes and when. One that fails raises `SimulationFailed` with the
trace of its faults, and fails again with `seeds=[n]`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planwerk.capabilities.knowledge.shelf import KnowledgeShelf, shelf_from
from planwerk.capabilities.memory.memories import Memories, memories_from
from planwerk.messages.events import UserMessageEvent
from planwerk.messages.prompts import user_prompt
from planwerk.models.catalogue import CatalogueSettings, ModelCatalogue
from planwerk.providing import find_in, standard_providers
from planwerk.runtime.access_checker import AccessChecker
from planwerk.runtime.agents import NamedAgents
from planwerk.runtime.local import system_clock
from planwerk.runtime.programs import Programs
from planwerk.storage.in_memory.memories import InMemoryMemories
from planwerk.testing.faults import FaultPlan
from planwerk.testing.faulty_storage import SharedContexts
from planwerk.testing.interleaving import task_factory
from planwerk.testing.knowledge import checker_of, empty_library
from planwerk.testing.people import Respond
from planwerk.testing.promises import Joins, broken_promises, joins_of
from planwerk.testing.runs import Provider, defined_blueprints
from planwerk.testing.simulated_world import Outcome, Setting, World
from planwerk.testing.virtual_clock import virtual_time
from planwerk.workflow.blueprint import Agent, AgentConfig
from planwerk.workflow.errors import PlanwerkError
from planwerk.workflow.events import Event
from planwerk.workflow.ids import RunId

if TYPE_CHECKING:
    from pydantic_ai.models import Model

MAX_FOLDS: Final = 12
"""Prefixes of a journal that are folded, of a run with more appends."""


class SimulationFailed(PlanwerkError, AssertionError):
    """A promise was broken under the faults of one seed."""

    code = "simulation_failed"

    def __init__(self, blueprint: str, seed: int | None, promises: Sequence[str], trace: Sequence[str]) -> None:
        broken = "\n".join(f"  {promise}" for promise in promises)
        happened = "\n".join(f"  {line}" for line in trace) or "  nothing but the order in which steps went on"
        where = f"seed {seed}" if seed is not None else "an undisturbed run"
        again = f"simulate({blueprint}, …, seeds=[{seed}])" if seed is not None else f"run_workflow({blueprint}, …)"
        super().__init__(
            f"{blueprint} under {where} broke:\n{broken}\nWhat happened:\n{happened}",
            what_to_do=f"Repeat it with {again}.",
        )
        self.blueprint, self.seed = blueprint, seed
        self.promises, self.trace = tuple(promises), tuple(trace)


@dataclass(frozen=True, slots=True)
class SimulationReport:
    """What a simulation that broke no promise has seen."""

    runs: int
    faults: dict[str, int]
    """How often each kind of fault happened."""
    entries: int
    """Journal entries, over all runs."""
    virtual_seconds: float
    compared_joins: bool
    """Whether the joins of each run were compared with those of an undisturbed one."""


def simulate(
    blueprint: type[Agent],
    start: Event | str,
    *,
    seeds: Iterable[int] = range(100),
    config: AgentConfig | None = None,
    model: Model | Callable[[], Model] | None = None,
    respond: Respond | None = None,
    providers: Iterable[Provider] = (),
    agents: Mapping[str, type[Agent]] | None = None,
) -> SimulationReport:
    """Run a blueprint once per seed, with that seed's faults, and check what every run must keep.

    Steps may be executed more than once, as after a real crash. Joins are compared where two undisturbed runs agree.

    Args:
        start: The start event, or the text of a person's first message.
        seeds: One run each; the same seed always does the same.
        config: The profile's settings; the blueprint's defaults if missing.
        model: What plays the model, or what makes a new one for each run; the offline demo model if missing. A crash
            in mid-answer asks it again.
        respond: How people answer, as of `run_workflow`; they take their time, and some answer twice.
        providers: Pairs of a type and a function that makes it, for what your steps ask for.
        agents: Blueprints by the id of the profile under which the run asks for them; their runs are played too.

    Raises:
        SimulationFailed: A seed broke a promise.
        WorkflowError: The workflow breaks an obligation; nothing was started.
    """
    simulation = _Simulation(blueprint, start, config, model, respond, tuple(providers), agents)
    with _quiet_logs():
        return simulation.run(seeds)


class _Simulation:
    def __init__(
        self,
        blueprint: type[Agent],
        start: Event | str,
        config: AgentConfig | None,
        model: Model | Callable[[], Model] | None,
        respond: Respond | None,
        providers: Sequence[Provider],
        agents: Mapping[str, type[Agent]] | None,
    ) -> None:
        self._blueprint = blueprint
        self._model = model
        self._models = ModelCatalogue(CatalogueSettings(), environment={}, local_servers=())
        contexts = SharedContexts()
        named = NamedAgents(dict.fromkeys([blueprint, *defined_blueprints()]), agents)
        provided = standard_providers(
            models=self._models, contexts=contexts, find_blueprint=find_in(named.blueprints), clock=system_clock
        )
        provided.register(Memories, memories_from(InMemoryMemories(), system_clock))
        provided.register(KnowledgeShelf, shelf_from(empty_library()))
        provided.register(AccessChecker, lambda _: checker_of(None))
        for annotation, provider in providers:
            provided.register(annotation, provider)
        event = UserMessageEvent(messages=(user_prompt(start),)) if isinstance(start, str) else start
        settings = config if config is not None else blueprint.config()
        self._setting = Setting(blueprint, event, settings, Programs(provided), contexts, named, respond)
        self._composition = self._setting.programs.get(blueprint, type(event), type(settings)).composition

    def run(self, seeds: Iterable[int]) -> SimulationReport:
        expected, moments = self._undisturbed()
        faults: dict[str, int] = {}
        runs = entries = 0
        seconds = 0.0
        for seed in seeds:
            plan = FaultPlan.of_seed(seed, moments)
            outcome = self._play(plan, f"run-of-seed-{seed}")
            self._check(outcome, seed, plan, expected)
            runs += 1
            entries += len(outcome.entries)
            seconds += outcome.seconds
            for kind in plan.happened:
                faults[kind] = faults.get(kind, 0) + 1
        return SimulationReport(runs, faults, entries, seconds, expected is not None)

    def _undisturbed(self) -> tuple[Joins | None, int]:
        """What joins take when nothing goes wrong, where that is always the same; and how many moments a run has."""
        plan = FaultPlan.none()
        outcome = self._play(plan, "undisturbed")
        self._check(outcome, None, plan, None)
        again = self._play(FaultPlan.none(), "undisturbed-again")
        expected = joins_of(outcome.entries)
        return (expected if expected == joins_of(again.entries) else None), outcome.moments

    def _play(self, plan: FaultPlan, name: str) -> Outcome:
        if self._model is not None:
            self._models.give(self._model() if callable(self._model) else self._model)

        async def played() -> Outcome:
            asyncio.get_running_loop().set_task_factory(task_factory)
            with virtual_time():
                return await World(self._setting, plan, RunId(name)).play()

        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            return runner.run(played())

    def _check(self, outcome: Outcome, seed: int | None, plan: FaultPlan, expected: Joins | None) -> None:
        promises = list(broken_promises(outcome, self._composition, expected, MAX_FOLDS))
        if promises:
            raise SimulationFailed(self._blueprint.__name__, seed, promises, plan.trace)


@contextmanager
def _quiet_logs() -> Generator[None]:
    """The engine logs each fault it meets; here they are wanted."""
    logger = logging.getLogger("planwerk")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)
