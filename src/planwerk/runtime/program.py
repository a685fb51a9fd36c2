"""A composed workflow made ready to execute: for each step its function and what is injected, resolved once (E2.4)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from planwerk.runtime.execution import ExecutionContext
from planwerk.runtime.providers import Injector, Providers
from planwerk.workflow.blueprint import Agent, AgentConfig
from planwerk.workflow.capability import Capability
from planwerk.workflow.codec import wire_type
from planwerk.workflow.composition import compose
from planwerk.workflow.errors import WorkflowError
from planwerk.workflow.events import ControlEvent, Event, StopEvent
from planwerk.workflow.plan import Composition, ScopePlan, StepPlan
from planwerk.workflow.requests import OutsideRequest
from planwerk.workflow.seen import Execution, Seen
from planwerk.workflow.steps import Output, Retry, Returns


class UndeclaredOutput(WorkflowError):
    """A step returned what its annotation does not name (E2.3)."""

    code = "undeclared_output"

    def __init__(self, step: str, output: object) -> None:
        name = _named(output)
        super().__init__(
            f"step {step} returned {name}, which its return annotation does not name (E2.3).",
            what_to_do="Add it to the annotation, or return what the annotation names.",
        )
        self.step, self.output = step, name


class TimeoutUntaken(WorkflowError):
    """A step asked with a timeout, and no step takes that the time ran out (E8.1)."""

    code = "timeout_untaken"

    def __init__(self, step: str, request: type[OutsideRequest]) -> None:
        timed_out = request.timed_out()
        name = timed_out.__name__ if timed_out is not None else ""
        super().__init__(
            f"step {step} returned {request.__name__} with a timeout, but no step takes {name} (E8.1).",
            what_to_do=f"Let a step take {request.__name__}.TimedOut, or ask without a timeout.",
        )
        self.step, self.request = step, request.__name__


def _named(output: object) -> str:
    if isinstance(output, tuple):
        return " with ".join(_named(each) for each in cast("tuple[object, ...]", output)) or "no event"
    return wire_type(output) if isinstance(output, Event) else type(output).__name__


@dataclass(frozen=True, slots=True)
class Precondition:
    """A precondition with what it reads and what is injected into it."""

    function: Callable[..., Any]
    takes_self: bool
    injectors: tuple[tuple[str, Injector], ...]


@dataclass(frozen=True, slots=True)
class ReadyStep:
    """A step ready to be executed."""

    name: str
    owner: type[Agent] | type[Capability]
    function: Callable[..., Any]
    parameters: tuple[str, ...]
    injectors: tuple[tuple[str, Injector], ...]
    outputs: frozenset[type[Event]]
    alone: frozenset[type[Event]]
    """Classes of which one event is all that an alternative of the annotation asks for, with nothing more to check."""
    untimed: frozenset[type[Event]]
    """Requests among the outputs whose `TimedOut` no step takes."""
    listed: frozenset[type[Event]] | None
    """Classes of a `list[...]` that is one alternative, nothing more to check; None where there is not just one."""
    returns: Returns
    renamed: dict[type[Event], type[Event]]
    is_generator: bool
    stop_on_error: bool
    retry: Retry
    timeout_seconds: float | None
    is_plain: bool
    """Takes only events, in the order of its signature: called with them, and nothing is injected."""
    is_simple: bool
    """Is plain, and awaited as it stands: no generator, no timeout."""
    only_displays: bool
    """Nothing it returns moves the run, so it may finish after a stop (E4.2)."""
    precondition: Precondition | None

    def call(self, execution: Execution, context: ExecutionContext | None) -> Any:
        """Call the step's function on a fresh object (E2.5): a coroutine, or an async generator."""
        if self.is_plain:
            return self.function(self.owner(), *execution.arguments())
        arguments: dict[str, Any] = dict(zip(self.parameters, execution.arguments(), strict=True))
        assert context is not None
        for name, injector in self.injectors:
            arguments[name] = injector(context)
        return self.function(self.owner(), **arguments)

    def checked(self, output: object) -> Event:
        """The event as this workflow knows it.

        Raises:
            UndeclaredOutput: The step's annotation does not name its class.
            TimeoutUntaken: It is a request with a timeout, which nobody waits for.
        """
        if isinstance(output, Event):
            if type(output) in self.outputs:
                if type(output) in self.untimed and cast("OutsideRequest", output).due_microseconds(0) is not None:
                    raise TimeoutUntaken(self.name, cast("type[OutsideRequest]", type(output)))
                return output
            stands_for = self.renamed.get(type(output))
            if stands_for is not None and stands_for in self.outputs:
                return stands_for.as_class(output)
            if StopEvent in self.outputs and isinstance(output, StopEvent):
                return output  # a bare StopEvent is whichever stop the caller's request carries (C1.3)
        raise UndeclaredOutput(self.name, output)

    def require_fit(self, events: Sequence[Event]) -> None:
        """See that events returned together are one alternative of the annotation.

        Raises:
            UndeclaredOutput: They are not: one is missing, out of order, or not to stand beside the others.
        """
        classes = [type(event) if type(event) in self.outputs else StopEvent for event in events]
        if not any(_fits(classes, alternative) for alternative in self.returns.alternatives):
            raise UndeclaredOutput(self.name, tuple(events))


