"""The base of every error of ours, and the errors of the workflow wing.

PlanwerkError
├── MalformedId
├── DefinitionError          a class or a step is defined wrongly; raised where it is defined
├── WorkflowError            a composed workflow breaks its obligations, or a run cannot go on
│   └── RunStalled
└── ScheduleError            the journal and the rules do not fit together
    ├── NotInFlight
    └── CodeChanged
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


class PlanwerkError(Exception):
    """An error with a stable `code`, a message that says what happened, and what to do now."""

    code: ClassVar[str] = "internal_error"
    http_status: ClassVar[int] = 500

    def __init__(self, message: str, *, what_to_do: str = "") -> None:
        super().__init__(f"{message} {what_to_do}".strip())
        self.message = message
        self.what_to_do = what_to_do


class MalformedId(PlanwerkError):
    """An id is not a UUIDv7 in lower-case text (E1.7)."""

    code = "malformed_id"
    http_status = 400

    def __init__(self, text: str, kind: str) -> None:
        super().__init__(
            f"{text[:60]!r} is not a {kind} id (E1.7: a UUIDv7 in lower case).",
            what_to_do="Make one with planwerk.workflow.ids.new_id(), or with any UUIDv7 library.",
        )
        self.text, self.kind = text, kind


class DefinitionError(PlanwerkError):
    """A class or a step is defined in a way that cannot work; raised while it is defined."""

    code = "definition_error"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a composed workflow: where, which obligation, what to do (E6.3)."""

    where: str
    obligation: str
    message: str
    remedy: str
    severity: str = "error"
    """`"error"` refuses the start; `"warning"` and `"note"` (what could not be proven) are printed only."""

    def __str__(self) -> str:
        return f"{self.where}: {self.message} ({self.obligation}) {self.remedy}"


class WorkflowError(PlanwerkError):
    """A workflow breaks its obligations; `problems` has them all (E6.3)."""

    code = "workflow_error"

    def __init__(self, message: str, problems: Sequence[Problem] = (), *, what_to_do: str = "") -> None:
        super().__init__(message, what_to_do=what_to_do)
        self.problems = tuple(problems)

    @classmethod
    def of(cls, blueprint: str, problems: Sequence[Problem]) -> WorkflowError:
        lines = "\n".join(f"  {number}. {problem}" for number, problem in enumerate(problems, 1))
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        return cls(f"{blueprint} has {count}:\n{lines}", problems)


class RunStalled(WorkflowError):
    """Nothing is active, no step is due and no stop was reached (E4.5); names who waits for what."""

    code = "run_stalled"


class ScheduleError(PlanwerkError):
    """The journal and the rules do not fit together."""

    code = "schedule_error"


class NotInFlight(ScheduleError):
    """An execution ended that is not in flight: one execution, one result (E7.2)."""

    code = "not_in_flight"

    def __init__(self, execution: str) -> None:
        super().__init__(f"execution {execution} is not in flight (E7.2: one execution, one result).")
        self.execution = execution


class CodeChanged(ScheduleError):
    """A recorded binding no longer fits the code (E7.6)."""

    code = "code_changed"
    http_status = 409

    def __init__(self, blueprint: str, position: int, difference: str) -> None:
        super().__init__(
            f"the code of {blueprint} has changed since the run was started, and the run does not fit it any more: "
            f"at position {position}, {difference} (E7.6).",
            what_to_do="Ask again; or serve the code that the run was started with.",
        )
        self.blueprint, self.position, self.difference = blueprint, position, difference
