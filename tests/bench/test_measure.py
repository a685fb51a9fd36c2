"""The arithmetic of the benchmarks: medians, ratios within a round, and refusing wrong work."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from bench.measure import Report, WrongResult, measure
from bench.scenario import Contestant, Once, Scenario, Sizes, Workload

COUNTING = Workload(
    name="counting",
    unit="steps/s",
    contestants=(),
    amount=lambda sizes: sizes.steps,
    expected=lambda sizes: sizes.steps,
)


def sizes(folder: Path) -> Sizes:
    return Sizes(steps=3, width=1, runs=1, folder=folder)


def counting(name: str, calls: list[str], *, short: bool = False) -> Contestant:
    @asynccontextmanager
    async def scenario(sizes: Sizes) -> AsyncGenerator[Once]:
        async def once() -> int:
            calls.append(name)
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
