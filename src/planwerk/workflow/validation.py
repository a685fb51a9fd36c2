"""What is wrong with a composed workflow, all of it at once (E6.3). Whether it can stall: `exploration.py` (E6.4)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Literal

from pydantic import BaseModel

from planwerk.workflow.blueprint import Agent, AgentConfig, StepConfig
from planwerk.workflow.capability import Capability, capability_of
from planwerk.workflow.composition import compose, declared_outcomes, start_classes
from planwerk.workflow.errors import DefinitionError, Problem
from planwerk.workflow.events import ControlEvent, Event, StartEvent, StopEvent
from planwerk.workflow.exploration import explore
from planwerk.workflow.injection import is_injectable
from planwerk.workflow.plan import Composition, ScopePlan, StepPlan
from planwerk.workflow.steps import Injected, Signature, StepSpec

Severity = Literal["error", "warning"]


def find_problems(
    blueprint: type[Agent],
    config: type[AgentConfig] | AgentConfig | None = None,
    *,
    provided: Collection[Any] = (),
) -> list[Problem]:
    """Every problem of a blueprint's composed workflow, errors first, in order of declaration."""
    config_class = _config_class(blueprint, config)
    broken = list(_unreadable(blueprint))
    if broken:
        return broken
    problems = list(_declaration_problems(blueprint, config_class))
    starts = start_classes(blueprint)
    if not starts:
        problems.append(
            Problem(
                blueprint.__name__,
                "E6.3",
                "no step takes a start event, so a run could not begin.",
                "Let one step take a StartEvent, for a chat a UserMessageEvent.",
            )
        )
        return problems
    compositions = [compose(blueprint, start) for start in starts]
    problems += _unreached(blueprint, compositions)
    seen: set[tuple[str, str]] = set()
    for composition in compositions:
        for plan in composition.scopes:
            for problem in _scope_problems(composition, plan, config_class, provided):
                if (problem.where, problem.message) not in seen:
                    seen.add((problem.where, problem.message))
                    problems.append(problem)
    if not any(problem.severity == "error" for problem in problems):
        for composition in compositions:
            problems += explore(composition).problems
    unique = list(dict.fromkeys(problems))
    return sorted(unique, key=lambda problem: problem.severity != "error")


def _config_class(blueprint: type[Agent], config: type[AgentConfig] | AgentConfig | None) -> type[AgentConfig]:
    if config is None:
        return blueprint.config
    return config if isinstance(config, type) else type(config)


# Definitions ----------------------------------------------------------------------------------------------------------


def _unreadable(blueprint: type[Agent]) -> Iterator[Problem]:
    """Annotations that cannot be read; nothing else can be said before they can."""
    for spec in blueprint.steps():
        try:
            spec.signature()
            spec.precondition_signature()
        except DefinitionError as error:
            yield Problem(_where(blueprint, spec), "E2.2", error.message, error.what_to_do)


def _declaration_problems(blueprint: type[Agent], config_class: type[AgentConfig]) -> Iterator[Problem]:
    for name, field in config_class.model_fields.items():
        if field.is_required():
            yield Problem(
                f"{config_class.__name__}.{name}",
                "E6.3",
                "the config field has no default, so a profile could not be made from nothing.",
                "Give it a default.",
            )
    for spec in blueprint.steps():
        yield from _step_problems(_where(blueprint, spec), spec)
        for parameter in spec.signature().events:
            for cls in parameter.classes:
                if capability_of(cls) is not None:
                    yield Problem(
                        f"{_where(blueprint, spec)}, parameter {parameter.name}",
                        "E5.1",
                        f"it takes {cls.__name__}, a request that only its capability takes.",
                        "Return the request to call the capability, and declare its result.",
                    )


def _step_problems(where: str, spec: StepSpec) -> Iterator[Problem]:
    signature = spec.signature()
    if spec.shadows:
        yield Problem(where, "E6.3", "the class declares two steps of this name.", "Rename one of them.")
    named: set[type[Event]] = set()
    for parameter in signature.events:
        for cls in parameter.classes:
            if issubclass(cls, StopEvent):
                yield Problem(
                    f"{where}, parameter {parameter.name}",
                    "E4.3",
                    f"it takes {cls.__name__}, which ends the run; no step comes after a stop.",
                    "Let the step before it return another event, and return the stop last.",
                )
            if cls in named:
                yield Problem(
                    f"{where}, parameter {parameter.name}",
                    "E3.1",
                    f"two parameters of the step name {cls.__name__}, so an event could go to either.",
                    "Take a list of them, or make two classes.",
                )
            named.add(cls)
    if not signature.events:
        yield Problem(where, "E2.2", "it takes no event, so nothing could start it.", "Name the event that starts it.")


