"""When schedules are due: by the clocks of their zone, each occurrence once, also where clocks change (E8.3)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planwerk.runtime.occurrences import (
    CronInvalid,
    CronNeverDue,
    Rule,
    ScheduleInvalid,
    ZoneUnknown,
    read_rule,
)

SPRING, AUTUMN = "2026-03-29", "2026-10-25"
"""The days on which clocks go forward and back in Zurich: at 2:00, and at 3:00."""


def micros(moment: str) -> int:
    return round(datetime.fromisoformat(moment).timestamp() * 1e6)


def local(rule: Rule, times: Sequence[int]) -> list[str]:
    return [datetime.fromtimestamp(at / 1e6, UTC).astimezone(rule.zone).isoformat()[:22] for at in times]


def following(cron: str, after: str, count: int, zone: str = "Europe/Zurich") -> list[str]:
    rule = read_rule(cron, zone)
    return local(rule, list(islice(rule.after(micros(after)), count)))


def test_every_weekday_at_seven_leaves_out_the_weekend() -> None:
    assert following("0 7 * * MON-FRI", "2026-12-03T12:00:00+01:00", 2) == [
        "2026-12-04T07:00:00+01",
        "2026-12-07T07:00:00+01",
    ]


def test_the_moment_of_an_occurrence_is_not_after_itself() -> None:
    assert following("0 7 * * *", "2026-12-03T07:00:00+01:00", 1) == ["2026-12-04T07:00:00+01"]
    assert following("0 7 * * *", "2026-12-03T06:59:59.999999+01:00", 1) == ["2026-12-03T07:00:00+01"]


@pytest.mark.parametrize("cron", ["30 2 * * *", "*/15 2 * * *", "0,30 2,3 * * *"])
def test_what_clocks_leave_out_is_due_once_right_after_the_gap(cron: str) -> None:
    found = following(cron, f"{SPRING}T00:00:00+01:00", 3)

    assert found[0] == f"{SPRING}T03:00:00+02"
    assert found.count(f"{SPRING}T03:00:00+02") == 1


@pytest.mark.parametrize(("cron", "times"), [("30 2 * * *", 1), ("*/15 2 * * *", 4), ("0,30 1-3 * * *", 6)])
def test_what_clocks_show_twice_is_due_the_first_time(cron: str, times: int) -> None:
    found = following(cron, f"{AUTUMN}T00:00:00+02:00", times + 1)

    assert all(each.startswith(AUTUMN) for each in found[:times])
    assert not found[times].startswith(AUTUMN)
    assert len({each[:16] for each in found[:times]}) == times


def test_after_the_second_half_of_a_double_hour_it_is_not_due_again() -> None:
    assert following("30 2 * * *", f"{AUTUMN}T02:15:00+01:00", 1) == ["2026-10-26T02:30:00+01"]


def test_every_hour_goes_by_the_time_that_passes() -> None:
    assert following("0 * * * *", f"{AUTUMN}T01:30:00+02:00", 3) == [
        f"{AUTUMN}T02:00:00+02",
        f"{AUTUMN}T02:00:00+01",
        f"{AUTUMN}T03:00:00+01",
    ]
    assert following("0 * * * *", f"{SPRING}T01:30:00+01:00", 2) == [f"{SPRING}T03:00:00+02", f"{SPRING}T04:00:00+02"]


def test_a_midnight_that_is_left_out_is_due_after_the_gap() -> None:
    assert following("0 0 * * *", "2026-03-07T12:00:00+00:00", 2, "America/Havana") == [
        "2026-03-08T01:00:00-04",
        "2026-03-09T00:00:00-04",
    ]


def test_the_29th_of_february_waits_for_a_leap_year() -> None:
    assert following("0 0 29 2 *", "2026-01-01T00:00:00+00:00", 1, "UTC") == ["2028-02-29T00:00:00+00"]


@pytest.mark.parametrize("cron", ["0 0 31 2 *", "0 0 30 FEB *", "0 7 31 4,6,9,11 *"])
def test_a_date_that_no_year_has_is_refused(cron: str) -> None:
    with pytest.raises(CronNeverDue, match="never due") as refused:
        read_rule(cron, "UTC")

    assert refused.value.code == "cron_never_due"


@pytest.mark.parametrize(
    ("cron", "reason"),
    [
        ("61 * * * *", "the minute cannot be read"),
        ("0 25 * * MON-FRY", "the hour and the day-of-week"),
        ("@daily", "it has 1 fields"),
        ("0 0 7 * * *", "it has 6 fields"),
        ("", "it has 0 fields"),
        ("*/0 * * * *", "the minute"),
        ("0 7 L-2 * *", "the day-of-month"),
    ],
)
def test_what_is_no_expression_is_refused_with_the_field(cron: str, reason: str) -> None:
    with pytest.raises(CronInvalid, match=reason):
        read_rule(cron, "UTC")


@pytest.mark.parametrize(
    ("zone", "meant"), [("europe/zurich", "Europe/Zurich"), ("Europe/Zürich", "Europe/Zurich"), ("../etc", "UTC")]
)
def test_an_unknown_zone_is_refused_with_one_that_may_be_meant(zone: str, meant: str) -> None:
    with pytest.raises(ZoneUnknown, match="no time zone") as refused:
        read_rule("0 7 * * *", zone)

    assert meant in refused.value.what_to_do


@pytest.mark.parametrize(
    ("cron", "seconds"),
    [("* * * * *", 60), ("0,2 7 * * *", 120), ("*/7 * * * *", 240), ("59 23 * * *", 86_400), ("59,1 23,0 * * *", 120)],
)
def test_how_often_it_is_due_at_its_densest(cron: str, seconds: int) -> None:
    assert read_rule(cron, "UTC").shortest_seconds == seconds


def test_the_newest_of_what_was_missed() -> None:
    rule = read_rule("0 7 * * MON", "Europe/Zurich")
    monday = micros("2026-11-30T07:00:00+01:00")

    assert rule.newest(micros("2025-01-01T00:00:00+00:00"), micros("2026-12-03T00:00:00+00:00")) == monday
    assert rule.newest(micros("2025-01-01T00:00:00+00:00"), monday) == monday
    assert rule.newest(monday, micros("2026-12-03T00:00:00+00:00")) is None


MINUTES = st.sampled_from(["0", "30", "59", "*/20", "5,35", "10-12"])
HOURS = st.sampled_from(["*", "2", "0", "*/3", "1-3", "23,2"])
DAYS = st.sampled_from(["* * *", "* * MON-FRI", "1 * *", "L * *", "25,29 * *"])
ZONES = st.sampled_from(["UTC", "Europe/Zurich", "America/New_York", "Australia/Lord_Howe", "America/Havana"])
MOMENTS = st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1))


@given(MINUTES, HOURS, DAYS, ZONES, MOMENTS)
def test_occurrences_grow_and_each_is_the_next_of_the_one_before(
    minute: str, hour: str, days: str, zone: str, moment: datetime
) -> None:
    rule = read_rule(f"{minute} {hour} {days}", zone)
    begin = micros(moment.isoformat() + "+00:00")

    found = list(islice(rule.after(begin), 8))

    assert found == sorted(set(found))
    assert all(at > begin for at in found)
    assert [rule.next_after(at) for at in found[:-1]] == found[1:]
    assert rule.newest(begin, found[-1]) == found[-1]


@given(st.text(alphabet="0123456789*/-,LW#MONFEBa ", max_size=20), st.text(max_size=12))
def test_any_text_is_read_or_refused_with_what_to_do(cron: str, zone: str) -> None:
    refusal = "none"
    try:
        rule = read_rule(cron, zone)
        rule.next_after(micros("2026-01-01T00:00:00+00:00"))
    except ScheduleInvalid as refused:
        refusal = refused.what_to_do

    assert refusal
