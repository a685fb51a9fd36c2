"""What becomes of the occurrences of a schedule, as rules: which one is due, and what is kept of it (E8.3).

Theory of operation. A schedule's state says up to when occurrences have been decided on. Whoever looks decides on the
newest one since: it is *claimed* for a run, *skipped* because an earlier run has not ended, or *missed* because its
time is too long ago; earlier ones are passed over with it. The decision is stored by compare-and-set, so of all who
look at once one has decided; only then the run is opened, under an id made from the occurrence, and noted as
*started*. Whoever finds a claim without a run opens it. So an occurrence is run at most once, whatever dies in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

from planwerk.runtime.occurrences import Rule
from planwerk.workflow.ids import RunId, derived_id

Outcome = Literal["claimed", "started", "skipped", "missed"]

KEPT: Final = 20
"""Occurrences of which a schedule knows what became of them."""
PROMPT_MICROSECONDS: Final = 60_000_000
"""An occurrence this late is on time, whatever the window."""
CLOCK_BACK_MICROSECONDS: Final = 86_400_000_000
"""A clock that has gone back by more than this was wrong before: the schedule begins anew at the time it shows."""
SCHEDULE: Final = "schedule"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """What became of an occurrence, or of a start by hand. Times are microseconds since the epoch."""

    at: int
    outcome: Outcome
    decided: int
    run: str | None = None
    by: str | None = None
    """Name of the person who started it; None if its time had come."""
    passed_over: bool = False
    """Whether earlier ones were missed with it."""


@dataclass(frozen=True, slots=True)
class ScheduleState:
    """What is kept of a profile's schedule."""

    counts: str | None = None
    """Expression and zone whose occurrences are counted; None while it is paused or there is none."""
    through: int = 0
    """Occurrences up to this time have been decided on."""
    recent: tuple[Occurrence, ...] = ()
    """The newest first."""
    dismissed: int = 0
    """Failures of runs decided on up to this time have been put away by somebody."""

    @classmethod
    def read(cls, stored: Mapping[str, Any] | None) -> ScheduleState:
        """As it is stored; an empty one where nothing is."""
        data: dict[str, Any] = dict(stored or {})
        data["recent"] = tuple(Occurrence(**each) for each in data.get("recent", ()))
        return cls(**data)

    def write(self) -> dict[str, Any]:
        """As JSON data."""
        return asdict(self)

    def noted(self, occurrence: Occurrence) -> ScheduleState:
        """With an occurrence that has been decided on, in the place of an earlier decision on it."""
        others = (each for each in self.recent if each.run is None or each.run != occurrence.run)
        return replace(self, recent=(occurrence, *others)[:KEPT])

    def settled(self, claimed: Occurrence, became: Occurrence) -> ScheduleState:
        """With what became of a claimed occurrence; one that was settled before stays as it is."""
        recent = tuple(became if each == claimed else each for each in self.recent)
        return replace(self, recent=recent)


def counting(state: ScheduleState, counts: str | None, changed: int, now: int) -> ScheduleState:
    """The state for a schedule as it is now: one that is new, changed or taken up again counts from that change on.

    Args:
        counts: Expression and zone; None for a schedule that is paused or gone.
        changed: When the profile was last changed.
    """
    if state.through > now + CLOCK_BACK_MICROSECONDS:
        state = replace(state, through=now)
    if counts == state.counts:
        return state
    return replace(state, counts=counts, through=max(state.through, min(changed, now)))


def due(state: ScheduleState, rule: Rule, now: int) -> tuple[int, bool] | None:
    """The newest occurrence that is to be decided on, and whether earlier ones are passed over; None if none is."""
    at = rule.newest(state.through, now)
    return (at, rule.next_after(state.through) != at) if at is not None else None


def decided(
    state: ScheduleState, at: int, run: RunId, now: int, *, passed_over: bool, catch_up_seconds: float, is_free: bool
) -> ScheduleState:
    """The state after the decision on an occurrence.

    Args:
        run: Id of the run that it is for.
        catch_up_seconds: How late it may be.
        is_free: Whether it may run beside what still runs.
    """
    outcome: Outcome = "claimed" if is_free else "skipped"
    if is_late(at, now, catch_up_seconds):
        outcome = "missed"
    found = Occurrence(at, outcome, now, run if outcome == "claimed" else None, passed_over=passed_over)
    return replace(state.noted(found), through=at)


def is_late(at: int, now: int, catch_up_seconds: float) -> bool:
    """Whether an occurrence is too long ago to be run."""
    return now - at > max(round(catch_up_seconds * 1e6), PROMPT_MICROSECONDS)


def run_of(profile: str, at: int) -> RunId:
    """The id of an occurrence's run: the same, whoever opens it and however often."""
    return RunId(derived_id(profile, SCHEDULE, str(at)))
