"""The arithmetic of the benchmarks: medians, ratios within a round, and refusing wrong work."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from bench.gauges import Figure, Rate, windows
from bench.measure import Report, measure
from bench.scenario import Contestant, Once, Scenario, Sizes, Workload, WrongResult

COUNTING = Workload(
    name="counting",
    unit="steps/s",
    contestants=(),
    amount=lambda sizes: sizes.steps,
    expected=lambda sizes: sizes.steps,
    gauge=Rate(),
)


def sizes(folder: Path) -> Sizes:
    return Sizes(steps=3, width=1, runs=1, folder=folder)


def counting(name: str, calls: list[str], *, short: bool = False) -> Contestant:
    @asynccontextmanager
    async def scenario(sizes: Sizes) -> AsyncGenerator[Once]:
        async def once() -> int:
            calls.append(name)
            sizes.note("calls", len(calls))
            return sizes.steps - short

        yield once
        calls.append(f"{name} closed")

    scenarios: dict[str, Scenario] = {"counting": scenario}
    return Contestant(name, scenarios)


def test_a_ratio_is_the_median_of_the_rounds_not_the_ratio_of_the_medians() -> None:
    rounds = [{"planwerk": 10.0, "peer": 1.0}, {"planwerk": 20.0, "peer": 10.0}, {"planwerk": 30.0, "peer": 30.0}]

    report = Report.of(COUNTING, rounds)

    assert report.results == {"planwerk": 20.0, "peer": 10.0}
    assert report.ratios == {"peer": 2.0}


def test_without_ours_there_are_rates_and_no_ratios() -> None:
    report = Report.of(COUNTING, [{"floor": 1.0, "peer": 2.0}])

    assert (report.results, report.ratios) == ({"floor": 1.0, "peer": 2.0}, {})


async def test_contestants_take_turns_and_the_first_of_a_round_changes(tmp_path: Path) -> None:
    calls: list[str] = []
    contestants = [counting("planwerk", calls), counting("peer", calls)]

    await measure(COUNTING, contestants, sizes(tmp_path), rounds=3, seconds=0)

    warm_up, rounds, closing = calls[:2], calls[2:-2], calls[-2:]
    assert warm_up == ["planwerk", "peer"]
    assert rounds == ["planwerk", "peer", "peer", "planwerk", "planwerk", "peer"]
    assert closing == ["peer closed", "planwerk closed"]


async def test_who_does_less_is_refused_not_praised(tmp_path: Path) -> None:
    calls: list[str] = []

    with pytest.raises(WrongResult, match="peer returned 2 instead of 3 in workload counting"):
        await measure(COUNTING, [counting("peer", calls, short=True)], sizes(tmp_path), rounds=1, seconds=0)

    assert calls == ["peer"]


def test_what_is_counted_is_reported_as_the_median_by_contestant() -> None:
    report = Report.of(COUNTING, [{"floor": 1.0}], {"floor": {"commits": [1.0, 9.0, 2.0]}, "peer": {}})

    assert report.counts == {"floor": {"commits": 2.0}}


async def test_contestants_count_for_themselves(tmp_path: Path) -> None:
    calls: list[str] = []
    contestants = [counting("planwerk", calls), counting("peer", calls)]

    report = await measure(COUNTING, contestants, sizes(tmp_path), rounds=1, seconds=0)

    assert report.counts == {"planwerk": {"calls": 2.0}, "peer": {"calls": 3.0}}


async def test_a_repetition_can_be_the_figure_itself(tmp_path: Path) -> None:
    itself = replace(COUNTING, gauge=Figure())

    report = await measure(itself, [counting("planwerk", [], short=True)], sizes(tmp_path), rounds=2, seconds=0)

    assert report.results == {"planwerk": 2.0}


@pytest.mark.parametrize(
    ("steps", "early", "late"),
    [(5_000, (1, 201), (4_800, 5_000)), (401, (1, 201), (201, 401)), (3, (1, 2), (2, 3))],
)
def test_the_windows_of_a_long_run_are_equally_long_and_do_not_overlap(
    steps: int, early: tuple[int, int], late: tuple[int, int]
) -> None:
    assert windows(steps) == (early, late)
