"""Schedules as people see them: the next times, and what became of the last ones (E8.3)."""

from __future__ import annotations

from itertools import islice
from typing import Final

from planwerk.runtime.occurrences import ScheduleInvalid, read_rule
from planwerk.runtime.ports import RunRecord
from planwerk.runtime.schedule_state import Occurrence
from planwerk.runtime.schedules import ProfileSchedule, start_of
from planwerk.runtime.scheduling import ScheduleStatus
from planwerk.runtime.wire import wire_time
from planwerk.server.shapes import OccurrenceView, ScheduleFailureView, ScheduleStatusView, ScheduleView
from planwerk.workflow.blueprint import Agent
from planwerk.workspace.rules.events import ErrorInfo

SHOWN_AHEAD: Final = 3


def schedule_view(schedule: ProfileSchedule, blueprint: type[Agent], now_microseconds: int) -> ScheduleView:
    """A schedule with the next times at which it is due."""
    ahead: list[int] = []
    problem = None
    try:
        rule = read_rule(schedule.cron, schedule.zone)
        start_of(schedule, blueprint)
        ahead = list(islice(rule.after(now_microseconds), SHOWN_AHEAD)) if schedule.enabled else []
    except ScheduleInvalid as error:
        problem = str(error)
    fields = schedule.model_dump(mode="json")
    return ScheduleView(**fields, next=[wire_time(at) for at in ahead], problem=problem)


def status_view(status: ScheduleStatus, locale: str, now_microseconds: int) -> ScheduleStatusView:
    """A schedule with what became of its last occurrences."""
    profile = status.profile
    return ScheduleStatusView(
        profile=profile.slug,
        profile_name=profile.data.name.text(locale),
        schedule=schedule_view(status.schedule, profile.blueprint, now_microseconds),
        recent=[_occurrence(each, status.records.get(each.run or "")) for each in status.state.recent],
    )


def _occurrence(occurrence: Occurrence, record: RunRecord | None) -> OccurrenceView:
    return OccurrenceView(
        time=wire_time(occurrence.at),
        outcome="started" if occurrence.outcome == "claimed" else occurrence.outcome,
        run=occurrence.run,
        status=record.status if record is not None else None,
        error=_error(record),
        by=occurrence.by,
        passed_over=occurrence.passed_over,
    )


def failure_view(status: ScheduleStatus, locale: str) -> ScheduleFailureView | None:
    """What waits for somebody to look at it; None where nothing does."""
    failures = status.failures
    if not failures:
        return None
    newest = failures[0]
    return ScheduleFailureView(
        profile=status.profile.slug,
        profile_name=status.profile.data.name.text(locale),
        run=newest.run or "",
        time=wire_time(newest.at),
        error=_error(status.records.get(newest.run or "")),
        failures=len(failures),
    )


def _error(record: RunRecord | None) -> ErrorInfo | None:
    return ErrorInfo.model_validate(record.error) if record is not None and record.error is not None else None
