"""What steps get injected beside events and config: the providers of our own types (E2.4).

Part of the composition root: `app.py` gives them to the runtime, `testing` to runs without a server.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planwerk.access.identity import UserIdentity
from planwerk.locales import DEFAULT_LOCALE, best_locale
from planwerk.messages.events import ModelExchangeEvent
from planwerk.messages.history import hold
from planwerk.models.answering import Answering
from planwerk.models.calls import ModelCallRecord
from planwerk.models.catalogue import ModelCatalogue
from planwerk.models.predicting import Predicting
from planwerk.models.resolved import ResolvedModel
from planwerk.runtime.contexts import RunContext, ThreadContext, thread_owner
from planwerk.runtime.displayer import EventDisplayer
from planwerk.runtime.execution import ExecutionContext
from planwerk.runtime.locale_handler import LocaleHandler
from planwerk.runtime.ports import ContextStore
from planwerk.runtime.profiles import BlueprintRegistry, UnknownBlueprint
from planwerk.runtime.providers import Providers
from planwerk.runtime.requested_features import RequestedFeatures
from planwerk.runtime.run_info import RunInfo
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.entries import ModelCalled
from planwerk.workflow.graph import Graph, graph_of

FindBlueprint = Callable[[str], type[Agent] | None]


def standard_providers(
    *, models: ModelCatalogue, contexts: ContextStore, find_blueprint: FindBlueprint, clock: Callable[[], int]
) -> Providers:
    """Providers of every type of ours that a step may ask for."""
    graphs: dict[type[Agent], Graph] = {}

    def resolved(context: ExecutionContext, *fields: str) -> ResolvedModel:
        named = (getattr(context.config, field, None) for field in fields)
        return models.resolve(next((name for name in named if name), None))

    def reporter(context: ExecutionContext) -> Callable[[ModelCallRecord], None]:
        return lambda record: context.sink.model_called(_called(context, record, clock()))

    def answering(context: ExecutionContext) -> Answering:
        sink = EventDisplayer(context.sink).response
        return Answering(resolved(context, "llm"), sink, on_call=reporter(context))

    def predicting(context: ExecutionContext) -> Predicting:
        return Predicting(resolved(context, "task_llm", "llm"), on_call=reporter(context))

    def run_info(context: ExecutionContext) -> RunInfo:
        opened = context.run
        blueprint = find_blueprint(opened.blueprint)
        if blueprint is not None and blueprint not in graphs:
            graphs[blueprint] = graph_of(blueprint)
        return RunInfo(
            run=opened.run,
            name=opened.profile_name or opened.blueprint,
            description=opened.profile_description or (blueprint.summary() if blueprint is not None else ""),
            graph=graphs[blueprint] if blueprint is not None else Graph((), (), ()),
            thread=opened.thread,
            workspace=opened.workspace,
            profile=opened.profile,
            titled=opened.titled,
        )

    def thread_context(context: ExecutionContext) -> ThreadContext:
        return ThreadContext(contexts, context.run.context_thread or thread_owner(context.run.run, context.run.thread))

    provided: list[tuple[Any, Callable[[ExecutionContext], Any]]] = [
        (Answering, answering),
        (Predicting, predicting),
        (EventDisplayer, lambda context: EventDisplayer(context.sink)),
        (RunContext, lambda context: RunContext(contexts, context.run.run)),
        (ThreadContext, thread_context),
        (RunInfo, run_info),
        (LocaleHandler, lambda context: LocaleHandler(locale_of(context))),
        (RequestedFeatures, lambda context: RequestedFeatures(getattr(context.start, "requested_features", ()))),
        (UserIdentity, user_of),
    ]
    return Providers(provided)


def find_in(blueprints: BlueprintRegistry) -> FindBlueprint:
    """Find blueprints among those that are served."""

    def find(name: str) -> type[Agent] | None:
        try:
            return blueprints.get(name)
        except UnknownBlueprint:
            return None

    return find


def locale_of(context: ExecutionContext) -> str:
    """The run's locale: its start event's, else the one it was opened with (E1.9)."""
    named = getattr(context.start, "locale", None) or context.run.locale
    return best_locale(named) if named else DEFAULT_LOCALE


def user_of(context: ExecutionContext) -> UserIdentity | None:
    """Who asks: the start event's user, else the person who started the run."""
    named = getattr(context.start, "user", None)
    if isinstance(named, UserIdentity):
        return named
    actor = context.run.actor
    if actor.get("kind") == "user":
        return UserIdentity(id=actor["id"], name=actor["name"])
    return None


def _called(context: ExecutionContext, record: ModelCallRecord, now: int) -> ModelCalled:
    return ModelCalled(
        execution=context.execution,
        at=now,
        model=record.model,
        usage=record.usage.model_dump(),
        cost=str(record.cost) if record.cost is not None else None,
        duration_microseconds=int(record.duration_seconds * 1e6),
        purpose=record.purpose,
        exchange=ModelExchangeEvent(task=record.task, messages=hold(record.messages)),
    )
