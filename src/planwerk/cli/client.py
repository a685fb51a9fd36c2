"""How commands talk to an installation: always by REST, to a server given, to the one that runs, or to none (S7)."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

import httpx2

from planwerk.cli.errors import Answered, Unreachable, UsageFault
from planwerk.server.data_lock import holder_of
from planwerk.settings.loading import load, without_credentials

if TYPE_CHECKING:
    from planwerk.settings.model import Settings

TIMEOUT: Final = httpx2.Timeout(30, read=120, connect=10)


@dataclass(frozen=True, slots=True)
class Target:
    """Which installation a command is about, as its options say."""

    server: str | None = None
    key: str | None = None
    flags: Mapping[str, Any] | None = None
    """Flags that stand for settings, such as data and model."""
    work: bool = False
    """Whether runs have to be driven, if that is to be done in this process."""
    beside: bool = False
    """Whether it is to be done in this process, also where a server uses the data folder."""


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One event of a stream."""

    name: str
    data: str
    id: str | None = None


class Api:
    """REST calls; an answer that is a problem is raised as an error with the server's words."""

    def __init__(self, http: httpx2.AsyncClient, where: str) -> None:
        self._http = http
        self.where = where
        """The server's address, or what stands for this process."""

    async def get(self, path: str, **params: Any) -> Any:
        given = {name: value for name, value in params.items() if value is not None}
        # No parameters at all would take away the query that the path has.
        return await self.call("GET", path, **({"params": given} if given else {}))

    async def post(self, path: str, body: Any = None) -> Any:
        return await self.call("POST", path, json=body if body is not None else {})

    async def call(self, method: str, path: str, **options: Any) -> Any:
        """The JSON of an answer, None if it has no body.

        Raises:
            Unreachable: Nobody answers.
            Answered: The answer is a problem.
        """
        return read_json(await self.send(method, path, **options))

    async def send(self, method: str, path: str, **options: Any) -> httpx2.Response:
        """The answer itself, for its headers; raises as `call` does."""
        try:
            response = await self._http.request(method, path, **options)
        except httpx2.HTTPError as error:
            raise self._unreachable(error) from error
        if response.is_error:
            raise problem_of(response)
        return response

    async def stream(self, path: str, params: Mapping[str, Any]) -> AsyncGenerator[SseEvent]:
        """The events of a stream until it ends; raises as `call` does, also in the middle."""
        try:
            async with self._http.stream("GET", path, params=dict(params), timeout=TIMEOUT) as response:
                if response.is_error:
                    await response.aread()
                    raise problem_of(response)
                async for event in read_events(response.aiter_lines()):
                    yield event
        except httpx2.HTTPError as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: httpx2.HTTPError) -> Unreachable:
        reason = " ".join(str(error).split()) or type(error).__name__
        return Unreachable(
            f"the server at {self.where} does not answer: {reason}.",
            what_to_do="Start it with 'planwerk serve', or check the address.",
        )


@asynccontextmanager
async def connect(target: Target) -> AsyncGenerator[Api]:
    """Reach the installation a command is about.

    Raises:
        UsageFault: A server is given without a key, or with a flag that only this process could follow.
    """
    settings = load(target.flags).settings
    if target.server is not None:
        async with _remote(target.server, _key(target, settings)) as api:
            yield api
        return
    holder = holder_of(settings.data) if not target.beside else None
    if holder is not None:
        _refuse_flags(target, holder.url)
        async with _remote(holder.url, holder.key) as api:
            yield api
        return
    async with _here(settings, work=target.work, is_helper=target.beside) as api:
        yield api


def _key(target: Target, settings: Settings) -> str:
    assert target.server is not None
    _refuse_flags(target, target.server)
    if target.key is not None:
        return target.key
    if settings.api_key is not None:
        return settings.api_key.get_secret_value()
    raise UsageFault(
        "there is no API key for the server.",
        what_to_do="Give --key KEY, or set PLANWERK_API_KEY or PLANWERK_API_KEY_FILE.",
    )


def _refuse_flags(target: Target, url: str) -> None:
    """Refuse what only the process that drives the run can follow."""
    for name, what in (("model", "chooses the model"), ("app", "has its own blueprints")):
        if (target.flags or {}).get(name) is not None:
            raise UsageFault(
                f"the server at {without_credentials(url)} {what}, so --{name} has no effect.",
                what_to_do=f"Leave --{name} out, or stop that server first.",
            )


@asynccontextmanager
async def _remote(url: str, key: str) -> AsyncGenerator[Api]:
    base = url.rstrip("/")
    try:
        client = httpx2.AsyncClient(
            base_url=base if "://" in base else f"http://{base}",
            headers={"Authorization": f"Bearer {key}"},
            timeout=TIMEOUT,
            follow_redirects=True,
            trust_env=not is_loopback(base),  # a proxy cannot reach this machine's own address
        )
    except (httpx2.InvalidURL, ValueError, UnicodeError) as error:
        raise UsageFault(
            f"{url!r} is no address: {error}.", what_to_do="Give one like http://127.0.0.1:8321."
        ) from None
    async with client:
        yield Api(client, without_credentials(base))


@asynccontextmanager
async def _here(settings: Settings, *, work: bool, is_helper: bool) -> AsyncGenerator[Api]:
    """Run the installation in this process as long as the command takes."""
    from planwerk.cli.in_process import ADDRESS, InProcessTransport
    from planwerk.cli.installation import installation

    # What would go to a server's log is told by the command itself, in one line.
    logging.getLogger("planwerk").addHandler(logging.NullHandler())
    settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    planwerk = installation(settings)
    await planwerk.start(work=work, is_helper=is_helper, keep_schedules=False)
    try:
        application = planwerk.asgi()
        application.state.message_bytes = settings.limits.message_bytes
        transport = InProcessTransport(application, await planwerk.access.local_principal())
        async with httpx2.AsyncClient(transport=transport, base_url=ADDRESS, timeout=None) as client:
            yield Api(client, "this process")
    finally:
        await planwerk.stop(seconds=2.0)


def is_loopback(url: str) -> bool:
    """Whether an address is this machine's own."""
    host = urlsplit(url if "://" in url else f"http://{url}").hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read_json(response: httpx2.Response) -> Any:
    """The JSON of an answer, None if it has no body.

    Raises:
        Unreachable: It is something else, so this is no Planwerk server.
    """
    if not response.content:
        return None
    try:
        return response.json()
    except ValueError:
        raise Unreachable(
            f"what answers at {response.url.copy_with(path='/', query=None)} is no Planwerk server.",
            what_to_do="Check the address.",
        ) from None


def problem_of(response: httpx2.Response) -> Answered:
    """The error that a problem response stands for (RFC 9457)."""
    try:
        data: Any = response.json()
    except ValueError:
        data = {}
    told = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    detail = told.get("detail")
    return Answered(
        response.status_code,
        str(told.get("code") or f"http_{response.status_code}"),
        str(detail) if isinstance(detail, str) else f"the server answered {response.status_code}.",
        str(told.get("what_to_do") or ""),
    )


async def read_events(lines: AsyncIterator[str]) -> AsyncGenerator[SseEvent]:
    """Server-sent events from the lines of a stream; comments are left out."""
    name, data, position = "message", list[str](), None
    async for line in lines:
        if not line:
            if data:
                yield SseEvent(name, "\n".join(data), position)
            name, data, position = "message", [], None
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match field:
            case "event":
                name = value
            case "data":
                data.append(value)
            case "id":
                position = value
            case _:
                pass
