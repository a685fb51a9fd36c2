"""`planwerk chat`: a conversation in the terminal, or over a pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from planwerk.cli.options import App, Data, Json, Key, Model, Server

if TYPE_CHECKING:
    from planwerk.cli.interrupts import Interrupts


def chat(
    profile: Annotated[
        str | None, typer.Argument(metavar="PROFILE", help="Id of a profile; the default one if missing.")
    ] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Stream the text as it is, not drawn as Markdown.")] = False,
    model: Model = None,
    app: App = None,
    data: Data = None,
    server: Server = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Talk with a profile. /help lists what else can be typed; Ctrl-C stops an answer, twice leaves.

    A line typed while an answer is written is said into it where the profile takes that, else it waits its turn.
    """
    from planwerk.cli.chatting import converse
    from planwerk.cli.client import Target, connect
    from planwerk.cli.interrupts import run_interruptibly
    from planwerk.cli.turns import Talk

    target = Target(server, key, {"data": data, "model": model, "app": app}, work=True)

    async def main(interrupts: Interrupts) -> int:
        async with connect(target) as api:
            return await converse(api, await Talk.begin(api, profile), interrupts, plain=plain, as_json=as_json)

    code = run_interruptibly(main)
    if code:
        raise typer.Exit(code)
