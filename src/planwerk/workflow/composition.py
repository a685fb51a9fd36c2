"""Which steps make up a workflow: what its start can reach, capabilities called on the way among it (E6.1)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache

from planwerk.workflow.blueprint import Agent
from planwerk.workflow.capability import Capability, capability_of
from planwerk.workflow.events import ControlEvent, Event, StartEvent, StopEvent
from planwerk.workflow.plan import ClassPlan, Composition, Mask, ParameterPlan, ScopePlan, StepPlan, WatchedParameter
from planwerk.workflow.requests import OutsideRequest
from planwerk.workflow.settling import prepare
from planwerk.workflow.steps import EventParameter, Output, Returns, Shape, StepSpec

CallKey = tuple[type[Capability], type[Event]]


def start_classes(blueprint: type[Agent]) -> tuple[type[Event], ...]:
    """The start events a blueprint's own steps take, in order of declaration."""
    taken = (cls for spec in blueprint.steps() for parameter in spec.signature().events for cls in parameter.classes)
    return tuple(dict.fromkeys(cls for cls in taken if issubclass(cls, StartEvent)))


def brought_in(specs: Iterable[StepSpec]) -> set[type[Event]]:
    """The classes that these steps take and that may come from outside at any time (S2.3)."""
    taken = (cls for spec in specs for parameter in spec.signature().events for cls in parameter.classes)
    return {cls for cls in taken if cls.from_outside}


@lru_cache(maxsize=512)
def compose(blueprint: type[Agent], start: type[Event]) -> Composition:
    """Compose a blueprint for one class of start event.

    Steps that cannot be reached are left out: a step is composed only when each of its required inputs can be
    produced. Composing never refuses; `validation` says what is wrong.
    """
    composer = _Composer(start)
    root = composer.scope("", blueprint.steps(), capability=None, request=None)
    scopes = (root, *composer.calls.values())
    return Composition(blueprint, start, root, scopes, _fingerprint(scopes))


