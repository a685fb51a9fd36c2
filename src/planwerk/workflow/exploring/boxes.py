"""What an abstract run is made of: calls as boxes, tokens for events, and what can still lead where (E6.4).

A *box* stands for a call: a request that any of the outcomes and stops found for its capability answers. That is
exact, since scopes share nothing but the start event. Of a class there are none, one or *many* events; many are as
many tokens as it takes to give each answer of a request many times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from planwerk.workflow.events import ControlEvent, Event, StopEvent
from planwerk.workflow.plan import ClassPlan, Mask, ScopePlan, StepPlan, bits

MANY: Final = 2
"""Tokens that stand for many events of one class, and for each answer of a request."""

ScopeKey = tuple[str, type[Event] | None]
Answers = Mapping[ScopeKey, tuple[type[Event], ...]]
"""Outcomes and stops found for each kind of call."""


@dataclass(frozen=True, slots=True)
class Ending:
    """One way an execution may end: the events it returns, each with whether there can be many.

    Attributes:
        because: Why it is no ordinary end: a list is empty, or without one of its classes; empty for ordinary ones.
    """

    outputs: tuple[tuple[type[Event], bool], ...]
    because: str = ""

    @property
    def is_stop(self) -> bool:
        return any(issubclass(cls, StopEvent) for cls, _ in self.outputs)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(cls.__name__ for cls, _ in self.outputs)


def key_of(plan: ScopePlan) -> ScopeKey:
    """What tells the plans of one composition apart."""
    return plan.name, plan.request


def boxed(plan: ScopePlan, answers: Answers) -> ScopePlan:
    """The plan with each call as a request that one of the outcomes or stops found for it answers."""
    classes = [replace(kind, call=None) for kind in plan.classes]
    by_class = {kind.cls: kind for kind in classes}
    for original in plan.classes:
        if original.call is None:
            continue
        box = by_class[original.cls]
        box.answers = 0
        for answer in answers.get(key_of(original.call)) or (*original.call.outcomes, *original.call.stops):
            if answer not in by_class:
                by_class[answer] = ClassPlan(len(classes), 1 << len(classes), answer, is_stop=True)
                classes.append(by_class[answer])
            box.answers |= by_class[answer].bit
    return replace(plan, classes=classes, by_class=by_class, possible_memo={})


def around(plan: ScopePlan, box: ScopePlan) -> ScopePlan:
    """A caller for a call that is explored on its own: it opens it, and takes none of its outcomes."""
    assert plan.request is not None
    named = dict.fromkeys([plan.start, plan.request, *plan.outcomes])
    classes = [ClassPlan(index, 1 << index, cls) for index, cls in enumerate(named)]
    by_class = {kind.cls: kind for kind in classes}
    request = by_class[plan.request]
    request.call = box
    for outcome in plan.outcomes:
        request.answers |= by_class[outcome].bit
    return ScopePlan("", plan.start, classes=classes, by_class=by_class)


class Reach:
    """Where work and arriving events of a boxed plan can still lead."""

    def __init__(self, plan: ScopePlan) -> None:
        self._plan = plan
        self.from_class = [self._closed(kind.bit) for kind in plan.classes]
        self.from_outside = 0
        """What can come of what may be brought in at any time (S2.3)."""
        for kind in plan.brought_in:
            self.from_outside |= self.from_class[kind.index]
        self.from_step = [self._closed(step.output_mask) for step in plan.steps]
        self.starting = [_named(step, starting=True) | _watched(plan, step) for step in plan.steps]
        """Classes that can start each step, or that its precondition reads."""
        self.reading = [_named(step, starting=False) | _watched(plan, step) for step in plan.steps]
        """All classes each step reads."""

    def _closed(self, classes: Mask) -> Mask:
        found = frontier = classes
        while frontier:
            reached = 0
            for number in bits(frontier):
                kind = self._plan.classes[number]
                reached |= kind.answers
                for taker in bits(kind.starts):
                    reached |= self._plan.steps[taker].output_mask
            frontier = reached & ~found
            found |= reached
        return found

    @cached_property
    def tokens(self) -> dict[type[Event], int]:
        """How many events of each class stand for many."""
        return {kind.cls: MANY * max(1, kind.answers.bit_count()) for kind in self._plan.classes}


def _named(step: StepPlan, *, starting: bool) -> Mask:
    found = 0
    for parameter in step.parameters:
        if parameter.starting or not starting:
            found |= parameter.class_mask
    return found


def _watched(plan: ScopePlan, step: StepPlan) -> Mask:
    found = 0
    for watched in step.watched:
        for cls in watched.classes:
            kind = plan.by_class.get(cls)
            found |= kind.bit if kind is not None else 0
    return found


def endings(step: StepPlan, *, partial_lists: bool) -> tuple[Ending, ...]:
    """The ways an execution of the step may end, each once.

    Args:
        partial_lists: Whether lists may also be empty, or without one of the classes they name.
    """
    found: dict[tuple[tuple[type[Event], bool], ...], Ending] = {}

    def add(outputs: Sequence[tuple[type[Event], bool]], because: str = "") -> None:
        found.setdefault(tuple(outputs), Ending(tuple(outputs), because))

    control = [
        [(output.cls, output.many) for output in alternative if issubclass(output.cls, ControlEvent)]
        for alternative in step.returns.alternatives
    ]
    for outputs in control:
        add(outputs)
    if not step.spec.stop_on_error:
        add([])
    for outputs in control if partial_lists else ():
        many = [cls for cls, is_many in outputs if is_many]
        if many:
            add([output for output in outputs if not output[1]], f"the list of {step.spec.name} is empty")
        for missing in many if len(many) > 1 else ():
            without = [output for output in outputs if output != (missing, True)]
            add(without, f"the list of {step.spec.name} has no {missing.__name__}")
    return tuple(found.values())
