"""Steps whose inputs may be paired otherwise than meant: two that can each come more than once (E3.5)."""

from __future__ import annotations

from collections.abc import Iterator

from planwerk.workflow.errors import Problem
from planwerk.workflow.plan import Mask, ParameterPlan, ScopePlan, StepPlan, bits


def pair_warnings(plan: ScopePlan, owner: str) -> Iterator[Problem]:
    """Steps with two starting inputs that can each come more than once (of a loop: more than once in a round)."""
    for step in plan.steps:
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


def _repeats(plan: ScopePlan, step: StepPlan, parameter: ParameterPlan) -> bool:
    return bool(parameter.class_mask & _repeated_classes(plan, avoided=step))


def _repeated_classes(plan: ScopePlan, *, avoided: StepPlan) -> Mask:
    """Classes of which a scope can see several without the step between them."""
    found = 0
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
