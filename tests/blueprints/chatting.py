"""Runs of blueprints in memory, with a played model and all that the conversation asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from planwerk.capabilities.knowledge.shelf import KnowledgeShelf, shelf_from
from planwerk.capabilities.memory.memories import Memories, memories_from
from planwerk.models.catalogue import CatalogueSettings, ModelCatalogue
from planwerk.models.resolved import ResolvedModel
from planwerk.providing import standard_providers
from planwerk.runtime.access_checker import AccessChecker
from planwerk.runtime.local import LocalRuntime, system_clock
from planwerk.runtime.locale_handler import LocaleHandler
from planwerk.runtime.run_info import RunInfo
from planwerk.storage.in_memory.contexts import InMemoryContexts
from planwerk.storage.in_memory.journal import InMemoryJournal
from planwerk.storage.in_memory.memories import InMemoryMemories
from planwerk.testing.knowledge import checker_of, empty_library
from planwerk.workflow.blueprint import Agent, AgentConfig
from planwerk.workflow.entries import EventPublished, ExecutionDue
from planwerk.workflow.events import Event, StopEvent

EventT = TypeVar("EventT", bound=Event)


class HasModel(Protocol):
    """Whatever plays the model."""

    @property
    def resolved(self) -> ResolvedModel: ...


@dataclass(frozen=True)
class Chat:
    """A run that has ended."""

    stop: StopEvent
    events: tuple[Event, ...]
    steps: tuple[str, ...]

    def of(self, cls: type[EventT]) -> list[EventT]:
        return [event for event in self.events if isinstance(event, cls)]


async def chat(
    blueprint: type[Agent],
    start: Event,
    model: HasModel,
    *,
    locale: str = "en",
    titled: bool | None = False,
    config: AgentConfig | None = None,
) -> Chat:
    """Run a blueprint to its end."""
    info = RunInfo("run", "Assistant", "Answers questions.", graph=blueprint.graph(), titled=titled)

    models = ModelCatalogue(CatalogueSettings(), environment={}, local_servers=())
    models.give(model.resolved.model)
    providers = standard_providers(
        models=models, contexts=InMemoryContexts(), find_blueprint=lambda name: blueprint, clock=system_clock
    )
    providers.register(LocaleHandler, lambda context: LocaleHandler(locale))
    providers.register(RunInfo, lambda context: info)
    providers.register(Memories, memories_from(InMemoryMemories(), system_clock))
    providers.register(KnowledgeShelf, shelf_from(empty_library()))
    providers.register(AccessChecker, lambda _: checker_of(None))
    journal = InMemoryJournal()
    run = await LocalRuntime(journal, providers).run_to_end(blueprint, start, config=config)
    entries = await journal.read(run.id)
    return Chat(
        run.stop,
        tuple(entry.event for entry in entries if isinstance(entry, EventPublished)),
        tuple(entry.step for entry in entries if isinstance(entry, ExecutionDue)),
    )
