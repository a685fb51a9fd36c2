"""How runs end: the stops the driver makes itself, what is journaled of errors, and ends of runs that cannot go on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import Final, Literal

from planwerk.runtime.tally import Tally
from planwerk.workflow import entries as journal
from planwerk.workflow.errors import PlanwerkError, WorkflowError
from planwerk.workflow.events import Event, ExceptionEvent, StopEvent
from planwerk.workflow.ids import ExecutionId
from planwerk.workflow.journal_text import write_entries

log = logging.getLogger(__name__)

CANCEL_SECONDS: Final = 1.0
"""How long a cancelled step may take to end before it is abandoned (E4.6)."""

RunEndStatus = Literal["completed", "failed", "stopped"]


class DeadlineExceeded(WorkflowError):
    """The run worked longer than it may (E4.6)."""

    code = "run_deadline_exceeded"
    http_status = 504

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"the run worked longer than {seconds:g} s (E4.6).",
            what_to_do="Raise the profile's limit if the work is meant to take that long.",
        )


class PoisonStep(WorkflowError):
    """A step was in flight each time the process died (E7.2)."""

    code = "poison_step"

    def __init__(self, step: str, crashes: int) -> None:
        super().__init__(
            f"step {step} was in flight at {crashes} crashes of a worker (E7.2).",
            what_to_do="Look at what the step does to its process; then start the run anew.",
        )
        self.step = step


class EventUnwritable(WorkflowError):
    """A step returned or showed an event whose fields cannot be written as JSON (E1.5)."""

    code = "event_unwritable"

    def __init__(self, event: str, reason: str) -> None:
        super().__init__(
            f"event {event} cannot be written to the journal (E1.5): {reason}.",
            what_to_do="Give its fields types that Pydantic can write as JSON, and values of these types.",
        )


def stopped_by(who: str) -> ExceptionEvent:
    """The stop of a run that somebody stopped."""
    return ExceptionEvent(code="run_stopped", message=f"The run was stopped by {who}.", http_status=409)


def outcome_of(stop: Event) -> tuple[RunEndStatus, journal.ErrorInfo | None]:
    """How a run ends that reached this stop."""
    if not isinstance(stop, ExceptionEvent):
        return "completed", None
    info = journal.ErrorInfo(stop.code, stop.message, stop.what_to_do, stop.error_type, stop.http_status)
    return ("stopped" if stop.code == "run_stopped" else "failed"), info


def exception_event(info: journal.ErrorInfo, step: str | None = None) -> ExceptionEvent:
    """The stop of a run that failed with this error."""
    return ExceptionEvent(
        code=info.code,
        message=info.message,
        what_to_do=info.what_to_do,
        step=step,
        error_type=info.error_type,
        http_status=info.http_status,
    )


def error_info(error: BaseException) -> journal.ErrorInfo:
    """What is journaled of an error: our own with their code, others as `step_failed`."""
    if isinstance(error, PlanwerkError):
        return journal.ErrorInfo(error.code, error.message, error.what_to_do, type(error).__name__, error.http_status)
    text = str(error) or type(error).__name__
    return journal.ErrorInfo("step_failed", text[:2000], "", type(error).__name__, 500)


def cancelled() -> journal.ErrorInfo:
    """Of an execution that was cancelled when the run ended."""
    return journal.ErrorInfo("cancelled", "The step was cancelled.", error_type="CancelledError", http_status=409)


async def cancel_all(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel tasks and wait for them; one that does not end in time is abandoned."""
    pending = [task for task in tasks if not task.done() and task is not asyncio.current_task()]
    for task in pending:
        task.cancel()
    if pending:
        _, abandoned = await asyncio.wait(pending, timeout=CANCEL_SECONDS)
        for task in abandoned:
            log.warning("a cancelled step did not end within %g s and is abandoned: %r", CANCEL_SECONDS, task)


def closing_entries(found: Sequence[journal.Entry], stop: ExceptionEvent, now: int) -> list[journal.Entry]:
    """Entries that end a run which cannot go on; a stop it had reached before stays its stop.

    Args:
        found: The whole journal.
        stop: Why the run ends.
    """
    tally = Tally()
    open_executions: dict[ExecutionId, None] = {}
    reached: Event | None = None
    for entry in found:
        tally.count(entry)
        match entry:
            case journal.ExecutionDue(execution):
                open_executions[execution] = None
            case journal.ExecutionFinished(execution) | journal.ExecutionFailed(execution):
                open_executions.pop(execution, None)
            case journal.EventPublished(event) if reached is None and isinstance(event, StopEvent):
                reached = event
            case _:
                pass
    entries: list[journal.Entry] = []
    if reached is None:
        reached = stop
        entries = [journal.EventPublished(stop, journal.BY_POSITION, now), journal.StopReached(len(found) + 1, now)]
    entries += [journal.ExecutionFailed(execution, now, cancelled()) for execution in open_executions]
    status, info = outcome_of(reached)
    entries.append(ended := journal.RunEnded(status, now, info))
    tally.count(ended)
    ended.summary = tally.summary()
    return entries


def find_unwritable(entries: Iterable[journal.Entry]) -> EventUnwritable | None:
    """The first event that cannot be written, where an append of these entries failed."""
    for entry in entries:
        if isinstance(entry, journal.EventPublished):
            try:
                write_entries([entry]).encode()
            except Exception as error:
                return EventUnwritable(entry.event.event_type, str(error)[:500])
    return None
