"""`planwerk worker`: one more process that drives the runs of a data folder, beside its server or without (S1.4, S1.7).

It holds no lock of the folder, so any number may work there. Live output of a run reaches only those who watch it in
the process that drives it; everything else, such as its journal and the log, is seen in every process within a
fraction of a second.
"""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planwerk.cli.errors import CommandError
from planwerk.cli.exit_codes import ExitCode
from planwerk.cli.options import Data, Json, Model, Module
from planwerk.cli.output import print_json

if TYPE_CHECKING:
    from planwerk.app import Planwerk
    from planwerk.settings.model import Settings


class NothingToShare(CommandError):
    """What is kept in memory belongs to one process (S1.7)."""

    code = "nothing_to_share"
    exit_code = ExitCode.USAGE

    def __init__(self) -> None:
        super().__init__(
            "with storage 'memory' there is nothing that a second process could work on.",
            what_to_do="Give both processes the same --data DIR, or the same --storage sqlite:///FILE.",
        )


def worker(
    module: Module = None,
    only: Annotated[bool, typer.Option("--only", help="Leave out the ready-made blueprints.")] = False,
    data: Data = None,
    model: Model = None,
    storage: Annotated[str | None, typer.Option("--storage", metavar="ADDRESS", help="sqlite:///FILE.")] = None,
    max_runs: Annotated[
        int | None,
        typer.Option("--max-runs", metavar="N", min=1, help="Runs driven at once.", show_default="1000"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Drive runs of a data folder beside its server; any number of workers may. Ctrl-C hands its runs over."""
    from planwerk.cli.installation import installation
    from planwerk.server.logging_setup import set_up_logging
    from planwerk.server.serving import run
    from planwerk.settings.loading import load

    options = {"data": data, "model": model, "storage": storage, "max_runs": max_runs}
    settings = load(options).settings
    if settings.database.startswith("memory"):
        raise NothingToShare
    set_up_logging(settings.log.level, settings.log.format)
    working = installation(settings, module, only=only)
    if not run(_work(working, settings, as_json=as_json)):
        raise typer.Exit(ExitCode.LEFT)


async def _work(working: Planwerk, settings: Settings, *, as_json: bool) -> bool:
    """Work until a signal comes; False if a second one came before everything was handed over."""
    told, left = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        (left if told.is_set() else told).set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal)
    await working.start(is_helper=True)
    _announce(await _announcement(working, settings), as_json=as_json)
    await told.wait()
    stopping = asyncio.ensure_future(working.stop(seconds=settings.shutdown_seconds))
    leaving = asyncio.ensure_future(left.wait())
    await asyncio.wait([stopping, leaving], return_when=asyncio.FIRST_COMPLETED)
    leaving.cancel()
    if not stopping.done():
        stopping.cancel()
        return False
    stopping.result()
    return True


async def _announcement(working: Planwerk, settings: Settings) -> dict[str, Any]:
    from os import getpid

    return {
        "worker": working.process_name,
        "pid": getpid(),
        "data": str(settings.data),
        "storage": settings.database.split("@")[-1],
        "model": working.models.default.name,
        "blueprints": [blueprint.__name__ for blueprint in working.blueprints],
        "max_runs": working.max_runs,
    }


def _announce(told: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(told)
        return
    print(f"Works on  {told['storage']}, as {told['worker']}, on at most {told['max_runs']} runs at once")
    print(f"Runs of   {', '.join(told['blueprints'])}; those of other blueprints are left to the server")
    print(f"Model     {told['model']}")
    print("Stop      Ctrl-C: runs end within the limit or are handed over; twice leaves at once", flush=True)
