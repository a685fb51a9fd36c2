"""Steps whose inputs may be paired otherwise than meant (E3.5).

Two that can each come more than once, and two of a loop of which one can come round without the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, permutations
from typing import Final

from planwerk.workflow.errors import Problem
from planwerk.workflow.plan import Mask, ParameterPlan, ScopePlan, StepPlan, bits
from planwerk.workflow.steps import Output

MOST_ROUNDS: Final = 5_000
"""Ways round a loop that are looked at for one step; what lies beyond is not reported."""


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
    if len(of_loop) < 2:
        return
    rounds = list(islice(_rounds(plan, step), MOST_ROUNDS))
    for alone, missing in permutations(of_loop, 2):
        if any(found & alone.class_mask and not found & missing.class_mask for found in rounds):
            yield Problem(
                f"{owner}.{step.spec.name}",
                "E3.5",
                f"{alone.name} can come round again without {missing.name}, and is then paired with the one before.",
                f"Carry {missing.name} in the event of {alone.name}, or make the part that belongs together a call.",
                severity="warning",
            )
            return


def _rounds(plan: ScopePlan, step: StepPlan) -> Iterator[Mask]:
    """What can come of one execution of the step until it is its turn again: one set of classes for each way."""
    todo = [(_masks_of(plan, outputs), 0, 0) for outputs in step.returns.alternatives]
    while todo:
        found, worked, answered = todo.pop()
        started = next((s for s in plan.steps if s is not step and not s.bit & worked and _starts(s, found)), None)
        request = next((c for c in plan.classes if c.bit & found and c.answers and not c.bit & answered), None)
        if started is not None:
            ways = started.returns.alternatives or ((),)
            todo += [(found | _masks_of(plan, outputs), worked | started.bit, answered) for outputs in ways]
        elif request is not None:
            ways = [plan.classes[number].bit for number in bits(request.answers)]
            todo += [(found | bit, worked, answered | request.bit) for bit in ways]
        else:
            yield found


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
