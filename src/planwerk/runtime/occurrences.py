"""When a schedule is due: a cron expression of five fields by the clocks of a time zone (E8.3).

The expression is read by `cronsim`, which follows the cron of Debian. An hour field that begins with `*` goes by the
time that passes: a job of every hour runs 25 times on the day on which clocks go back. Every other hour is an hour of
the clock: one that clocks leave out is due once, right after the gap, and one they show twice is due the first time.
"""

from __future__ import annotations

import difflib
import zoneinfo
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from cronsim import CronSim, CronSimError

from planwerk.runtime.errors import RuntimeFault

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
SOME_DAY: Final = datetime(2024, 1, 1)
FIELDS: Final = ("minute", "hour", "day-of-month", "month", "day-of-week")
DAY_MINUTES: Final = 24 * 60
LOOK_BACK_DAYS: Final = (1 / 24, 1, 31, 366)
"""How far back the newest occurrence is looked for, step by step, before all that is left."""


class ScheduleInvalid(RuntimeFault):
    """A profile's schedule cannot be kept."""

    code = "schedule_invalid"
    http_status = 422


class CronInvalid(ScheduleInvalid):
    """The expression is none of five fields."""

    code = "cron_invalid"

    def __init__(self, cron: str, reason: str) -> None:
        super().__init__(
            f"{cron[:100]!r} is no cron expression: {reason} (E8.3).",
            what_to_do='Give minute, hour, day of the month, month and day of the week, such as "0 7 * * MON-FRI" for '
            "every weekday at 7:00.",
        )


class CronNeverDue(ScheduleInvalid):
    """The expression names a date that no year has."""

    code = "cron_never_due"

    def __init__(self, cron: str) -> None:
        super().__init__(
            f"{cron[:100]!r} is never due: none of its months has that day (E8.3).",
            what_to_do='Choose a day that there is; "L" as the day of the month is its last.',
        )


class ZoneUnknown(ScheduleInvalid):
    """There is no time zone of this name."""

    code = "zone_unknown"

    def __init__(self, zone: str) -> None:
        known = {name.lower(): name for name in zoneinfo.available_timezones()}
        near = difflib.get_close_matches(zone[:100].lower(), known, n=3, cutoff=0.5)
        meant = " or ".join(known[name] for name in near) or "a name such as Europe/Zurich or UTC"
        super().__init__(f"there is no time zone {zone[:100]!r} (E8.3).", what_to_do=f"Use {meant}.")


class ScheduleTooOften(ScheduleInvalid):
    """The schedule is due more often than this installation allows."""

    code = "schedule_too_often"

    def __init__(self, cron: str, *, found_seconds: int, least_seconds: float) -> None:
        super().__init__(
            f"{cron!r} is due every {found_seconds} s at its densest, and {least_seconds:g} s have to lie between two "
            "runs (E8.3).",
            what_to_do="Let it run less often, or lower the setting schedule_min_seconds.",
        )


@dataclass(frozen=True, slots=True)
class Rule:
    """An expression with its zone; `read_rule` makes one that is valid. Times are microseconds since the epoch."""

    cron: str
    zone: zoneinfo.ZoneInfo

    def after(self, moment: int) -> Iterator[int]:
        """The occurrences after a moment, earliest first, each once; an end comes where none is left in 50 years."""
        latest = moment
        occurrences = CronSim(_by_the_clock(self.cron), (EPOCH + timedelta(microseconds=moment)).astimezone(self.zone))
        while True:
            try:
                found = next(occurrences)
            except StopIteration:
                return
            at = (found.astimezone(UTC) - EPOCH) // timedelta(microseconds=1)
            if at > latest:  # what a gap puts together is one, and an hour that comes twice has been
                latest = at
                yield at

    def next_after(self, moment: int) -> int | None:
        """The first occurrence after a moment; None if there is none."""
        return next(self.after(moment), None)

    def newest(self, after: int, until: int) -> int | None:
        """The last occurrence after one moment and up to another, that one included; None if there is none."""
        begins = [max(after, until - round(days * 86_400e6)) for days in LOOK_BACK_DAYS]
        for begin in [*begins, after]:
            found = None
            for at in self.after(begin):
                if at > until:
                    break
                found = at
            if found is not None or begin == after:
                return found
        return None

    @property
    def shortest_seconds(self) -> int:
        """The least time between two occurrences, by the clock; a day where it is due once on a day."""
        parsed = CronSim(self.cron, SOME_DAY)
        minutes = sorted(60 * hour + minute for hour in parsed.hours for minute in parsed.minutes)
        following = [*minutes[1:], minutes[0] + DAY_MINUTES]
        return 60 * min(later - earlier for earlier, later in zip(minutes, following, strict=True))


def read_rule(cron: str, zone: str) -> Rule:
    """The rule of an expression and a zone by its IANA name.

    Raises:
        CronInvalid: The expression is none of five fields.
        CronNeverDue: It names a date that no year has.
        ZoneUnknown: There is no such zone.
    """
    fields = cron.split()
    if len(fields) != len(FIELDS):
        raise CronInvalid(cron, f"it has {len(fields)} fields, and {len(FIELDS)} are needed")
    if not _is_readable(cron):
        _, _, *days = fields
        if _is_readable(" ".join(("0 0", days[0], "*", days[2]))) and _is_readable(
            f"{' '.join(fields[:2])} * {days[1]} *"
        ):
            raise CronNeverDue(cron)
        wrong = [name for place, name in enumerate(FIELDS) if not _is_readable(_alone(fields[place], place))]
        raise CronInvalid(cron, f"the {' and the '.join(wrong)} cannot be read")
    try:
        return Rule(" ".join(fields), zoneinfo.ZoneInfo(zone))
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ZoneUnknown(zone) from None


def _is_readable(cron: str) -> bool:
    try:
        CronSim(cron, SOME_DAY)
    except (CronSimError, ValueError, AssertionError):
        return False
    return True


def _alone(field: str, place: int) -> str:
    return " ".join(field if at == place else "*" for at in range(len(FIELDS)))


def _by_the_clock(cron: str) -> str:
    """The expression with its minutes listed where its hours are the clock's: for `*`, cronsim goes by passing time."""
    minute, hour, *days = cron.split()
    if minute.startswith("*") and not hour.startswith("*"):
        minute = ",".join(map(str, sorted(CronSim(cron, SOME_DAY).minutes)))
    return " ".join((minute, hour, *days))
