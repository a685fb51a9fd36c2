"""What a run has used so far, counted entry by entry."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from planwerk.workflow import entries as journal


class Tally:
    """Executions, model calls, tokens and cost of one run."""

    def __init__(self) -> None:
        self.executions = 0
        self.model_calls = 0
        self.usage: dict[str, int] = {}
        self.cost: Decimal | None = None
        self.active_microseconds = 0
        self._opened_at = 0

    def count(self, entry: journal.Entry) -> None:
        """Add one entry."""
        kind = type(entry)
        if kind is journal.ExecutionDue:
            self.executions += 1
        elif kind is journal.ModelCalled:
            self._model_called(entry)  # pyright: ignore[reportArgumentType] - narrowed by the class above
        elif kind is journal.RunOpened or kind is journal.RunEnded:
            self._opened_or_ended(entry)  # pyright: ignore[reportArgumentType] - narrowed by the class above

    def _model_called(self, call: journal.ModelCalled) -> None:
        self.model_calls += 1
        for name, number in call.usage.items():
            self.usage[name] = self.usage.get(name, 0) + number
        if call.cost is not None:
            self.cost = (self.cost or Decimal(0)) + Decimal(call.cost)

    def _opened_or_ended(self, entry: journal.RunOpened | journal.RunEnded) -> None:
        if isinstance(entry, journal.RunOpened):
            self._opened_at = entry.at
        else:
            self.active_microseconds = entry.at - self._opened_at

    def summary(self) -> dict[str, Any]:
        """The counts as JSON data, for lists of runs; tokens by kind, cost in USD as text."""
        return {
            "executions": self.executions,
            "model_calls": self.model_calls,
            "usage": dict(self.usage),
            "cost": str(self.cost) if self.cost is not None else None,
        }
