"""The command line's root: its commands, and how every one of them ends (S7)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from planwerk.cli import (
    accounts,
    approvals,
    chat,
    check,
    config,
    doctor,
    graph,
    ingest,
    keys,
    new,
    profiles,
    run,
    runs,
    serve,
    worker,
)
from planwerk.cli.errors import report, tell
from planwerk.cli.exit_codes import ExitCode
from planwerk.workflow.errors import PlanwerkError

DEBUG = "--debug"


class Root(TyperGroup):
    """Ends every command with a documented exit code, and every error with one line."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        given = list(sys.argv[1:] if args is None else args)
        options = given[: given.index("--")] if "--" in given else given
        with_trace, as_json = DEBUG in options, "--json" in options
        given = [DEBUG] * with_trace + [each for each in options if each != DEBUG] + given[len(options) :]
        try:
            ended = super().main(given, prog_name or "planwerk", complete_var, False, windows_expand_args, **extra)
        except (PlanwerkError, OSError) as error:
            ended = report(error, as_json=as_json, with_trace=with_trace)
        except typer.Abort:
            ended = ExitCode.LEFT
        except Exception as error:
            ended = _usage(error, as_json=as_json)
            if ended is None:
                ended = report(error, as_json=as_json, with_trace=with_trace)
        code = int(ended) if isinstance(ended, int) else 0
        if standalone_mode:
            sys.exit(code)
        return code


def _usage(error: Exception, *, as_json: bool) -> ExitCode | None:
    """A wrong option or argument, which typer tells by an error that formats itself; None for other errors."""
    formatted = getattr(error, "format_message", None)
    if formatted is None:
        return None
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "planwerk"
    said = str(formatted()).rstrip()
    said = said if said.endswith((".", "?", "!")) else f"{said}."
    tell("usage", said, f"'{command} --help' lists what there is.", as_json=as_json)
    return ExitCode.USAGE


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"planwerk {version('planwerk')}")
        raise typer.Exit


app = typer.Typer(
    name="planwerk",
    cls=Root,
    help="Planwerk: conversational agents as workflows of typed events.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option(DEBUG, help="Show the trace of an error; may stand anywhere.")] = False,
) -> None:
    """Planwerk: conversational agents as workflows of typed events."""


app.command("serve")(serve.serve)
app.command("worker")(worker.worker)
app.command("run")(run.run)
app.command("chat")(chat.chat)
app.command("check")(check.check)
app.command("graph")(graph.graph)
app.command("ingest")(ingest.ingest)
app.command("new")(new.new)
app.command("doctor")(doctor.doctor)
app.add_typer(config.app, name="config")
app.add_typer(runs.app, name="runs")
app.add_typer(profiles.app, name="profiles")
app.add_typer(approvals.app, name="approvals")
app.add_typer(accounts.app, name="accounts")
app.add_typer(keys.app, name="keys")
