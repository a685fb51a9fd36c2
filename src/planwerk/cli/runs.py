"""`planwerk runs`: list, show, follow, stop, replay and fork runs (S7, E7.8)."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planwerk.cli.calling import call
from planwerk.cli.errors import UsageFault, tell
from planwerk.cli.exit_codes import ExitCode
from planwerk.cli.options import App, Data, Json, Key, Model, Server
from planwerk.cli.output import print_json, print_table
from planwerk.cli.run_lines import EntryLines, print_head, seconds, what, when

if TYPE_CHECKING:
    from planwerk.cli.client import Api
    from planwerk.cli.interrupts import Interrupts

app = typer.Typer(help="List, show, follow, stop, replay and fork runs.", no_args_is_help=True)

Run = Annotated[str, typer.Argument(metavar="RUN", help="Id of the run; 'runs list' shows them.")]
PAGE = 1_000


@app.command("list")
def list_(
    status: Annotated[
        list[str] | None,
        typer.Option("--status", metavar="STATUS", help="running, waiting, completed, failed, stopped; repeatable."),
    ] = None,
    profile: Annotated[str | None, typer.Option("--profile", metavar="PROFILE", help="Runs of this profile.")] = None,
    thread: Annotated[str | None, typer.Option("--thread", metavar="THREAD", help="Runs of this thread.")] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, max=200, help="At most so many.")] = 50,
    cursor: Annotated[str | None, typer.Option("--cursor", metavar="CURSOR", help="'next' of the page before.")] = None,
    data: Data = None,
    server: Server = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """List your runs, the one started last first."""
    wanted = {"status": status or None, "profile": profile, "thread": thread, "limit": limit, "cursor": cursor}
    found = call(server, key, data, lambda api: api.get("/api/runs", **wanted))
    if as_json:
        print_json(found)
        return
    runs: list[dict[str, Any]] = found["items"]
    rows = [(run["id"], run["status"], run["profile"] or run["blueprint"], when(run), what(run)) for run in runs]
    print_table(("RUN", "STATUS", "PROFILE", "STARTED", "WHAT"), rows, empty="There are no such runs.")
    if found["next"]:
        print(f"More: --cursor {found['next']}")


@app.command("show")
def show(run: Run, data: Data = None, server: Server = None, key: Key = None, as_json: Json = False) -> None:
    """Show a run and every entry of its journal; positions are what 'runs fork --from' takes."""

    async def read(api: Api) -> tuple[Any, list[Any]]:
        return await api.get(f"/api/runs/{run}"), await _entries(api, run)

    record, entries = call(server, key, data, read)
    if as_json:
        print_json({**record, "entries": entries})
        return
    print_head(record)
    steps = EntryLines()
    print_table(("NO.", "TIME", "ENTRY", "STEP"), [steps.row(entry) for entry in entries], empty="It has not begun.")


@app.command("tail")
def tail(
    run: Run,
    after: Annotated[int, typer.Option("--after", metavar="N", min=0, help="Begin behind this position.")] = 0,
    data: Data = None,
    server: Server = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Follow a run's journal to its end; leaving by Ctrl-C does not stop the run."""
    from planwerk.cli.interrupts import run_interruptibly

    async def main(interrupts: Interrupts) -> None:
        from planwerk.cli.client import Target, connect

        steps = EntryLines()
        target = Target(server, key, {"data": data})
        path = f"/api/runs/{run}/stream"
        async with connect(target) as api, aclosing(api.stream(path, {"after": 0})) as events:
            async for event in events:
                if event.name != "entry":
                    continue
                entry = json.loads(event.data)
                row = steps.row(entry)  # also of those before: they name the steps
                if entry["position"] > after:
                    print_json(entry) if as_json else print("  ".join(row).rstrip(), flush=True)

    run_interruptibly(main)


@app.command("stop")
def stop(run: Run, data: Data = None, server: Server = None, key: Key = None, as_json: Json = False) -> None:
    """Stop a run; what it has said so far is kept. Stopping one that has ended changes nothing."""
    told = call(server, key, data, lambda api: api.post(f"/api/runs/{run}/stop"))
    if as_json:
        print_json(told)
    else:
        print(f"{run} was asked to stop.")