def _listed(returns: Returns, untimed: frozenset[type[Event]]) -> frozenset[type[Event]] | None:
    lists = [ways for ways in returns.alternatives if ways and all(output.many for output in ways)]
    return frozenset(output.cls for output in lists[0]) - untimed if len(lists) == 1 else None


def _fits(classes: Sequence[type[Event]], alternative: Sequence[Output]) -> bool:
    """Each that does not stand in a list once, in this order; those of lists as often as they come."""
    once = [output.cls for output in alternative if not output.many]
    many = {output.cls for output in alternative if output.many}
    found = 0
    for cls in classes:
        if found < len(once) and cls is once[found]:
            found += 1
        elif cls not in many:
            return False
    return found == len(once)


class Program:
    """A blueprint composed for a start class, bound to a config class and to providers.

    Making one reflects over annotations; it is made once per profile version and shared by its runs.
    """

    def __init__(self, composition: Composition, config_class: type[AgentConfig], providers: Providers) -> None:
        self.composition = composition
        self.config_class = config_class
        self.steps: dict[str, ReadyStep] = {}
        for plan in composition.scopes:
            for step in plan.steps:
                if step.name not in self.steps:
                    self.steps[step.name] = _ready(plan, step, composition, config_class, providers)

    @classmethod
    def of(
        cls,
        blueprint: type[Agent],
        start: type[Event],
        providers: Providers,
        config_class: type[AgentConfig] | None = None,
    ) -> Program:
        """Compose and bind a blueprint for a class of start event."""
        return cls(compose(blueprint, start), config_class or blueprint.config, providers)


def _ready(
    plan: ScopePlan, step: StepPlan, composition: Composition, config_class: type[AgentConfig], providers: Providers
) -> ReadyStep:
    spec = step.spec
    is_plain = not spec.signature().injected
    outputs = frozenset(step.returns.classes)
    untimed = frozenset(cls for cls in outputs if _is_untimed(plan, cls))
    return ReadyStep(
        name=step.name,
        owner=plan.capability or composition.blueprint,
        function=spec.function,
        parameters=tuple(parameter.name for parameter in step.parameters),
        injectors=providers.injectors(spec.signature(), config_class),
        outputs=outputs,
        alone=frozenset(
            cls for cls in outputs - untimed if any(_fits([cls], ways) for ways in step.returns.alternatives)
        ),
        untimed=untimed,
        listed=_listed(step.returns, untimed),
        returns=step.returns,
        renamed=plan.capability.renamed if plan.capability is not None else {},
        is_generator=step.returns.generator,
        stop_on_error=spec.stop_on_error,
        retry=spec.retry,
        timeout_seconds=spec.timeout_seconds,
        is_plain=is_plain,
        is_simple=is_plain and not step.returns.generator and spec.timeout_seconds is None,
        only_displays=not any(issubclass(cls, ControlEvent) for cls in step.returns.classes),
        precondition=_precondition(step, config_class, providers),
    )


def _is_untimed(plan: ScopePlan, cls: type[Event]) -> bool:
    timed_out = cls.timed_out() if issubclass(cls, OutsideRequest) else None
    return timed_out is not None and not plan.by_class[cls].answers & plan.by_class[timed_out].bit


def _precondition(step: StepPlan, config_class: type[AgentConfig], providers: Providers) -> Precondition | None:
    function = step.spec.precondition
    signature = step.spec.precondition_signature()
    if function is None or signature is None:
        return None
    return Precondition(function, signature.takes_self, providers.injectors(signature, config_class))


async def ask(ready: ReadyStep, execution: Execution, context: ExecutionContext) -> bool:
    """Ask a step's precondition for a binding (E3.6); it may be async."""
    precondition = ready.precondition
    assert precondition is not None
    arguments: dict[str, Any] = {}
    for watched in execution.step.watched:
        bound = execution.binding[watched.own] if watched.own is not None else None
        if watched.own is None:
            seen = execution.scope.latest.get((execution.step.index, watched.name), [])
            bound = list(seen) if watched.shape.is_list else seen[-1] if seen else None
            if bound is None and watched.shape.value == "E":
                return False
        if isinstance(bound, Seen):
            arguments[watched.name] = bound.event if type(bound.event) in watched.classes else None
        else:
            arguments[watched.name] = None if bound is None else [seen.event for seen in bound]
    for name, injector in precondition.injectors:
        arguments[name] = injector(context)
    first = (ready.owner(),) if precondition.takes_self else ()
    verdict = precondition.function(*first, **arguments)
    return bool(await verdict if inspect.isawaitable(verdict) else verdict)
