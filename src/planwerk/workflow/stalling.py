"""What is said when a run cannot go on: who waits for what, and who could have sent it (E4.5, E5.2, E3.7)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planwerk.workflow.errors import RunStalled, WorkflowError
from planwerk.workflow.events import Event
from planwerk.workflow.plan import ParameterPlan, ScopePlan, StepPlan
from planwerk.workflow.scope import Scope
from planwerk.workflow.seen import Execution, Seen


class SecondOutcome(WorkflowError):
    """A call answered twice (E5.2)."""

    code = "second_outcome"

    def __init__(self, seen: Seen, scope: Scope) -> None:
        step = seen.execution.step.name if seen.execution is not None else "?"
        super().__init__(
            f"step {step} published {type(seen.event).__name__}, but the call {scope.path()} was answered before "
            "(E5.2: one outcome a call).",
            what_to_do="Let one step of the capability answer, or join its branches first.",
        )
        self.step, self.path = step, scope.path()


class TooManyExecutions(WorkflowError):
    """A step became due more often than it allows (E3.7)."""

    code = "too_many_executions"

    def __init__(self, execution: Execution, limit: int) -> None:
        super().__init__(
            f"step {execution.step.name} became due more than {limit} times (E3.7: max_executions_per_run).",
            what_to_do="Raise the limit if the work is meant to be that long; else look for a loop without an end.",
        )
        self.step, self.limit = execution.step.name, limit


def run_stalled(root: Scope, scopes: Iterable[Scope]) -> RunStalled:
    """The error of a run in which nothing is active, no step is due and no stop was reached."""
    waiting = [line for scope in scopes for line in who_waits(scope)]
    if not waiting:
        waiting = [f"no step of {root.plan.name or 'the blueprint'} waits for anything, and none has returned a stop"]
    return RunStalled(
        f"the run cannot go on (E4.5: no silent hang): {'; '.join(waiting)}.",
        what_to_do="Let each path end in a stop, or make the input that did not come optional.",
    )


def call_stalled(scope: Scope) -> RunStalled:
    """The error of a call that is quiet without an outcome it owes."""
    owed = " or ".join(cls.__name__ for cls in (*scope.plan.outcomes, *scope.plan.stops))
    waiting = "; ".join(who_waits(scope)) or "none of its steps waits for anything"
    return RunStalled(
        f"the call {scope.path()} ended without {owed} (E5.2: a call owes an outcome): {waiting}.",
        what_to_do="Let each path of the capability end in one of its outcomes.",
    )


def who_waits(scope: Scope) -> list[str]:
    """Each step that waits in a quiet scope: for which event, and who could have sent it.

    Where none does, those that could have ended it and were never started.
    """
    lines = [f"{held.step.name} is held back by its precondition (E3.6)" for held in scope.held]
    held_steps = {held.step.index for held in scope.held}
    for step in scope.plan.steps:
        if step.index in held_steps or not _has_something(scope, step):
            continue
        lines += [
            _waits_for(scope.plan, step, parameter)
            for parameter in step.parameters
            if parameter.is_single and not _has_event(scope, step, parameter)
        ]
    return lines or list(_never_started(scope))


def _never_started(scope: Scope) -> Iterator[str]:
    for step in scope.plan.steps:
        if not scope.started & step.bit and any(_ends(scope.plan, cls) for cls in step.returns.classes):
            waited = [parameter for parameter in step.parameters if parameter.starting]
            for parameter in waited:
                if not _has_event(scope, step, parameter):
                    yield _waits_for(scope.plan, step, parameter)


def _ends(plan: ScopePlan, cls: type[Event]) -> bool:
    kind = plan.by_class.get(cls)
    if kind is None:
        return False
    stops = (
        kind.call.stops if kind.call is not None else [c for c in plan.classes if c.bit & kind.answers and c.is_stop]
    )
    return kind.is_stop or kind.is_outcome or bool(stops)


def _waits_for(plan: ScopePlan, step: StepPlan, parameter: ParameterPlan) -> str:
    wanted = " or ".join(cls.__name__ for cls in parameter.classes)
    return f"{step.name} waits for {wanted} (parameter {parameter.name}), which {_senders(plan, parameter)}"


def _has_something(scope: Scope, step: StepPlan) -> bool:
    return any(key[0] == step.index and cell.new for key, cell in scope.cells.items())


def _has_event(scope: Scope, step: StepPlan, parameter: ParameterPlan) -> bool:
    return any(
        key[:2] == (step.index, parameter.index) and (cell.new or cell.last is not None)
        for key, cell in scope.cells.items()
    )


def _senders(plan: ScopePlan, parameter: ParameterPlan) -> str:
    if any(cls.from_outside for cls in parameter.classes):
        return "may never come: nobody has to send it into a run (S2.3)"
    names = [step.name for step in plan.steps if set(step.returns.classes) & set(parameter.classes)]
    names += [
        f"the call {entry.call.name}"
        for entry in plan.classes
        if entry.call is not None and set(entry.call.outcomes) & set(parameter.classes)
    ]
    return f"{' or '.join(names)} could have sent" if names else "no step sends"
