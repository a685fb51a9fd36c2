"""Which step a line of the log belongs to; tenant, run and thread are bound for as long as the run is driven (S6.2)."""

from __future__ import annotations

from collections.abc import MutableMapping
from contextvars import ContextVar
from typing import Any, Final

from structlog.contextvars import bind_contextvars

from planwerk.workflow import entries as journal

STEP: Final[ContextVar[str]] = ContextVar("planwerk_step")
"""Full name of the step that works in this task; a variable of its own, because it is set for every execution."""


def log_as(opened: journal.RunOpened) -> None:
    """Give every line logged while this run is driven the ids it belongs to."""
    ids = {"tenant": opened.tenant, "run": opened.run, "thread": opened.thread}
    bind_contextvars(**{name: value for name, value in ids.items() if value is not None})


def add_step(logger: Any, method: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: name the step that logs."""
    step = STEP.get(None)
    if step is not None:
        line.setdefault("step", step)
    return line
