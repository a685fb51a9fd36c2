"""Every workload runs to its end and prints what the benchmarks promise; no test asserts a time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bench.__main__ import main
from bench.registry import BUILT, BUILT_LATER, workload
from bench.scenario import OURS

TINY = ["--steps", "3", "--width", "3", "--runs", "2", "--rounds", "2", "--seconds", "0"]


IN_FRESH_PROCESSES = {"parked": "planwerk", "resume": "planwerk"}
"""Contestants that are tried here where each costs several processes."""


def names_in(name: str) -> set[str]:
    if name in IN_FRESH_PROCESSES:
        return set(IN_FRESH_PROCESSES[name].split(","))
    return {module.replace("_", "-") for module in workload(name).contestants}


def last_line(printed: str) -> Any:
    return json.loads(printed.strip().splitlines()[-1])


@pytest.mark.parametrize("name", BUILT)
def test_a_workload_prints_one_line_of_json_with_a_rate_for_everybody(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    only = ["--only", IN_FRESH_PROCESSES[name], "--rounds", "1"] if name in IN_FRESH_PROCESSES else []

    code = main([name, "--json", *TINY, *only])

    printed = capsys.readouterr().out
    report = last_line(printed)
    assert code == 0
    assert len(printed.splitlines()) == 1
    assert list(report)[:4] == ["workload", "unit", "results", "ratios"]
    assert list(report)[4:] in ([], ["counts"])
    assert (report["workload"], report["unit"]) == (name, workload(name).unit)
    assert set(report["results"]) == names_in(name)
    assert set(report["ratios"]) == names_in(name) - {OURS}
    assert all(rate > 0 for rate in [*report["results"].values(), *report["ratios"].values()])


def test_without_json_a_table_comes_before_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["chain", "--only", "floor,floor-plus", *TINY])

    printed = capsys.readouterr().out
    assert code == 0
    assert "floor-plus" in printed.splitlines()[1] + printed.splitlines()[2]
    assert set(last_line(printed)["results"]) == {"floor", "floor-plus"}


def test_a_contestant_a_workload_does_not_have_is_named_beside_those_it_has(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = main(["durable", "--only", "floor,pydantic-graph", *TINY])

    assert code == 2
    assert "durable has no contestant pydantic-graph; it has planwerk, floor" in capsys.readouterr().err


@pytest.mark.parametrize("name", BUILT_LATER)
def test_a_workload_of_a_later_issue_says_so(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, *TINY]) == 2
    assert f"{name} is not built yet" in capsys.readouterr().err


def test_without_a_name_every_workload_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0

    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == [*BUILT, *BUILT_LATER]


@pytest.mark.parametrize("name", ["durable", "durable-full", "durable-many", "runs-durable"])
def test_durable_workloads_count_our_commits(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([name, "--json", "--only", "planwerk", *TINY])

    counted = last_line(capsys.readouterr().out)["counts"]["planwerk"]["commits per step"]
    assert 0 < counted < 2  # one for each of three steps, and for a run's opening and its end


def test_growth_counts_the_bytes_a_step_stores_at_both_ends(capsys: pytest.CaptureFixture[str]) -> None:
    main(["growth", "--json", "--only", "floor", *TINY])

    counts = last_line(capsys.readouterr().out)["counts"]["floor"]
    assert (
        counts["bytes per early step"] == counts["bytes per late step"] == len('{"number":2,"steps":3,"text":"note 2"}')
    )