def _where(owner: type[Agent] | type[Capability], spec: StepSpec) -> str:
    return f"{owner.__name__}.{spec.name}"


# Reach ----------------------------------------------------------------------------------------------------------------


def _unreached(blueprint: type[Agent], compositions: list[Composition]) -> Iterator[Problem]:
    """The blueprint's own steps that are composed for no start event: something they need is never produced."""
    composed = {step.spec.name for composition in compositions for step in composition.root.steps}
    produced = {cls for composition in compositions for cls in composition.root.by_class}
    returned = {
        cls for composition in compositions for step in composition.root.steps for cls in step.returns.classes
    } | {
        cls
        for composition in compositions
        for kind in composition.root.classes
        if kind.call
        for cls in kind.call.outcomes
    }
    for spec in blueprint.steps():
        if spec.name in composed:
            continue
        for parameter in spec.signature().events:
            if parameter.shape.value.endswith("None"):
                continue
            if not set(parameter.classes) & (returned | {composition.start for composition in compositions}):
                yield _nothing_produces(_where(blueprint, spec), parameter.name, parameter.classes, produced)


def _nothing_produces(
    where: str, parameter: str, classes: tuple[type[Event], ...], produced: set[type[Event]]
) -> Problem:
    wanted = " or ".join(cls.__name__ for cls in classes)
    children = sorted(
        cls.__name__ for cls in produced if cls not in classes and any(issubclass(cls, base) for base in classes)
    )
    if children:
        return Problem(
            f"{where}, parameter {parameter}",
            "E2.2",
            f"it waits for {wanted}, of which only subclasses are produced: {', '.join(children)}. Steps are matched "
            "by exact class.",
            f"Name {' | '.join(children)} instead.",
        )
    return Problem(
        f"{where}, parameter {parameter}",
        "E6.3",
        f"it waits for {wanted}, which nothing produces.",
        "Return it from a step, call the capability that answers with it, or make the parameter optional.",
    )


# One scope ------------------------------------------------------------------------------------------------------------


def _scope_problems(
    composition: Composition, plan: ScopePlan, config_class: type[AgentConfig], provided: Collection[Any]
) -> Iterator[Problem]:
    owner = plan.capability.__name__ if plan.capability is not None else composition.blueprint.__name__
    if plan.capability is not None:
        yield from _capability_problems(plan, plan.capability, config_class, composition)
    for step in plan.steps:
        where = f"{owner}.{step.spec.name}"
        yield from _base_class_problems(plan, step, where)
        yield from _output_problems(plan, step, where)
        yield from _injection_problems(step.spec.signature(), where, config_class, provided, plan.capability)
        yield from _precondition_problems(plan, step, where, config_class, provided)
    for kind in plan.classes:
        if kind.call is None:
            continue
        for outcome in kind.call.outcomes:
            if not plan.by_class[outcome].takers:
                caller = next(step.spec.name for step in plan.steps if kind.cls in step.returns.classes)
                yield Problem(
                    f"{owner}.{caller}",
                    "E6.3",
                    f"it calls {kind.call.name} with {kind.cls.__name__}, but no step of {owner} takes its result "
                    f"{outcome.__name__}.",
                    f"Declare {outcome.__name__} as a parameter of a step.",
                )


def _base_class_problems(plan: ScopePlan, step: StepPlan, where: str) -> Iterator[Problem]:
    """A parameter annotated with a base class of events, beside classes that are produced (E2.2, ENG-27)."""
    returned = {cls for other in plan.steps for cls in other.returns.classes}
    returned |= {outcome for kind in plan.classes if kind.call for outcome in kind.call.outcomes}
    for parameter in step.parameters:
        for cls in parameter.classes:
            children = sorted(other.__name__ for other in returned if other is not cls and issubclass(other, cls))
            if children and cls not in returned and cls is not plan.start and cls is not plan.request:
                yield Problem(
                    f"{where}, parameter {parameter.name}",
                    "E2.2",
                    f"it takes {cls.__name__}, of which only subclasses are produced: {', '.join(children)}. Steps are "
                    "matched by exact class.",
                    f"Name {' | '.join(children)} instead.",
                )


