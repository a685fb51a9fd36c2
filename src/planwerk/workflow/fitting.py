"""Whether the journal of a run fits the workflow that is here now, where the code has changed since (E7.6).

A run goes on with changed code only if each binding it has recorded could still be made: the step is there, with as
many inputs, and each takes the class it took. What has been added since does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence

from planwerk.workflow import entries as journal
from planwerk.workflow.codec import wire_type
from planwerk.workflow.errors import CodeChanged, PlanwerkError
from planwerk.workflow.events import ControlEvent, Event
from planwerk.workflow.plan import Composition, ParameterPlan, StepPlan
from planwerk.workflow.schedule import RunSchedule
from planwerk.workflow.scope import Scope

Recorded = journal.ExecutionDue | journal.PreconditionAnswered


def changed_fingerprint(entries: Sequence[journal.Entry], composition: Composition) -> str | None:
    """The workflow's fingerprint, if it is not the one the run was driven with last; else None."""
    last = ""
    for entry in entries:
        match entry:
            case journal.RunOpened() | journal.OwnershipTaken(fingerprint=str()):
                last = entry.fingerprint or ""
            case _:
                pass
    return composition.fingerprint if last != composition.fingerprint else None


def refuse_misfit(entries: Sequence[journal.Entry], composition: Composition) -> None:
    """Return if the run can go on with this workflow.

    Args:
        entries: The whole journal.

    Raises:
        CodeChanged: It cannot; names the first entry that does not fit: which step, and which binding of it.
    """
    schedule = RunSchedule(composition)
    classes: dict[int, type[Event]] = {}
    for position, entry in enumerate(entries, start=1):
        difference = _difference(schedule, entry, classes)
        if difference is None:
            try:
                schedule.apply(entry)
            except PlanwerkError as error:
                difference = error.message.rstrip(".")
        if difference is not None:
            raise CodeChanged(composition.blueprint.__name__, position, difference)
        if isinstance(entry, journal.EventPublished):
            classes[position] = type(entry.event)


def _difference(schedule: RunSchedule, entry: journal.Entry, classes: dict[int, type[Event]]) -> str | None:
    match entry:
        case journal.ExecutionDue() | journal.PreconditionAnswered():
            return _binding_difference(schedule, entry, classes)
        case journal.EventPublished(event, execution=str() as execution) if isinstance(event, ControlEvent):
            made = schedule.in_flight.get(execution)
            if made is None or entry.shown or entry.discarded or type(event) in made.scope.plan.by_class:
                return None
            return f"step {made.step.name} returned {wire_type(event)}, which it does not return any more"
        case _:
            return None


def _binding_difference(schedule: RunSchedule, entry: Recorded, classes: dict[int, type[Event]]) -> str | None:
    scope = _scope(schedule, entry.scope)
    if scope is None:
        request = classes.get(entry.scope)
        name = request.__name__ if request is not None else "the event"
        return f"step {entry.step} was due in the call that {name} ({entry.scope}) opened, and it opens none any more"
    step = next((step for step in scope.plan.steps if step.name == entry.step), None)
    if step is None:
        return f"step {entry.step} was due, and there is no such step any more"
    if len(entry.binding) != len(step.parameters):
        now = ", ".join(parameter.name for parameter in step.parameters)
        return f"step {entry.step} took {_inputs(entry.binding)}, and has {len(step.parameters)} inputs now: {now}"
    for parameter, positions in zip(step.parameters, entry.binding, strict=True):
        difference = _input_difference(step, parameter, positions, classes)
        if difference is not None:
            return difference
    return None


def _input_difference(
    step: StepPlan, parameter: ParameterPlan, positions: tuple[int, ...], classes: dict[int, type[Event]]
) -> str | None:
    wanted = " or ".join(cls.__name__ for cls in parameter.classes)
    for position in positions:
        cls = classes.get(position)
        if cls not in parameter.classes:
            found = cls.__name__ if cls is not None else "no event"
            return f"step {step.name} took {found} ({position}) as {parameter.name}, which takes {wanted} now"
    if not parameter.is_list and len(positions) > 1:
        return f"step {step.name} took {len(positions)} events as {parameter.name}, which takes one {wanted} now"
    if parameter.is_single and not positions:
        return f"step {step.name} took nothing as {parameter.name}, which needs {wanted} now"
    return None


def _scope(schedule: RunSchedule, position: int) -> Scope | None:
    return next((scope for scope in schedule.open_scopes() if scope.position == position), None)


def _inputs(binding: journal.Binding) -> str:
    return "1 input" if len(binding) == 1 else f"{len(binding)} inputs"
