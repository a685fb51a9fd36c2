"""How steps get `Answering` and `Predicting`: by the profile's `llm` and `task_llm`, else the default model (C1)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeAlias

from planwerk.models.answering import Answering
from planwerk.models.calls import CallReporter, ModelCallRecord
from planwerk.models.predicting import Predicting
from planwerk.models.resolved import ResolvedModel
from planwerk.runtime.displayer import EventDisplayer
from planwerk.runtime.execution import ExecutionContext
from planwerk.workflow.entries import ModelCalled

Resolve: TypeAlias = Callable[[str | None], ResolvedModel]
"""The model of this name, the default for None: `ModelCatalogue.resolve`, or `lambda name: model` in tests."""


def model_providers(resolve: Resolve) -> list[tuple[Any, Callable[[ExecutionContext], Any]]]:
    """Providers to register with the runtime."""

    def answering(context: ExecutionContext) -> Answering:
        displayer = EventDisplayer(context.sink)
        return Answering(resolve(_named(context, "llm")), displayer.response, on_call=_reporter(context))

    def predicting(context: ExecutionContext) -> Predicting:
        name = _named(context, "task_llm") or _named(context, "llm")
        return Predicting(resolve(name), on_call=_reporter(context))

    return [(Answering, answering), (Predicting, predicting)]


def _named(context: ExecutionContext, field: str) -> str | None:
    return getattr(context.config, field, None) or None


def _reporter(context: ExecutionContext) -> CallReporter:
    def report(call: ModelCallRecord) -> None:
        context.sink.model_called(
            ModelCalled(
                execution=context.execution,
                at=time.time_ns() // 1000,
                model=call.model,
                usage={name: tokens for name, tokens in call.usage.model_dump().items() if tokens},
                cost=None if call.cost is None else format(call.cost, "f"),
                duration_microseconds=round(call.duration_seconds * 1_000_000),
                purpose=call.purpose,
            )
        )

    return report