def _output_problems(plan: ScopePlan, step: StepPlan, where: str) -> Iterator[Problem]:
    for cls in step.returns.classes:
        kind = plan.by_class.get(cls)
        if kind is None or not issubclass(cls, ControlEvent) or kind.is_stop or kind.is_outcome:
            continue
        goes_somewhere = kind.takers or kind.watchers or kind.call is not None or cls.answered_by
        if not goes_somewhere and not getattr(cls, "leaves_run", False):
            yield Problem(
                where,
                "E6.3",
                f"it returns {cls.__name__}, which no step takes.",
                "Let a step take it, make it a DisplayEvent if it is only shown, or leave it out.",
            )


def _capability_problems(
    plan: ScopePlan, capability: type[Capability], config_class: type[AgentConfig], composition: Composition
) -> Iterator[Problem]:
    needed = capability.config
    if needed is not None and not issubclass(config_class, needed):
        yield Problem(
            config_class.__name__,
            "E6.3",
            f"{composition.blueprint.__name__} calls {capability.__name__}, whose settings {needed.__name__} its "
            "config lacks.",
            f"Write `class {config_class.__name__}({needed.__name__}, ...)`.",
        )
    for step in plan.steps:
        yield from _step_problems(f"{capability.__name__}.{step.spec.name}", step.spec)
        starting = [parameter for parameter in step.parameters if parameter.starting]
        if not starting or all(issubclass(cls, StartEvent) for parameter in starting for cls in parameter.classes):
            yield Problem(
                f"{capability.__name__}.{step.spec.name}",
                "E5.1",
                "only the run's start event could start it, and a call is started by its request.",
                "Let it take the request beside the start event.",
            )
    if capability.outcomes_by_request is not None and plan.request is not None:
        yield from _declared_outcome_problems(plan, capability, plan.request)


def _declared_outcome_problems(
    plan: ScopePlan, capability: type[Capability], request: type[Event]
) -> Iterator[Problem]:
    emitted = {cls for step in plan.steps for cls in step.returns.classes}
    names = capability.event_names()
    listed = next(
        (given for name, given in (capability.outcomes_by_request or {}).items() if names.get(name) is request), ()
    )
    declared = {names[name] for name in listed if name in names}
    for cls in declared_outcomes(capability, request):
        if cls not in emitted:
            yield Problem(
                capability.__name__,
                "E6.2",
                f"it declares {cls.__name__} as an outcome of {request.__name__}, but none of its steps returns it.",
                "Return it, or take it out of outcomes_by_request.",
            )
    for cls in emitted:
        if issubclass(cls, StopEvent) and cls not in declared:
            yield Problem(
                capability.__name__,
                "E6.2",
                f"a step returns the stop {cls.__name__}, which outcomes_by_request does not declare.",
                "Nest the class in the capability and name it there.",
            )


def _injection_problems(
    signature: Signature,
    where: str,
    config_class: type[AgentConfig],
    provided: Collection[Any],
    capability: type[Capability] | None,
) -> Iterator[Problem]:
    for parameter in signature.injected:
        if capability is not None and parameter.annotation is capability.config:
            continue  # a config without it is a problem of its own
        if not _can_be_injected(parameter, config_class, provided):
            name = getattr(parameter.annotation, "__name__", str(parameter.annotation))
            yield Problem(
                f"{where}, parameter {parameter.name}",
                "E2.4",
                f"nobody provides {name}.",
                "Name an event, the config or one of its bases, a provided type, or register a provider for it.",
            )


def _can_be_injected(parameter: Injected, config_class: type[AgentConfig], provided: Collection[Any]) -> bool:
    annotation = parameter.annotation
    if is_injectable(annotation, provided):
        return True
    if not isinstance(annotation, type) or not issubclass(annotation, BaseModel) or annotation is BaseModel:
        return False
    if issubclass(config_class, annotation):
        return True
    return issubclass(annotation, StepConfig) and any(
        field.annotation is annotation for field in config_class.model_fields.values()
    )


def _precondition_problems(
    plan: ScopePlan, step: StepPlan, where: str, config_class: type[AgentConfig], provided: Collection[Any]
) -> Iterator[Problem]:
    signature = step.spec.precondition_signature()
    if signature is None:
        return
    yield from _injection_problems(signature, f"{where}, precondition", config_class, provided, plan.capability)
    reachable = {cls for other in plan.steps for cls in other.returns.classes} | {plan.start, plan.request}
    reachable |= {outcome for kind in plan.classes if kind.call for outcome in kind.call.outcomes}
    for watched in step.watched:
        if not reachable & set(watched.classes):
            wanted = " or ".join(cls.__name__ for cls in watched.classes)
            yield Problem(
                f"{where}, precondition parameter {watched.name}",
                "E6.3",
                f"it reads {wanted}, which the step could not get.",
                "Name an event the step takes, or one that is produced in its scope.",
            )
