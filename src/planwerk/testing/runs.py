"""Run a blueprint in a test: in memory, without a server, a model or a wait (E10.1)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

from planwerk.access.identity import UserIdentity
from planwerk.capabilities.knowledge.library import Library
from planwerk.capabilities.knowledge.shelf import KnowledgeShelf, shelf_from
from planwerk.capabilities.memory.memories import Memories, memories_from
from planwerk.capabilities.memory.ports import MemoryStore
from planwerk.messages.events import SteeringMessageEvent, UserMessageEvent
from planwerk.messages.prompts import user_prompt
from planwerk.models.catalogue import CatalogueSettings, ModelCatalogue
from planwerk.providing import find_in, standard_providers
from planwerk.runtime.access_checker import AccessChecker
from planwerk.runtime.agents import NamedAgents
from planwerk.runtime.driver import RunDriver
from planwerk.runtime.errors import RunFailed
from planwerk.runtime.execution import ExecutionContext
from planwerk.runtime.local import LocalRuntime, system_clock
from planwerk.storage.in_memory.contexts import InMemoryContexts
from planwerk.storage.in_memory.journal import InMemoryJournal
from planwerk.storage.in_memory.memories import InMemoryMemories
from planwerk.testing.knowledge import checker_of, empty_library
from planwerk.testing.people import Respond, Steer, answer_of, said_to
from planwerk.testing.runs_below import RunsBelow
from planwerk.testing.virtual_clock import virtual_clock, virtual_time
from planwerk.workflow import entries as journal
from planwerk.workflow.agents import AgentInTheLoop, Detached
from planwerk.workflow.blueprint import Agent, AgentConfig
from planwerk.workflow.errors import WorkflowError
from planwerk.workflow.events import Event, ExceptionEvent, StopEvent
from planwerk.workflow.ids import EventId, new_id

if TYPE_CHECKING:
    from pydantic_ai.models import Model

EventT = TypeVar("EventT", bound=Event)
Provider = tuple[Any, Callable[[ExecutionContext], Any]]


class Unanswered(WorkflowError):
    """A run in a test waits for people, and nobody answers them."""

    code = "unanswered"

    def __init__(self, requests: Iterable[Event]) -> None:
        names = ", ".join(dict.fromkeys(type(request).__name__ for request in requests))
        super().__init__(
            f"the run waits for an answer to {names} for ever: nobody answers it here (E10.1).",
            what_to_do="Give run_workflow an answer: respond={AskBudget: '100'}, or a function of the request.",
        )


class CannotBeSteered(WorkflowError):
    """A test says something into a run whose blueprint takes nothing that is said."""

    code = "cannot_be_steered"

    def __init__(self, blueprint: type[Agent]) -> None:
        super().__init__(
            f"no step of {blueprint.__name__} takes SteeringMessageEvent, so nothing can be said into its run (S2.3).",
            what_to_do="Let a step take it, or leave `steer` out.",
        )


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run that has ended."""

    journal: list[journal.Entry]
    """All entries, in order."""
    children: list[RunResult] = field(default_factory=list["RunResult"])
    """Runs that it, or one of these, asked for and waited for, in the order in which they began (E8.2)."""
    detached: list[RunResult] = field(default_factory=list["RunResult"])
    """Runs that were started and that nobody waited for (E8.4)."""

    @property
    def events(self) -> list[Event]:
        """Every event of the run, in the order in which they were published; discarded ones are left out."""
        return [e.event for e in self.journal if isinstance(e, journal.EventPublished) and not e.discarded]

    def of(self, event_type: type[EventT]) -> list[EventT]:
        """The events of exactly this class."""
        return [event for event in self.events if type(event) is event_type]

    @property
    def error(self) -> ExceptionEvent | None:
        """The error the run ended with, if it failed."""
        stop = self._stop()
        return stop if isinstance(stop, ExceptionEvent) else None

    @property
    def stop(self) -> StopEvent:
        """The stop the run ended with.

        Raises:
            RunFailed: It ended with an error.
        """
        stop = self._stop()
        if isinstance(stop, ExceptionEvent):
            opened = self.journal[0]
            raise RunFailed(opened.run if isinstance(opened, journal.RunOpened) else "", stop)
        return stop

    def _stop(self) -> StopEvent:
        return next(event for event in self.events if isinstance(event, StopEvent))


