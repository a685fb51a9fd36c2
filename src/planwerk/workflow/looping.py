"""Loops that nothing limits (E6.4): steps that can start each other again, none of which counts its executions."""

from __future__ import annotations

from collections.abc import Iterator

from planwerk.workflow.errors import Problem
from planwerk.workflow.plan import Mask, ScopePlan, StepPlan, bits


def loop_warnings(plan: ScopePlan, owner: str) -> Iterator[Problem]:
    """One warning for each set of steps that can go round without a limit."""
    free = [step for step in plan.steps if step.spec.max_executions_per_run is None]
    after = {step.index: _after(plan, step, free) for step in free}
    told: Mask = 0
    for step in free:
        round_it = [other for other in free if after[step.index] & other.bit and after[other.index] & step.bit]
        if not round_it or step.bit & told:
            continue
        for other in round_it:
            told |= other.bit
        names = " → ".join(other.spec.name for other in (*round_it, round_it[0]))
        yield Problem(
            f"{owner}.{step.spec.name}",
            "E3.7",
            f"a loop without a limit: {names} can go round for ever.",
            "Give one of its steps max_executions_per_run.",
            severity="warning",
        )


def _after(plan: ScopePlan, step: StepPlan, free: list[StepPlan]) -> Mask:
    """The steps without a limit that work of this one can lead to, through no step with one."""
    allowed = 0
    for other in free:
        allowed |= other.bit
    steps, frontier = 0, step.output_mask
    classes = frontier
    while frontier:
        reached = 0
        for number in bits(frontier):
            kind = plan.classes[number]
            reached |= kind.answers
            for taker in bits(kind.starts & allowed & ~steps):
                steps |= 1 << taker
                reached |= plan.steps[taker].output_mask
        frontier = reached & ~classes
        classes |= reached
    return steps