class _Composer:
    """Composes the scopes of one start class; a capability's scope once per request."""

    def __init__(self, start: type[Event]) -> None:
        self.start = start
        self.calls: dict[CallKey, ScopePlan] = {}

    def call(self, capability: type[Capability], request: type[Event]) -> ScopePlan:
        key = (capability, request)
        if key not in self.calls:
            # A capability that calls itself finds this placeholder, with all the outcomes it declares.
            placeholder = ScopePlan(capability.__name__, self.start, capability, request)
            placeholder.outcomes = declared_outcomes(capability, request)
            self.calls[key] = placeholder
            composed = self.scope(capability.__name__, capability.steps(), capability, request)
            for name in ScopePlan.__slots__:
                setattr(placeholder, name, getattr(composed, name))
        return self.calls[key]

    def scope(
        self, name: str, specs: list[StepSpec], capability: type[Capability] | None, request: type[Event] | None
    ) -> ScopePlan:
        plan = ScopePlan(name, self.start, capability, request)
        producible: set[type[Event]] = {self.start} if request is None else {request, self.start}
        if request is None:
            producible |= brought_in(specs)
        waiting = [_declared(spec, capability) for spec in specs]
        composed: set[int] = set()
        grown = True
        while grown:
            grown = False
            for place, (_, parameters, returns) in enumerate(waiting):
                if place not in composed and _can_run(parameters, producible):
                    composed.add(place)
                    producible |= self._led_to(returns.classes)
                    grown = True
        for place in sorted(composed):
            spec, parameters, returns = waiting[place]
            self._add_step(plan, spec, parameters, returns)
        self._add_classes(plan, producible)
        prepare(plan)
        return plan

    def _led_to(self, classes: Iterable[type[Event]]) -> set[type[Event]]:
        """The classes, and what answers them: a call's outcomes, a person's or a timer's answer."""
        found: set[type[Event]] = set()
        for cls in classes:
            found.add(cls)
            found.update(cls.answered_by)
            capability = capability_of(cls)
            if capability is not None:
                found.update(self.call(capability, cls).outcomes)
        return found

    def _add_step(
        self, plan: ScopePlan, spec: StepSpec, parameters: tuple[EventParameter, ...], returns: Returns
    ) -> None:
        index = len(plan.steps)
        in_call = plan.capability is not None
        planned = tuple(
            ParameterPlan(
                place,
                parameter.name,
                parameter.classes,
                parameter.shape,
                read_only=in_call and all(issubclass(cls, StartEvent) for cls in parameter.classes),
            )
            for place, parameter in enumerate(parameters)
        )
        _mark_starting(planned)
        step = StepPlan(
            index=index,
            bit=1 << index,
            name=f"{plan.name}.{spec.name}" if in_call else spec.name,
            spec=spec,
            parameters=planned,
            returns=returns,
            watched=_watched(spec, planned, plan.capability),
        )
        step.is_direct = len(planned) == 1 and planned[0].is_single and not step.has_precondition
        singles = [parameter for parameter in planned if parameter.is_single and not parameter.read_only]
        step.always_waits = any(not parameter.is_single for parameter in planned)
        step.may_repeat = len(singles) > 1
        step.is_lone = bool(planned) and all(
            parameter.shape in {Shape.OPTIONAL, Shape.OPTIONAL_LIST} for parameter in planned
        )
        step.is_lone = step.is_lone and any(parameter.is_list for parameter in planned)
        plan.steps.append(step)

    def _add_classes(self, plan: ScopePlan, producible: set[type[Event]]) -> None:
        named = [cls for step in plan.steps for parameter in step.parameters for cls in parameter.classes]
        named += [cls for step in plan.steps for watched in step.watched for cls in watched.classes]
        returned = [cls for step in plan.steps for cls in step.returns.classes]
        first = [self.start] if plan.request is None else [plan.request, self.start]
        answered = sorted(self._led_to(returned), key=lambda cls: cls.__name__)
        control = (cls for cls in [*first, *named, *returned, *answered] if issubclass(cls, ControlEvent))
        for cls in dict.fromkeys(control):
            entry = ClassPlan(len(plan.classes), 1 << len(plan.classes), cls)
            plan.classes.append(entry)
            plan.by_class[cls] = entry
        outcomes = set(plan.capability.outcomes()) if plan.capability is not None else set[type[Event]]()
        plan.outcomes = tuple(cls for cls in dict.fromkeys(returned) if cls in outcomes)
        if plan.capability is not None and plan.request is not None and plan.capability.outcomes_by_request:
            plan.outcomes = declared_outcomes(plan.capability, plan.request)
        for entry in plan.classes:
            self._describe(plan, entry, returned)
        stops = [cls for cls in returned if issubclass(cls, StopEvent)]
        called = [entry.call for entry in plan.classes if entry.call is not None and entry.cls in returned]
        stops += [stop for call in called for stop in call.stops]
        plan.stops = tuple(dict.fromkeys(stops))
        for step in plan.steps:
            step.output_mask = _mask(plan, step.returns.classes)
            for parameter in step.parameters:
                parameter.class_mask = _mask(plan, parameter.classes)

    def _describe(self, plan: ScopePlan, entry: ClassPlan, returned: list[type[Event]]) -> None:
        entry.is_stop = issubclass(entry.cls, StopEvent)
        entry.is_outcome = entry.cls in plan.outcomes
        capability = capability_of(entry.cls)
        if capability is not None and entry.cls in returned:
            entry.call = self.call(capability, entry.cls)
            entry.answers = _mask(plan, entry.call.outcomes)
        else:
            entry.answers = _mask(plan, _answers(plan, entry.cls))
        taken = [
            (step, parameter)
            for step in plan.steps
            for parameter in step.parameters
            if entry.cls in parameter.classes and not parameter.read_only
        ]
        entry.takers = tuple((step, parameter.index) for step, parameter in taken)
        watching = [step for step in plan.steps if any(entry.cls in watched.classes for watched in step.watched)]
        entry.watchers = tuple(
            step
            for step in watching
            if any(entry.cls in watched.classes and watched.own is None for watched in step.watched)
        )
        for step, parameter in taken:
            entry.read_by |= step.bit
            if parameter.starting:
                entry.starts |= step.bit
        for step in watching:
            entry.starts |= step.bit


