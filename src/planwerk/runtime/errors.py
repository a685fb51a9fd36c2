"""Errors of the runtime.

PlanwerkError
└── RuntimeFault
    ├── JournalError
    │   ├── StaleVersion      another append came first
    │   ├── StaleFence        the lease has passed on
    │   └── UnknownRun        no journal of this id
    ├── RunLost               the run went to another worker
    ├── RunFailed             awaiting a result: the run ended with an error
    └── NotProvided           a step asks for a type no provider gives
"""

from __future__ import annotations

from planwerk.workflow.errors import PlanwerkError
from planwerk.workflow.events import ExceptionEvent


class RuntimeFault(PlanwerkError):
    """Something the runtime could not do."""

    code = "runtime_error"


class JournalError(RuntimeFault):
    """The journal refused an append or a read; nothing was written."""

    code = "journal_error"


class StaleVersion(JournalError):
    """Another append came first; nothing was written (E7.1)."""

    code = "stale_version"
    http_status = 409

    def __init__(self, run: str, *, expected: int, current: int) -> None:
        super().__init__(
            f"run {run} is at version {current}, but this append expects {expected} (E7.1).",
            what_to_do="Read what came since, and decide anew.",
        )
        self.run, self.expected, self.current = run, expected, current


class StaleFence(JournalError):
    """The caller's lease has passed to another worker; nothing was written (E7.3)."""

    code = "stale_fence"
    http_status = 409

    def __init__(self, run: str, *, carried: int, current: int) -> None:
        super().__init__(
            f"run {run} is owned under fence {current}, but this append carries {carried} (E7.3: one owner).",
            what_to_do="Drop the run: its new owner goes on from the journal.",
        )
        self.run, self.carried, self.current = run, carried, current


class UnknownRun(JournalError):
    """There is no run of this id here."""

    code = "run_not_found"
    http_status = 404

    def __init__(self, run: str) -> None:
        super().__init__(f"there is no run {run}.", what_to_do="Check the id; a run is listed once it is accepted.")
        self.run = run


class RunLost(RuntimeFault):
    """The run is no longer driven here: its lease passed on, or its journal could not be written."""

    code = "run_lost"

    def __init__(self, run: str, reason: str) -> None:
        super().__init__(f"run {run} is no longer driven here: {reason}.", what_to_do="Its next owner goes on with it.")
        self.run, self.reason = run, reason


class RunFailed(RuntimeFault):
    """The run whose result was awaited ended with an error; `event` says which."""

    def __init__(self, run: str, event: ExceptionEvent) -> None:
        super().__init__(event.message, what_to_do=event.what_to_do)
        self.run, self.event = run, event
        self.code = event.code  # pyright: ignore[reportAttributeAccessIssue] - the code of the run's own error
        self.http_status = event.http_status  # pyright: ignore[reportAttributeAccessIssue] - as above


class NotProvided(RuntimeFault):
    """A step asks for a type that no provider gives (E2.4)."""

    code = "not_provided"

    def __init__(self, parameter: str, annotation: object) -> None:
        name = getattr(annotation, "__name__", str(annotation))
        super().__init__(
            f"parameter {parameter} asks for {name}, which nobody provides (E2.4).",
            what_to_do="Register a provider for it: Planwerk(providers=[...]).",
        )
        self.parameter, self.annotation = parameter, annotation
