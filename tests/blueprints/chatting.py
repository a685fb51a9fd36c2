"""Runs of blueprints in memory, with a played model and all that the conversation asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from planwerk.models.providers import model_providers
from planwerk.models.resolved import ResolvedModel
from planwerk.runtime.displayer import EventDisplayer
from planwerk.runtime.local import LocalRuntime
from planwerk.runtime.locale_handler import LocaleHandler
from planwerk.runtime.providers import Providers
from planwerk.runtime.run_info import RunInfo
from planwerk.storage.in_memory.journal import InMemoryJournal
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

    providers = Providers(
        [
            *model_providers(lambda name: model.resolved),
            (EventDisplayer, lambda context: EventDisplayer(context.sink)),
            (LocaleHandler, lambda context: LocaleHandler(locale)),
            (RunInfo, lambda context: info),
        ]
    )
    journal = InMemoryJournal()
    run = await LocalRuntime(journal, providers).run_to_end(blueprint, start, config=config)
    entries = await journal.read(run.id)
    return Chat(
        run.stop,
        tuple(entry.event for entry in entries if isinstance(entry, EventPublished)),
        tuple(entry.step for entry in entries if isinstance(entry, ExecutionDue)),
    )
