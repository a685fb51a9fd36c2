"""How often executions have been tried, and how often their worker died under them (E7.2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from planwerk.workflow import entries as journal
from planwerk.workflow.ids import ExecutionId

MAX_CRASHES: Final = 3
"""Crashes of one execution after which its run ends with an error."""


@dataclass(slots=True)
class Attempt:
    """The last attempt of an execution that has not ended."""

    number: int = 1
    crashes: int = 0
    """Attempts of it that were at work when their worker died; one that was handed over, or failed, is none."""


def attempts_of(found: Iterable[journal.Entry]) -> dict[ExecutionId, Attempt]:
    """The open executions of a journal that its owner left, in order."""
    attempts: dict[ExecutionId, Attempt] = {}
    working: set[ExecutionId] = set()
    for entry in found:
        # The three of every step first, and without a match: thousands of them are folded.
        if isinstance(entry, journal.EventPublished):
            continue
        if isinstance(entry, journal.ExecutionDue):
            attempts[entry.execution] = Attempt()
            working.add(entry.execution)
            continue
        if isinstance(entry, journal.ExecutionFinished):
            attempts.pop(entry.execution, None)
            working.discard(entry.execution)
            continue
        match entry:
            case journal.ExecutionStarted(execution, number):
                attempts[execution].number = number
                working.add(execution)
            case journal.AttemptFailed(execution, number):
                attempts[execution].number = number
                working.discard(execution)
            case journal.ExecutionFailed(execution):
                attempts.pop(execution, None)
                working.discard(execution)
            case journal.OwnershipReleased():
                working.clear()
            case journal.OwnershipTaken():
                _crashed(attempts, working)
            case _:
                pass
    _crashed(attempts, working)
    return attempts


def _crashed(attempts: dict[ExecutionId, Attempt], working: set[ExecutionId]) -> None:
    for execution in working:
        attempts[execution].crashes += 1
    working.clear()