async def run_workflow(
    blueprint: type[Agent],
    start: Event | str,
    *,
    config: AgentConfig | None = None,
    model: Model | None = None,
    respond: Respond | None = None,
    steer: Steer | None = None,
    user: UserIdentity | None = None,
    providers: Iterable[Provider] = (),
    agents: Mapping[str, type[Agent]] | None = None,
    memories: MemoryStore | None = None,
    library: Library | None = None,
) -> RunResult:
    """Run a blueprint to its end and give back what happened; a run that fails does not raise.

    Args:
        start: The start event, or the text of a person's first message.
        config: The profile's settings; the blueprint's defaults if missing.
        model: What plays the model, such as a `ScriptedModel`; the offline demo model if missing.
        respond: How people answer: by class of request the answer, or a function of the request that gives it (it may
            be async); or one such function for all. An answer is the `Answered` event, or what it holds: its fields, a
            text, a yes or no. None leaves the request open, so that it times out.
        steer: What people say into the run while it works (S2.3): by class of event what is said once such an event is
            published, or a function of each event that gives it or None.
        user: Who asks, for a start that is a text.
        providers: Pairs of a type and a function that makes it, for what your steps ask for.
        agents: Blueprints by the id of the profile under which the run asks for them; one it names by its class is
            found without. They are run as well, in memory. `respond` may give the answer in their place: the event, or
            the stop that the other run would end with.
        memories: What is remembered before, and after: give one store to several runs; nothing at first if missing.
        library: Knowledge that can be searched, made with `knowledge_of`; none if missing.

    Raises:
        WorkflowError: The workflow breaks an obligation; nothing was started.
        AnswerInvalid: An answer does not fit its request.
        Unanswered: The run waits for people, and nobody answers.
        CannotBeSteered: Something is to be said, and no step takes it.
    """
    named = NamedAgents(dict.fromkeys([blueprint, *defined_blueprints()]), agents)
    models = ModelCatalogue(CatalogueSettings(), environment={}, local_servers=())
    if model is not None:
        models.give(model)
    provided = standard_providers(
        models=models, contexts=InMemoryContexts(), find_blueprint=find_in(named.blueprints), clock=system_clock
    )
    provided.register(Memories, memories_from(memories or InMemoryMemories(), system_clock))
    provided.register(KnowledgeShelf, shelf_from(library or empty_library()))
    provided.register(AccessChecker, lambda _: checker_of(user))
    for annotation, provider in providers:
        provided.register(annotation, provider)
    event = UserMessageEvent(messages=(user_prompt(start),), user=user) if isinstance(start, str) else start
    with virtual_time():
        runtime = LocalRuntime(InMemoryJournal(), provided, clock=virtual_clock())
        below = RunsBelow(runtime, named, lambda found: _follow(runtime, found, respond, below))
        driver = await runtime.start(blueprint, event, config=config)
        try:
            if steer is not None and not driver.program.composition.takes_from_outside(SteeringMessageEvent):
                raise CannotBeSteered(blueprint)
            await _follow(runtime, driver, respond, below, steer)
            await below.drain()
        finally:
            await below.cancel()
        children = [RunResult(await runtime.journal.read(run)) for run in below.asked]
        detached = [RunResult(await runtime.journal.read(run)) for run in below.left]
        return RunResult(await runtime.journal.read(driver.run), children, detached)


def defined_blueprints(base: type[Agent] = Agent) -> list[type[Agent]]:
    """All blueprints that are defined in this process, those defined last first."""
    found = [cls for child in reversed(base.__subclasses__()) for cls in (child, *defined_blueprints(child))]
    return list(dict.fromkeys(found))


async def _follow(
    runtime: LocalRuntime, driver: RunDriver, respond: Respond | None, below: RunsBelow, steer: Steer | None = None
) -> None:
    """Read the run to its end, answering what it asks people, and driving what it asks agents."""
    waits = asyncio.Event()
    driver.when_waiting = lambda _: waits.set()
    unanswered: dict[int, Event] = {}
    async with aclosing(runtime.journal.follow(driver.run)) as entries:
        following = asyncio.ensure_future(anext(entries, None))
        try:
            while True:
                waiting = asyncio.ensure_future(waits.wait())
                tasks = [following, waiting, *below.tasks(driver)]
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
                await below.look(driver)
                if following.done():
                    found = following.result()
                    if found is None:
                        await below.end(driver)
                        return
                    position, entry = found
                    if _starts_a_run(entry):
                        below.detach(driver, entry)
                    if isinstance(entry, journal.EventPublished) and (said := said_to(entry.event, steer)) is not None:
                        await driver.bring(EventId(new_id()), SteeringMessageEvent(messages=(user_prompt(said),)))
                    if isinstance(entry, journal.EventPublished) and entry.event.answered_by and not entry.discarded:
                        answer = await answer_of(entry.event, respond)
                        if answer is None and isinstance(entry.event, AgentInTheLoop):
                            below.ask(driver, position, entry)
                        elif answer is None:
                            unanswered[position] = entry.event
                        elif position in driver.schedule.requests:
                            await driver.answer(position, answer)
                    following = asyncio.ensure_future(anext(entries, None))
                waits.clear()
                _refuse_to_wait_for_ever(driver, unanswered)
        finally:
            following.cancel()
            await asyncio.wait([following])


def _refuse_to_wait_for_ever(driver: RunDriver, unanswered: Mapping[int, Event]) -> None:
    open_requests = driver.schedule.requests
    if driver.is_waiting and driver.next_due is None and open_requests.keys() <= unanswered.keys():
        raise Unanswered(unanswered[position] for position in open_requests)


def _starts_a_run(entry: journal.Entry) -> TypeGuard[journal.EventPublished]:
    return isinstance(entry, journal.EventPublished) and isinstance(entry.event, Detached) and not entry.discarded
