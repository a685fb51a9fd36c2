"""`planwerk check`: everything that is wrong with a module's blueprints, before anything runs (E6.3)."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from planwerk.cli.exit_codes import ExitCode
from planwerk.cli.options import Json, Module
from planwerk.cli.output import console, count, print_json

if TYPE_CHECKING:
    from planwerk.workflow.errors import Problem


def check(module: Module = None, as_json: Json = False) -> None:
    """Check the blueprints of MODULE and print every problem with its place, obligation and remedy."""
    from planwerk.cli.modules import load_module

    loaded = load_module(module)
    found = [(blueprint.__name__, blueprint.find_problems(provided=loaded.provided)) for blueprint in loaded.blueprints]
    errors = sum(problem.severity == "error" for _, problems in found for problem in problems)
    if as_json:
        listed = [{"name": name, "problems": [asdict(problem) for problem in problems]} for name, problems in found]
        print_json({"module": loaded.name, "ok": errors == 0, "errors": errors, "blueprints": listed})
    else:
        for name, problems in found:
            _print(name, problems)
    if errors:
        raise typer.Exit(ExitCode.PROBLEM)


def _print(name: str, problems: list[Problem]) -> None:
    errors = [problem for problem in problems if problem.severity == "error"]
    others = [problem for problem in problems if problem.severity != "error"]
    told = count(len(errors), "problem") if errors else "no problems"
    if others:
        told += f", {count(len(others), 'warning')}"
    out = console()
    out.print(f"{name}: {told}", style="bold red" if errors else "bold yellow" if others else "bold green")
    for number, problem in enumerate(problems, 1):
        out.print(f"\n  {number}. {problem.where}", style="bold", markup=False)
        out.print(f"     {_mark(problem)}{problem.message}", markup=False)
        out.print(f"     Obligation: {problem.obligation}", markup=False)
        out.print(f"     Remedy: {problem.remedy}", markup=False)


def _mark(problem: Problem) -> str:
    return "" if problem.severity == "error" else f"{problem.severity}: "
