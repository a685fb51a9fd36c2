"""When an input is settled: who can still bring it an event, as masks computed once per plan (E3.2, E3.9)."""

from __future__ import annotations

from planwerk.workflow.plan import Mask, ParameterPlan, ScopePlan, StepPlan, bits


def prepare(plan: ScopePlan) -> None:
    """Fill the masks of a plan whose steps, classes and calls are known."""
    for step in plan.steps:
        _mark_loop(plan, step)
    tracked = [step for step in plan.steps if _needs_rounds(step)]
    for place, step in enumerate(tracked):
        step.tracked = place
    plan.tracked = tuple(tracked)
    for step in plan.steps:
        for parameter in step.parameters:
            parameter.same_steps, parameter.same_arrivals = _leading_to(plan, parameter.class_mask, step)
            if step.tracked < 0 and not parameter.is_single and not parameter.read_only:
                step.awaited_steps |= parameter.same_steps
        _widen_for_earlier_rounds(step)
    _prepare_outcomes(plan)
    plan.lone = tuple(step for step in plan.steps if step.is_lone)


def _mark_loop(plan: ScopePlan, step: StepPlan) -> None:
    """A parameter is of the loop when the step's outputs lead to its class, through any parameter of any step."""
    reached = _with_answers(plan, step.output_mask)
    frontier = reached
    while frontier:
        found = 0
        for number in bits(frontier):
            for reader in bits(plan.classes[number].read_by):
                found |= plan.steps[reader].output_mask
        frontier = _with_answers(plan, found) & ~reached
        reached |= frontier
    for parameter in step.parameters:
        parameter.of_loop = not parameter.read_only and bool(parameter.class_mask & reached)


def _with_answers(plan: ScopePlan, classes: Mask) -> Mask:
    found = classes
    for number in bits(classes):
        found |= plan.classes[number].answers
    return found


def _needs_rounds(step: StepPlan) -> bool:
    looping = [parameter for parameter in step.parameters if parameter.of_loop]
    return bool(looping) and (len(step.parameters) > 1 or not looping[0].is_single)


def _leading_to(plan: ScopePlan, targets: Mask, avoided: StepPlan) -> tuple[Mask, Mask]:
    """Steps and classes from which the target classes can be reached without passing through a step."""
    classes, steps = targets, 0
    while True:
        before = (classes, steps)
        for step in plan.steps:
            if step is not avoided and step.output_mask & classes:
                steps |= step.bit
        for candidate in plan.classes:
            if candidate.starts & steps or candidate.answers & classes:
                classes |= candidate.bit
        if (classes, steps) == before:
            return steps, classes


def _widen_for_earlier_rounds(step: StepPlan) -> None:
    starting_steps = starting_arrivals = 0
    for parameter in step.parameters:
        if parameter.starting:
            starting_steps |= parameter.same_steps
            starting_arrivals |= parameter.same_arrivals
    for parameter in step.parameters:
        through_step = parameter.of_loop
        parameter.earlier_steps = parameter.same_steps | (starting_steps if through_step else 0)
        parameter.earlier_arrivals = parameter.same_arrivals | (starting_arrivals if through_step else 0)


def _prepare_outcomes(plan: ScopePlan) -> None:
    """Which outcomes of the scope each step and each arriving class can still lead to."""
    for candidate in plan.classes:
        candidate.outcomes = candidate.bit if candidate.is_outcome else 0
    changed = True
    while changed:
        changed = False
        for step in plan.steps:
            found = _outcomes_of(plan, step.output_mask)
            changed |= found != step.outcomes
            step.outcomes = found
        for candidate in plan.classes:
            found = candidate.outcomes | _outcomes_of(plan, candidate.answers)
            for number in bits(candidate.starts):
                found |= plan.steps[number].outcomes
            changed |= found != candidate.outcomes
            candidate.outcomes = found


def _outcomes_of(plan: ScopePlan, classes: Mask) -> Mask:
    found = 0
    for number in bits(classes):
        found |= plan.classes[number].outcomes
    return found


def must_settle(parameter: ParameterPlan, *, has_new: bool) -> bool:
    """Whether a due step waits for this parameter: optional and list ones always, a required one that would repeat
    an event from outside the step's loops, other required ones never (E3.2).
    """
    if parameter.read_only:
        return False
    return not parameter.is_single or not (has_new or parameter.of_loop)