def _answers(plan: ScopePlan, cls: type[Event]) -> tuple[type[Event], ...]:
    """What may answer it from outside: that it timed out only where a step takes that, else it may not (E8.1)."""
    timed_out = cls.timed_out() if issubclass(cls, OutsideRequest) else None
    taken = {named for step in plan.steps for parameter in step.parameters for named in parameter.classes}
    return tuple(answer for answer in cls.answered_by if answer is not timed_out or answer in taken)


def declared_outcomes(capability: type[Capability], request: type[Event]) -> tuple[type[Event], ...]:
    """The outcomes a capability declares for a request; all of them where it does not tell requests apart."""
    by_request = capability.outcomes_by_request
    if by_request is None:
        return capability.outcomes()
    names = capability.event_names()
    for name, outcomes in by_request.items():
        if names.get(name) is request:
            return tuple(names[outcome] for outcome in outcomes if not issubclass(names[outcome], StopEvent))
    return ()


def _declared(
    spec: StepSpec, capability: type[Capability] | None
) -> tuple[StepSpec, tuple[EventParameter, ...], Returns]:
    """What a step takes and returns in this workflow: second uses of a capability have classes of their own."""
    signature = spec.signature()
    if capability is None or not capability.renamed:
        return spec, signature.events, signature.returns
    stand_in = capability.stand_in
    parameters = tuple(
        EventParameter(parameter.name, tuple(stand_in(cls) for cls in parameter.classes), parameter.shape)
        for parameter in signature.events
    )
    alternatives = tuple(
        tuple(Output(stand_in(output.cls), output.many) for output in outputs)
        for outputs in signature.returns.alternatives
    )
    return spec, parameters, Returns(alternatives, signature.returns.generator)


def _can_run(parameters: tuple[EventParameter, ...], producible: set[type[Event]]) -> bool:
    required = [parameter for parameter in parameters if parameter.shape is Shape.SINGLE]
    if required:
        return all(producible.intersection(parameter.classes) for parameter in required)
    return any(producible.intersection(parameter.classes) for parameter in parameters)


def _mark_starting(parameters: tuple[ParameterPlan, ...]) -> None:
    """The single required ones; without any, the `list[E]`; without any, all (E3.1). A start event read in a call is
    never new, so it starts nothing.
    """
    for group in (Shape.SINGLE, Shape.LIST, None):
        found = [
            parameter
            for parameter in parameters
            if not parameter.read_only and (group is None or parameter.shape is group)
        ]
        if found:
            for parameter in found:
                parameter.starting = True
            return


def _watched(
    spec: StepSpec, parameters: tuple[ParameterPlan, ...], capability: type[Capability] | None
) -> tuple[WatchedParameter, ...]:
    signature = spec.precondition_signature()
    if signature is None:
        return ()
    renamed = capability.renamed if capability is not None else {}
    found: list[WatchedParameter] = []
    for parameter in signature.events:
        classes = tuple(renamed.get(cls, cls) for cls in parameter.classes)
        own = next((mine.index for mine in parameters if set(classes) & set(mine.classes)), None)
        found.append(WatchedParameter(parameter.name, classes, parameter.shape, own))
    return tuple(found)


def _mask(plan: ScopePlan, classes: Iterable[type[Event]]) -> Mask:
    found = 0
    for cls in classes:
        entry = plan.by_class.get(cls)
        if entry is not None:
            found |= entry.bit
    return found


def _fingerprint(scopes: tuple[ScopePlan, ...]) -> str:
    lines: list[str] = []
    for plan in scopes:
        request = plan.request.__name__ if plan.request else ""
        lines.append(f"scope {plan.name} {request}")
        for step in plan.steps:
            takes = ", ".join(f"{p.shape.value}:{'|'.join(c.__name__ for c in p.classes)}" for p in step.parameters)
            gives = "; ".join(
                " ".join(f"{output.cls.__name__}{'*' * output.many}" for output in outputs)
                for outputs in step.returns.alternatives
            )
            lines.append(f"{step.name}({takes}) -> {gives} {'?' * step.has_precondition}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
