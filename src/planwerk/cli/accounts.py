"""`planwerk accounts`: who can sign in, and as what (S5.1, S5.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from planwerk.cli.calling import call
from planwerk.cli.config import read_secret
from planwerk.cli.errors import CommandError
from planwerk.cli.exit_codes import ExitCode
from planwerk.cli.options import Data, Json, Key, Server
from planwerk.cli.output import print_json, print_table

if TYPE_CHECKING:
    from planwerk.cli.client import Api

app = typer.Typer(help="List, make and change accounts.", no_args_is_help=True)

Login = Annotated[str, typer.Argument(metavar="LOGIN", help="What the person signs in with.")]
RoleName = Annotated[str, typer.Argument(metavar="ROLE", help="owner, admin, builder or member.")]


class NoSuchAccount(CommandError):
    """No account has this login."""

    code = "account_not_found"
    exit_code = ExitCode.NOT_FOUND


@app.command("list")
def list_(data: Data = None, server: Server = None, key: Key = None, as_json: Json = False) -> None:
    """List the accounts, oldest first."""
    found = call(server, key, data, lambda api: api.get("/api/accounts"))
    if as_json:
        print_json(found)
        return
    rows = [(each["login"], each["name"], each["role"], _state(each)) for each in found["items"]]
    print_table(("LOGIN", "NAME", "ROLE", "STATE"), rows, empty="There are no accounts.")


@app.command("create")
def create(
    login: Login,
    role: Annotated[str, typer.Option("--role", metavar="ROLE", help="owner, admin, builder or member.")] = "member",
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Shown to people; the login if missing.")
    ] = None,
    password: Annotated[bool, typer.Option("--password", help="Read a password from standard input.")] = False,
    data: Data = None,
    server: Server = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Make an account; without a password it cannot sign in until it gets one."""
    body: dict[str, Any] = {"login": login, "role": role, "name": name}
    if password:
        body["password"] = read_secret(f"Password for {login}: ")
    made = call(server, key, data, lambda api: api.post("/api/accounts", body))
    _tell(made, "is made", as_json=as_json)


@app.command("set-role")
def set_role(
    login: Login, role: RoleName, data: Data = None, server: Server = None, key: Key = None, as_json: Json = False
) -> None:
    """Give an account another role."""
    _tell(_patch(login, {"role": role}, server, key, data), f"is {role} now", as_json=as_json)


@app.command("set-password")
def set_password(
    login: Login, data: Data = None, server: Server = None, key: Key = None, as_json: Json = False
) -> None:
    """Give an account a password, read from standard input; its sessions end."""
    password = read_secret(f"New password for {login}: ")

    async def change(api: Api) -> Any:
        account = await _find(api, login)
        await api.call("PUT", f"/api/accounts/{account['id']}/password", json={"password": password})
        return await _find(api, login)

    _tell(call(server, key, data, change), "has a new password", as_json=as_json)


@app.command("disable")
def disable(
    login: Login,
    undo: Annotated[bool, typer.Option("--undo", help="Let the account be used again.")] = False,
    data: Data = None,
    server: Server = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Shut an account: its sessions end, and its keys are refused."""
    changed = _patch(login, {"disabled": not undo}, server, key, data)
    _tell(changed, "may be used again" if undo else "is disabled", as_json=as_json)


def _patch(login: str, change: dict[str, Any], server: str | None, key: str | None, data: Any) -> Any:
    async def work(api: Api) -> Any:
        account = await _find(api, login)
        return await api.call("PATCH", f"/api/accounts/{account['id']}", json=change)

    return call(server, key, data, work)


async def _find(api: Api, login: str) -> dict[str, Any]:
    accounts: list[dict[str, Any]] = (await api.get("/api/accounts"))["items"]
    for account in accounts:
        if account["login"] == login.strip().casefold():
            return account
    known = ", ".join(account["login"] for account in accounts[:20])
    raise NoSuchAccount(f"there is no account {login!r}.", what_to_do=f"There are {known}.")


def _state(account: dict[str, Any]) -> str:
    if account["disabled"]:
        return "disabled"
    return "signs in by password" if account["has_password"] else "has no password"


def _tell(account: dict[str, Any], what: str, *, as_json: bool) -> None:
    if as_json:
        print_json(account)
    else:
        print(f"{account['login']} {what}.")
