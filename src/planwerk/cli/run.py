"""`planwerk run`: one question to a profile, its answer on standard output."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from planwerk.cli.errors import UsageFault, tell
from planwerk.cli.exit_codes import ExitCode
from planwerk.cli.options import App, Data, Json, Key, Model, Server
from planwerk.cli.output import print_json

if TYPE_CHECKING:
    from planwerk.cli.client import Api
    from planwerk.cli.interrupts import Interrupts
    from planwerk.cli.turns import Talk, Turn


def run(
    profile: Annotated[str, typer.Argument(metavar="PROFILE", help="Id of a profile; 'profiles list' shows them.")],
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="The message; what comes on standard input is attached.")
    ] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Stream the text as it is, not drawn as Markdown.")] = False,
    model: Model = None,
    app: App = None,
    data: Data = None,
    server: Server = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Ask a profile and print its answer. Ctrl-C stops the run, a second time leaves."""
    from planwerk.cli.client import Target, connect
    from planwerk.cli.interrupts import run_interruptibly
    from planwerk.cli.rendering import WholeAnswer, screen_for
    from planwerk.cli.turns import Talk

    message = message_of(text)
    target = Target(server, key, {"data": data, "model": model, "app": app}, work=True)
    screen = WholeAnswer() if as_json else screen_for(plain=plain)

    async def main(interrupts: Interrupts) -> Turn:
        async with connect(target) as api:
            talk = await Talk.begin(api, profile)
            with screen, interrupts.stopping(talk.stop):
                turn = await talk.ask(message, screen)
            while turn.status == "waiting" and await _answered(api, talk, turn, interrupts, plain=plain):
                pass
            if not as_json:
                screen.end(turn)
            return turn

    turn = run_interruptibly(main)
    if as_json:
        print_json(turn.to_json())
    end_with(turn, as_json=as_json)


async def _answered(api: Api, talk: Talk, turn: Turn, interrupts: Interrupts, *, plain: bool) -> bool:
    """Ask in the terminal what the run asks, and follow it on; False where nobody is there to answer."""
    from planwerk.cli.asking import answer_in_terminal, show, terminal_reader
    from planwerk.cli.rendering import screen_for

    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    read = terminal_reader()
    for request in list(turn.requests.values()):
        if request["kind"] != "chat":
            if not await answer_in_terminal(api, request, read):
                return False
            continue
        show(request)
        line = await read("> ")
        if not (line or "").strip():
            return False
        await api.post(f"/api/requests/{request['id']}/answer", {"answer": {"text": line}})
    with screen_for(plain=plain) as screen, interrupts.stopping(talk.stop):
        await talk.go_on(screen)
    return True


def message_of(text: str | None) -> str:
    """The message: TEXT, what is piped in, or both.

    Raises:
        UsageFault: There is neither.
    """
    attached = "" if sys.stdin.isatty() else sys.stdin.read().strip("\n")
    message = "\n\n".join(part for part in (text, attached) if part and part.strip())
    if not message:
        raise UsageFault("there is no message.", what_to_do='Give one: planwerk run PROFILE "TEXT", or pipe it in.')
    return message


def end_with(turn: Turn, *, as_json: bool) -> None:
    """End the command as the run ended."""
    if turn.status == "completed":
        return
    if turn.status == "waiting":
        from planwerk.cli.chatting import tell_waiting

        if not as_json:
            tell_waiting(turn, in_chat=False)
        raise typer.Exit(ExitCode.RUN_WAITING)
    if turn.status == "stopped":
        if not as_json:
            tell("run_stopped", "The run was stopped; what it had said is kept.", "", as_json=False)
        raise typer.Exit(ExitCode.RUN_STOPPED)
    error = turn.error or {}
    if not as_json:
        code, message = str(error.get("code", "run_failed")), str(error.get("message", "the run failed."))
        tell(code, message, str(error.get("what_to_do", "")), as_json=False)
    raise typer.Exit(ExitCode.RUN_FAILED)
