"""Who provides what a step asks for beside events; resolved once, when a workflow is made ready (E2.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pydantic import BaseModel

from planwerk.runtime.errors import NotProvided
from planwerk.runtime.execution import ExecutionContext, ExecutionInfo
from planwerk.workflow.blueprint import AgentConfig, StepConfig
from planwerk.workflow.ids import ExecutionId, id_in_run
from planwerk.workflow.steps import Injected, Signature

Injector = Callable[[ExecutionContext], object]
Provider = Callable[[ExecutionContext], Any]


class Providers:
    """Providers by the type they give. The runtime names none but what belongs to an execution itself."""

    def __init__(self, providers: Iterable[tuple[Any, Provider]] = ()) -> None:
        self._providers: dict[Any, Provider] = {ExecutionInfo: _execution_info}
        for annotation, provider in providers:
            self.register(annotation, provider)

    def register(self, annotation: Any, provider: Provider) -> None:
        """Give steps that name this type what the provider makes; a later one replaces an earlier one."""
        self._providers[annotation] = provider

    @property
    def types(self) -> frozenset[Any]:
        """The types steps may ask for."""
        return frozenset(self._providers)

    def injectors(self, signature: Signature, config_class: type[AgentConfig]) -> tuple[tuple[str, Injector], ...]:
        """What fills each injected parameter.

        Raises:
            NotProvided: Nobody provides a parameter that has no default.
        """
        found: list[tuple[str, Injector]] = []
        for parameter in signature.injected:
            injector = self._injector(parameter, config_class)
            if injector is not None:
                found.append((parameter.name, injector))
            elif not parameter.has_default and not parameter.optional:
                raise NotProvided(parameter.name, parameter.annotation)
            elif not parameter.has_default:
                found.append((parameter.name, _nothing))
        return tuple(found)

    def _injector(self, parameter: Injected, config_class: type[AgentConfig]) -> Injector | None:
        annotation = parameter.annotation
        provider = self._providers.get(annotation)
        if provider is not None:
            return provider
        if not isinstance(annotation, type) or not issubclass(annotation, BaseModel) or annotation is BaseModel:
            return None
        if issubclass(config_class, annotation):
            return _config
        if issubclass(annotation, StepConfig):
            for name, field in config_class.model_fields.items():
                if field.annotation is annotation:
                    return _field(name)
        return None


def _config(context: ExecutionContext) -> object:
    return context.config


def _field(name: str) -> Injector:
    return lambda context: getattr(context.config, name)


def _nothing(context: ExecutionContext) -> object:
    return None


def _execution_info(context: ExecutionContext) -> object:
    identity = ExecutionId(id_in_run(context.run.run, context.execution))
    return ExecutionInfo(identity, context.attempt, context.step)
