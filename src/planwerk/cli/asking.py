"""Asks a person in the terminal what a run asks her, and brings her answer to the server."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from planwerk.cli.client import Api
from planwerk.cli.errors import Answered, tell
from planwerk.cli.output import console

Reader: TypeAlias = Callable[[str], Awaitable[str | None]]
"""Reads a line behind a prompt; None where the person leaves, or the input has ended."""

YES: Final = frozenset({"y", "yes", "j", "ja", "o", "oui", "s", "si", "sì"})
NO: Final = frozenset({"n", "no", "nein", "non"})
CLOSED: Final = frozenset({"request_answered", "request_timed_out", "request_closed"})


async def answer_in_terminal(api: Api, request: Mapping[str, Any], read: Reader) -> bool:
    """Ask until an answer fits; whether the request is answered now, by us or by somebody else."""
    show(request)
    while True:
        given = await _confirmation(request, read) if request["kind"] == "confirmation" else await _text(request, read)
        if given is None:
            return False
        try:
            await api.post(f"/api/requests/{request['id']}/answer", {"answer": given})
        except Answered as error:
            tell(error.code, error.message, error.what_to_do, as_json=False)
            if error.code in CLOSED:
                return True
            if error.code != "answer_invalid":
                raise
        else:
            return True


def show(request: Mapping[str, Any]) -> None:
    """What is asked, as the person sees it; on standard error, so that the answer of the run stands alone."""
    out = console(to_stderr=True)
    out.print(f"? {request['question']}", style="bold", markup=False)
    for part in (request["subject"], request["details"]):
        if part:
            out.print("\n".join(f"  {line}" for line in str(part).splitlines()), markup=False)
    for number, choice in enumerate(request["choices"], 1):
        label = choice["label"] if choice["label"] == choice["value"] else f"{choice['label']} ({choice['value']})"
        out.print(f"  {number}. {label}", markup=False)
    if request["expires"]:
        out.print(f"  until {request['expires']}", style="dim", markup=False)


async def _text(request: Mapping[str, Any], read: Reader) -> dict[str, Any] | None:
    default = request["default"]
    line = await read(f"{f'[{default}] ' if default else ''}> ")
    return None if line is None else {"text": value_of(request, line.strip())}


def value_of(request: Mapping[str, Any], said: str) -> str:
    """What was typed, as the value of the choice that it names by value, label or number."""
    for number, choice in enumerate(request["choices"], 1):
        if said.casefold() in {str(number), choice["value"].casefold(), choice["label"].casefold()}:
            return str(choice["value"])
    return said


async def _confirmation(request: Mapping[str, Any], read: Reader) -> dict[str, Any] | None:
    default = request["default"]
    shown = {True: "[Y/n]", False: "[y/N]", None: "[y/n]"}[default]
    while True:
        line = await read(f"{shown} > ")
        if line is None:
            return None
        said = line.strip().casefold()
        confirmed = True if said in YES else False if said in NO else default if not said else None
        if confirmed is not None:
            break
        print("Say y or n.", file=sys.stderr)
    if confirmed:
        return {"confirmed": True}
    reason = await read("Reason, if you like > ")
    return {"confirmed": False, "reason": (reason or "").strip()}


def terminal_reader() -> Reader:
    """Reads from the terminal with editing; Ctrl-C and Ctrl-D leave the question open."""
    from prompt_toolkit import PromptSession

    session: PromptSession[str] = PromptSession()

    async def read(prompt: str) -> str | None:
        try:
            return await session.prompt_async(prompt)
        except (KeyboardInterrupt, EOFError):
            return None

    return read
