"""How often executions have been tried, how often their worker died, when they are tried again (E4.4, E7.2)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from planwerk.workflow import entries as journal
from planwerk.workflow.ids import ExecutionId
from planwerk.workflow.steps import Retry

MAX_CRASHES: Final = 3
"""Crashes of one execution after which its run ends with an error."""
DOUBLINGS: Final = 30
"""So often a wait is doubled at most: twice as often, and no number holds it."""


@dataclass(slots=True)
class Attempt:
    """The last attempt of an execution that has not ended."""

    number: int = 1
    crashes: int = 0
    """Attempts of it that were at work when their worker died; one that was handed over, or failed, is none."""
    failures: int = 0
    """Attempts of it that raised; those of which its worker died use up no retry."""
    retry_at: journal.Microseconds = 0
    """When the next one is to begin; 0 where the last has not failed."""


def wait_seconds(retry: Retry, failures: int, execution: str) -> float:
    """How long to wait after so many failures: twice as long each time, and up to a tenth more.

    The share more is drawn from the execution's id: the same whoever asks, and another for what failed beside it.
    """
    spread = int.from_bytes(hashlib.blake2b(f"{execution} {failures}".encode(), digest_size=4).digest()) / 2**32
    return retry.backoff_seconds * 2 ** min(failures - 1, DOUBLINGS) * (1 + spread / 10)


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
                attempts[execution].number, attempts[execution].retry_at = number, 0
                working.add(execution)
            case journal.AttemptFailed(execution, number, retry_at=retry_at):
                last = attempts[execution]
                last.number, last.failures, last.retry_at = number, last.failures + 1, retry_at
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
