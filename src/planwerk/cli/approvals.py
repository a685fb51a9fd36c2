"""`planwerk approvals`: what runs ask people, and the answers (E8.1, S2.4)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planwerk.cli.calling import call
from planwerk.cli.errors import UsageFault
from planwerk.cli.exit_codes import ExitCode
from planwerk.cli.options import Data, Json, Key, Server
from planwerk.cli.output import print_json, print_table

if TYPE_CHECKING:
    from planwerk.cli.client import Api

app = typer.Typer(help="List and answer what runs ask you.", no_args_is_help=True)

Request = Annotated[str, typer.Argument(metavar="ID", help="Id of the request; 'approvals list' shows them.")]
PAGE = 200


@app.command("list")
def list_(
    profile: Annotated[str | None, typer.Option("--profile", metavar="PROFILE", help="Only what this asks.")] = None,
    data: Data = None,
    server: Server = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """List what waits for your answer: what expires first, then what was asked first."""

    async def read(api: Api) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            page = await api.get("/api/inbox", limit=PAGE, profile=profile, cursor=cursor)
            found += page["items"]
            cursor = page["next"]
            if cursor is None:
                return found

    found = call(server, key, data, read)
    if as_json:
        print_json({"items": found})
        return
    rows = [
        (each["id"], each["kind"], each["profile_name"] or each["profile"] or "", _line(each), each["expires"] or "")
        for each in found
    ]
    print_table(("ID", "KIND", "PROFILE", "QUESTION", "EXPIRES"), rows, empty="Nothing waits for your answer.")


@app.command("answered")
def answered(
    profile: Annotated[str | None, typer.Option("--profile", metavar="PROFILE", help="Only what this asked.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=PAGE, help="How many at most.")] = 20,
    data: Data = None,
    server: Server = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """List what was answered, by you or by others with access: what was answered last, first."""

    async def read(api: Api) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            page = await api.get("/api/inbox/answered", limit=limit - len(found), profile=profile, cursor=cursor)
            found += page["items"]
            cursor = page["next"]
            if cursor is None or len(found) == limit:
                return found

    found = call(server, key, data, read)
    if as_json:
        print_json({"items": found})
        return
    rows = [(each["closed"] or "", _name(each["answered_by"]), _said(each), _line(each), each["run"]) for each in found]
    print_table(("ANSWERED", "BY", "ANSWER", "QUESTION", "RUN"), rows, empty="Nothing was answered yet.")


def _name(actor: Mapping[str, Any] | None) -> str:
    return str(actor["name"]) if actor is not None else ""


def _said(request: Mapping[str, Any]) -> str:
    given: Mapping[str, Any] = request["answer"] or {}
    if request["kind"] == "confirmation":
        text = " ".join(("yes" if given.get("confirmed") else "no", str(given.get("reason") or ""))).strip()
    else:
        text = " ".join(str(given.get("text") or "").split())
    return text if len(text) <= 40 else f"{text[:39]}…"


def _line(request: Mapping[str, Any]) -> str:
    text = " ".join(f"{request['question']} {request['subject']}".split())
    return text if len(text) <= 60 else f"{text[:59]}…"


@app.command("answer")
def answer(
    request: Request,
    text: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help="The answer, or the value, label or number of a choice; else asked for."),
    ] = None,
    decision: Annotated[
        bool | None, typer.Option("--yes/--no", help="Of a confirmation: confirm or decline.", show_default=False)
    ] = None,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Said with --yes or --no.")] = "",
    data: Data = None,
    server: Server = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Answer a request. Without an answer in the command it is asked for, or read from standard input."""
    from planwerk.cli.asking import answer_in_terminal, terminal_reader, value_of

    async def work(api: Api) -> Any:
        asked = await api.get(f"/api/requests/{request}")
        if text is None and decision is None and sys.stdin.isatty():
            answered = await answer_in_terminal(api, asked, terminal_reader())
            return await api.get(f"/api/requests/{request}") if answered else None
        given = _given(asked, text, decision, reason)
        if "text" in given:
            given["text"] = value_of(asked, given["text"])
        return await api.post(f"/api/requests/{request}/answer", {"answer": given})

    done = call(server, key, data, work)
    if done is None:
        raise typer.Exit(ExitCode.LEFT)
    if as_json:
        print_json(done)
    else:
        print(f"Answered; run {done.get('run_id') or done['run']} takes it up.")


def _given(asked: Mapping[str, Any], text: str | None, decision: bool | None, reason: str) -> dict[str, Any]:
    """The answer that the command gives.

    Raises:
        UsageFault: It is none for this kind of request.
    """
    if asked["kind"] == "confirmation":
        if decision is None or text is not None:
            raise UsageFault("this asks for a yes or no.", what_to_do="Give --yes or --no, and --reason if you like.")
        return {"confirmed": decision, "reason": reason}
    if decision is not None:
        raise UsageFault("this asks for a text.", what_to_do="Give it: planwerk approvals answer ID TEXT.")
    said = text if text is not None else sys.stdin.read().strip("\n")
    return {"text": said}