@app.command("replay")
def replay(
    run: Run,
    app: Annotated[
        str | None,
        typer.Option("--app", metavar="MODULE", help="Replay with the blueprints of MODULE, here, beside a server."),
    ] = None,
    data: Data = None,
    server: Server = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Re-drive a run that has ended from its journal: no model is called, and nothing is written.

    Exit status 1 if the rules decide something else than was recorded; the first difference is named.
    """
    if app is not None and server is not None:
        raise UsageFault("--app replays here, and --server asks a server.", what_to_do="Give one of them.")
    found = call(server, key, data, lambda api: api.post(f"/api/runs/{run}/replay"), beside=app is not None, app=app)
    divergence = found["divergence"]
    if as_json:
        print_json(found)
    elif divergence is None:
        print(f"No divergence in {found['entries']} entries: {found['executions']} executions are due as recorded.")
    else:
        print(f"Diverges at position {divergence['position']}.")
        print(f"  expected  {divergence['expected']}")
        print(f"  found     {divergence['found']}")
    if divergence is not None:
        raise typer.Exit(ExitCode.PROBLEM)


@app.command("test")
def print_test(run: Run, data: Data = None, server: Server = None, key: Key = None, as_json: Json = False) -> None:
    """Print a test for pytest that plays a run again: what models and people said is in it, no model is called."""
    found = call(server, key, data, lambda api: api.get(f"/api/runs/{run}/test"))
    if as_json:
        print_json(found)
    else:
        print(found["source"], end="")


@app.command("fork")
def fork(
    run: Run,
    from_: Annotated[
        int, typer.Option("--from", metavar="N", min=1, help="Position to go on from; 'runs show' lists them.")
    ],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="config.FIELD=VALUE", help="Another setting; null is the default; repeatable."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask: models are called.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Follow the new run to its end.")] = True,
    model: Model = None,
    app: App = None,
    data: Data = None,
    server: Server = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Make a new run that goes on from a position of another, with other settings if you like.

    It calls models, and asks before. It posts nothing to the thread of the other run. Ctrl-C stops it, twice leaves.
    """
    from planwerk.cli.client import Target
    from planwerk.cli.interrupts import run_interruptibly

    changes = settings_by_flags(set_ or ())
    target = Target(server, key, {"data": data, "model": model, "app": app}, work=True)

    async def main(interrupts: Interrupts) -> Mapping[str, Any]:
        from planwerk.cli.client import connect

        async with connect(target) as api:
            if not yes:
                await _ask_first(api, run, from_, changes)
            made = await api.post(f"/api/runs/{run}/fork", {"position": from_, "config": changes})
            if not as_json:
                first = ", ".join(made["first"]) or "its end"
                print(f"{made['run_id']} goes on from No. {made['position']}; first: {first}")

            async def stop_it() -> None:
                await api.post(f"/api/runs/{made['run_id']}/stop")

            if wait:
                with interrupts.stopping(stop_it):
                    await _follow(api, made["run_id"], quiet=as_json)
            return {**made, **await api.get(f"/api/runs/{made['run_id']}")}

    _end(run_interruptibly(main), as_json=as_json)


def settings_by_flags(given: Sequence[str]) -> dict[str, Any]:
    """What `--set` asks for as a merge patch of the config; a value is JSON where it can be read as such, else text.

    Raises:
        UsageFault: It is not `config.FIELD=VALUE`.
    """
    patch: dict[str, Any] = {}
    for each in given:
        name, separator, text = each.partition("=")
        words = name.split(".")
        if not separator or words[0] != "config" or len(words) < 2 or not all(words):
            raise UsageFault(f"--set {each[:60]!r} cannot be followed.", what_to_do="Use --set config.FIELD=VALUE.")
        inner = patch
        for word in words[1:-1]:
            inner = inner.setdefault(word, {})
        try:
            inner[words[-1]] = json.loads(text)
        except ValueError:
            inner[words[-1]] = text
    return patch


async def _ask_first(api: Api, run: str, position: int, changes: Mapping[str, Any]) -> None:
    """Say that models are called, and leave if that is not wanted."""
    record = await api.get(f"/api/runs/{run}")
    profile = await api.get(f"/api/profiles/{record['profile']}") if record["profile"] else None
    named = changes.get("llm") or (profile["model"]["name"] if profile else None)
    model = f" ({named})" if named else ""
    told = f"What came after No. {position} of this run is executed again in a new run; that calls models{model}."
    if not sys.stdin.isatty():
        raise UsageFault(f"w{told[1:]}", what_to_do="Give --yes if that is wanted.")
    if not typer.confirm(f"{told} Go on?", err=True):
        raise typer.Exit(ExitCode.DONE)


async def _follow(api: Api, run: str, *, quiet: bool) -> None:
    """Follow the run to its end, naming the steps as they begin."""
    async with aclosing(api.stream(f"/api/runs/{run}/stream", {"after": 0})) as events:
        copied = 0
        async for event in events:
            if event.name != "entry":
                continue
            entry = json.loads(event.data)
            if entry["type"] == "run_opened":
                copied = int(entry["data"]["forked_entries"])
            named = entry["type"] in {"execution_due", "execution_started"} and entry["position"] > copied
            if named and not quiet and entry["data"].get("step"):
                print(f"  {entry['data']['step']}")


def _end(run: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(run)
    elif run["ended"] is not None:
        print(f"{run['status'].capitalize()} after {seconds(run)}; {run['model_calls']} model calls.")
    error: dict[str, Any] = run["error"] or {}
    if run["status"] == "failed":
        if not as_json:
            tell(str(error.get("code")), str(error.get("message")), str(error.get("what_to_do", "")), as_json=False)
        raise typer.Exit(ExitCode.RUN_FAILED)
    if run["status"] == "stopped":
        raise typer.Exit(ExitCode.RUN_STOPPED)


async def _entries(api: Api, run: str) -> list[Any]:
    entries: list[Any] = []
    while True:
        page = await api.get(f"/api/runs/{run}/timeline", after=len(entries), limit=PAGE)
        entries += page["items"]
        if page["next"] is None:
            return entries
