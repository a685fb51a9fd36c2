"""What a run has used so far, counted entry by entry."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from planwerk.workflow import entries as journal


class Tally:
    """Executions, model calls, tokens, cost and time of activity of one run."""

    def __init__(self) -> None:
        self.executions = 0
        self.model_calls = 0
        self.usage: dict[str, int] = {}
        self.cost: Decimal | None = None
        self.active_microseconds = 0
        """Time with an owner and something to do, up to the last entry counted: between a crash and the takeover nobody
        works, and a run that waits for people or timers does not either (E4.6)."""
        self._last_at: int | None = None
        self._working = 0
        """Executions in flight, as far as entries were counted."""
        self._asked = 0
        """Requests open to people, agents and timers."""

    def count(self, entry: journal.Entry) -> None:
        """Add one entry, the next of the journal."""
        kind = type(entry)
        at: int = getattr(entry, "at", 0)
        if at:
            last = self._last_at
            waits = self._asked > 0 and self._working == 0
            if last is not None and at > last and not waits and kind is not journal.OwnershipTaken:
                self.active_microseconds += at - last
            self._last_at = at
        if kind is journal.ExecutionDue:
            self.executions += 1
            self._working += 1
        elif kind is journal.ExecutionFinished or kind is journal.ExecutionFailed:
            self._working -= 1
        elif isinstance(entry, journal.EventPublished):
            if entry.answers is not None:
                self._asked -= not entry.discarded
            elif entry.event.answered_by:
                self._asked += not entry.discarded
        elif isinstance(entry, journal.ModelCalled):
            self.model_called(entry)

    def until(self, now: int) -> None:
        """Add the time since the last entry counted."""
        if self._last_at is not None:
            self.active_microseconds += max(now - self._last_at, 0)
        self._last_at = now

    def go_on(self, now: int) -> None:
        """Leave out the time since the last entry counted: the run waited for people or timers (E4.6)."""
        self._last_at = now

    def model_called(self, call: journal.ModelCalled) -> None:
        """Add a model call."""
        self.model_calls += 1
        for name, number in call.usage.items():
            self.usage[name] = self.usage.get(name, 0) + number
        if call.cost is not None:
            self.cost = (self.cost or Decimal(0)) + Decimal(call.cost)

    def summary(self) -> dict[str, Any]:
        """The counts as JSON data, for lists of runs; tokens by kind, cost in USD as text."""
        return {
            "executions": self.executions,
            "model_calls": self.model_calls,
            "usage": dict(self.usage),
            "cost": str(self.cost) if self.cost is not None else None,
            "active_seconds": self.active_microseconds / 1e6,
        }
