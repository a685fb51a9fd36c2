"""`python -m bench NAME [--json]`: run one workload; the last line printed is the report as JSON."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bench import registry
from bench.measure import Report, measure
from bench.scenario import OURS, Sizes, Workload, WrongResult

os.environ.setdefault("LANGSMITH_TRACING", "false")

SECONDS: Final = 0.3
LARGE: Final = 1_000
"""From here on a figure is printed without its decimals."""


def main(arguments: Sequence[str]) -> int:
    """Run what the arguments ask for and return the exit code."""
    options = _parser().parse_args(arguments)
    if options.name is None:
        _print_workloads()
        return 0
    if options.name in registry.BUILT_LATER:
        print(f"{options.name} is not built yet: {registry.BUILT_LATER[options.name]} builds it.", file=sys.stderr)
        return 2
    workload = registry.workload(options.name)
    only = frozenset(name for text in options.only for name in text.split(",") if name)
    unknown = sorted(only - {module.replace("_", "-") for module in workload.contestants})
    if unknown:
        known = ", ".join(module.replace("_", "-") for module in workload.contestants)
        print(f"{workload.name} has no contestant {', '.join(unknown)}; it has {known}.", file=sys.stderr)
        return 2
    try:
        report = asyncio.run(_run(workload, only, options))
    except WrongResult as wrong:
        print(wrong, file=sys.stderr)
        return 1
    if not options.json:
        _print_table(report)
    print(json.dumps({"workload": report.workload, "unit": report.unit, **_figures(report)}))
    return 0


async def _run(workload: Workload, only: frozenset[str], options: argparse.Namespace) -> Report:
    with tempfile.TemporaryDirectory(prefix="planwerk-bench-", dir=options.folder) as folder:
        sizes = Sizes(
            steps=options.steps or workload.steps,
            width=options.width or workload.width,
            runs=options.runs or workload.runs,
            folder=Path(folder),
            synchronous=workload.synchronous,
        )
        contestants = registry.contestants(workload, only)
        rounds = options.rounds or workload.rounds
        return await measure(workload, contestants, sizes, rounds=rounds, seconds=options.seconds)


def _figures(report: Report) -> dict[str, Any]:
    figures: dict[str, Any] = {
        "results": {name: _rounded(figure) for name, figure in report.results.items()},
        "ratios": {name: _rounded(ratio) for name, ratio in report.ratios.items()},
    }
    if report.counts:
        figures["counts"] = {
            name: {what: _rounded(value) for what, value in found.items()} for name, found in report.counts.items()
        }
    return figures


def _rounded(figure: float) -> float:
    """To a tenth where it is large, else to four digits."""
    return round(figure, 1) if abs(figure) >= LARGE else float(f"{figure:.4g}")


def _print_table(report: Report) -> None:
    print(f"{report.workload}, {report.unit}, medians")
    for name, figure in sorted(report.results.items(), key=lambda item: -item[1]):
        ratio = f"{OURS} is {report.ratios[name]:.3g} ×" if name in report.ratios else ""
        shown = f"{figure:,.0f}" if figure >= LARGE else f"{figure:.3g}"
        counts = "".join(f"  {what}: {value:.4g}" for what, value in report.counts.get(name, {}).items())
        print(f"  {name:28} {shown:>12}  {ratio:22}{counts}".rstrip())


def _print_workloads() -> None:
    for name in registry.BUILT:
        workload = registry.workload(name)
        print(f"  {name:14} {workload.unit:10} {', '.join(workload.contestants).replace('_', '-')}")
    for name, issue in registry.BUILT_LATER.items():
        print(f"  {name:14} not built yet: {issue}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    names = [*registry.BUILT, *registry.BUILT_LATER]
    parser.add_argument("name", nargs="?", choices=names, help="the workload; without it, list them", metavar="NAME")
    parser.add_argument("--json", action="store_true", help="print the line of JSON only")
    parser.add_argument("--rounds", type=_positive, help="rounds to take medians of; a workload has its own number")
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"per contestant and round ({SECONDS})")
    parser.add_argument("--only", action="append", default=[], help="names to run, with commas", metavar="NAMES")
    parser.add_argument("--steps", type=_positive, help="steps of a chain")
    parser.add_argument("--width", type=_positive, help="events of a fan-out")
    parser.add_argument("--runs", type=_positive, help="runs at once")
    parser.add_argument("--folder", type=Path, help="where durable scenarios put their files while they run")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
