"""`planwerk doctor`: what is set up, what is found, what is wrong; without secrets (S1.3)."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from planwerk.cli.exit_codes import ExitCode
from planwerk.cli.options import Data, Json, Model
from planwerk.cli.output import console, count, print_json

if TYPE_CHECKING:
    from planwerk.cli.checkup import Finding

_MARKS = {"ok": ("ok", "green"), "note": ("note", "yellow"), "trouble": ("TROUBLE", "bold red")}


def doctor(data: Data = None, model: Model = None, as_json: Json = False) -> None:
    """Check settings, database, models, clock, disk, web client and port; the report holds no secrets."""
    import asyncio

    from planwerk.cli.checkup import examine, examine_models
    from planwerk.settings.loading import load

    loaded = load({"data": data, "model": model})
    found = [*examine(loaded), *asyncio.run(examine_models(loaded.settings))]
    troubles = sum(finding.state == "trouble" for finding in found)
    if as_json:
        print_json({"ok": troubles == 0, "findings": [asdict(finding) for finding in found]})
    else:
        for finding in found:
            _print(finding)
        print(f"\n{count(troubles, 'trouble')} found." if troubles else "\nAll is well.")
    if troubles:
        raise typer.Exit(ExitCode.PROBLEM)


def _print(finding: Finding) -> None:
    mark, style = _MARKS[finding.state]
    out = console()
    out.print(f"{mark:8}", style=style, end="", markup=False)
    out.print(f"{finding.name:11} {finding.text}", markup=False)
    if finding.what_to_do:
        out.print(f"{'':19} {finding.what_to_do}", style="dim", markup=False)
