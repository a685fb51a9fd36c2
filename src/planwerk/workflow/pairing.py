"""Steps whose inputs may be paired otherwise than meant (E3.5).

Two that can each come more than once, and two of a loop of which one can come round without the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import permutations

from planwerk.workflow.errors import Problem
from planwerk.workflow.plan import ClassPlan, Mask, ParameterPlan, ScopePlan, StepPlan, bits
from planwerk.workflow.steps import Output


def pair_warnings(plan: ScopePlan, owner: str) -> Iterator[Problem]:
    """The two warnings, step by step."""
    for step in plan.steps:
        yield from _both_repeat(plan, step, owner)
        yield from _one_comes_alone(plan, step, owner)


def _both_repeat(plan: ScopePlan, step: StepPlan, owner: str) -> Iterator[Problem]:
    """Two starting inputs that can each come more than once (of a loop: more than once in a round)."""
    starting = [parameter for parameter in step.parameters if parameter.starting and parameter.is_single]
    repeating = [parameter for parameter in starting if _repeats(plan, step, parameter)]
    if len(repeating) > 1:
        names = " and ".join(parameter.name for parameter in repeating[:2])
        yield Problem(
            f"{owner}.{step.spec.name}",
            "E3.5",
            f"{names} can each come more than once, and are paired as they come: oldest new with oldest new.",
            "Carry one in the other's event, or make the part that belongs together a call.",
            severity="warning",
        )


def _one_comes_alone(plan: ScopePlan, step: StepPlan, owner: str) -> Iterator[Problem]:
    """Two required inputs of the step's loop: where one comes round alone, the other is bound a second time."""
    of_loop = [parameter for parameter in step.parameters if parameter.is_single and parameter.of_loop]
    for alone, missing in permutations(of_loop, 2):
        if _Round(plan, step, missing.class_mask).can_bring(alone.class_mask):
            yield Problem(
                f"{owner}.{step.spec.name}",
                "E3.5",
                f"{alone.name} can come round again without {missing.name}, and is then paired with the one before.",
                f"Carry {missing.name} in the event of {alone.name}, or make the part that belongs together a call.",
                severity="warning",
            )
            return


class _Round:
    """What can come of one execution of a step, until it is its turn again, without any of the missing classes.

    A class is *safe* when all that it starts can go on without them, and a step when one of its alternatives can.
    """

    def __init__(self, plan: ScopePlan, step: StepPlan, missing: Mask) -> None:
        self._plan = plan
        self._step = step
        self._others = [other for other in plan.steps if other is not step]
        self._unsafe = missing
        while True:
            before = self._unsafe
            for kind in plan.classes:
                if not kind.bit & before and not self._is_safe(kind):
                    self._unsafe |= kind.bit
            if self._unsafe == before:
                break

    def can_bring(self, wanted: Mask) -> bool:
        """Whether one of the wanted classes is among what the step can lead to by safe ways alone."""
        found = self._safely_returned(self._step) or 0
        while True:
            before = found
            for number in bits(found):
                found |= self._plan.classes[number].answers & ~self._unsafe
            for other in self._others:
                if _starts(other, found):
                    found |= self._safely_returned(other) or 0
            if found == before:
                return bool(found & wanted)

    def _is_safe(self, kind: ClassPlan) -> bool:
        if kind.answers and not kind.answers & ~self._unsafe:
            return False
        started = [other for other in self._others if _starts(other, kind.bit)]
        return all(self._safely_returned(other) is not None for other in started)

    def _safely_returned(self, step: StepPlan) -> Mask | None:
        """The classes of the alternatives that bring nothing unsafe; None where there is none. What stands in a list
        may be missing from it.
        """
        found: Mask | None = None
        for outputs in step.returns.alternatives if step.spec.stop_on_error else (*step.returns.alternatives, ()):
            fixed = _masks_of(self._plan, [output for output in outputs if not output.many])
            if not fixed & self._unsafe:
                found = (found or 0) | (_masks_of(self._plan, outputs) & ~self._unsafe)
        return found


def _starts(step: StepPlan, found: Mask) -> bool:
    return any(parameter.starting and parameter.class_mask & found for parameter in step.parameters)


def _masks_of(plan: ScopePlan, outputs: Iterable[Output]) -> Mask:
    found = 0
    for output in outputs:
        kind = plan.by_class.get(output.cls)
        found |= kind.bit if kind is not None else 0
    return found


def _repeats(plan: ScopePlan, step: StepPlan, parameter: ParameterPlan) -> bool:
    return bool(parameter.class_mask & _repeated_classes(plan, avoided=step))


def _repeated_classes(plan: ScopePlan, *, avoided: StepPlan) -> Mask:
    """Classes of which a scope can see several without the step between them."""
    found = 0
    for kind in plan.brought_in:
        found |= kind.bit
    others = [step for step in plan.steps if step is not avoided]
    for step in others:
        found |= _several(plan, step)
        if step.output_mask & _leading_back(plan, step, avoided):
            found |= step.output_mask
    while True:
        before = found
        for number in bits(found):
            found |= plan.classes[number].answers
        for step in others:
            starting = 0
            for parameter in step.parameters:
                if parameter.starting and not parameter.is_list:
                    starting |= parameter.class_mask
            if starting & found:
                found |= step.output_mask
        if found == before:
            return found


def _several(plan: ScopePlan, step: StepPlan) -> Mask:
    """Classes of which one execution of the step can return several."""
    found = 0
    for outputs in step.returns.alternatives:
        seen = 0
        for output in outputs:
            kind = plan.by_class.get(output.cls)
            bit = kind.bit if kind is not None else 0
            if output.many or seen & bit:
                found |= bit
            seen |= bit
    return found


def _leading_back(plan: ScopePlan, step: StepPlan, avoided: StepPlan) -> Mask:
    """Classes from which the step can be started again without passing through the avoided one."""
    classes, steps = 0, step.bit
    while True:
        before = (classes, steps)
        for kind in plan.classes:
            if kind.starts & steps or kind.answers & classes:
                classes |= kind.bit
        for other in plan.steps:
            if other is not avoided and other is not step and other.output_mask & classes:
                steps |= other.bit
        if (classes, steps) == before:
            return classes
