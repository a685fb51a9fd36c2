"""Serve an installation until told to end, and leave nothing half done (S1.1, S1.3, S1.7, S6.4)."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from os import getpid
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import uvicorn

from planwerk.access.keys import is_guessable
from planwerk.access.service import AccessService
from planwerk.models.catalogue import ModelCatalogue
from planwerk.server.data_lock import DataLock, Holder
from planwerk.workflow.errors import PlanwerkError

T = TypeVar("T")

BACKLOG: Final = 2_048
KEEP_ALIVE_SECONDS: Final = 75
"""Longer than usual proxies keep idle connections, so that it is never us who closes one they just reuse."""


class PortTaken(PlanwerkError):
    """Something listens on this port already (S1.7)."""

    code = "port_taken"
    http_status = 409

    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"port {port} on {host} is taken by another program.",
            what_to_do="Stop that one, or take another port with --port; --port 0 takes a free one.",
        )
        self.port = port


class CannotListen(PlanwerkError):
    """The address cannot be listened on."""

    code = "cannot_listen"


class BindRefused(PlanwerkError):
    """Others could reach the server, and nothing would ask them who they are (S1.3)."""

    code = "bind_refused"


class Installation(Protocol):
    """What is served; `planwerk.app.Planwerk` is one."""

    models: ModelCatalogue
    access: AccessService

    async def start(self) -> None: ...

    async def stop(self, *, seconds: float = ...) -> None: ...

    def asgi(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class ServingOptions:
    """Where and how to serve."""

    host: str
    port: int
    data: Path
    api_key: str | None = None
    shutdown_seconds: float = 10.0
    prepare: Callable[[Any], None] = lambda application: None
    """Called with the application before it takes requests."""


@dataclass(frozen=True, slots=True)
class Announcement:
    """What a person needs to come in."""

    url: str
    sign_in_url: str
    api_key: str
    model: str
    is_demo: bool
    data: Path
    pid: int


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run to the end on uvloop if it is installed, else on asyncio's own loop."""
    with asyncio.Runner(loop_factory=_fast_loop()) as runner:
        return runner.run(main)


async def serve(installation: Installation, options: ServingOptions, announce: Callable[[Announcement], None]) -> None:
    """Serve until SIGINT or SIGTERM; `announce` is called once requests are taken.

    Raises:
        DataFolderHeld: Another server uses the data folder.
        PortTaken: The port is in use.
        CannotListen: The address is none of this machine's, or the port is not for everybody.
        BindRefused: The address can be reached by others, and nobody has a password, or the fixed key is guessable.
    """
    lock = DataLock(options.data)
    try:
        listener = _listen(options.host, options.port)
        with listener:
            await installation.start()
            try:
                await _refuse_open_door(installation.access, listener, options)
                await _serve_on(listener, installation, options, lock, announce)
            finally:
                await installation.stop(seconds=options.shutdown_seconds)
    finally:
        lock.release()


async def _serve_on(
    listener: socket.socket,
    installation: Installation,
    options: ServingOptions,
    lock: DataLock,
    announce: Callable[[Announcement], None],
) -> None:
    url = _url(options.host, listener)
    key = (await installation.access.set_local_key(options.api_key)).text
    token = await installation.access.issue_local_token()
    application = installation.asgi()
    options.prepare(application)
    model = installation.models.default.name
    announcement = Announcement(
        url, f"{url}/signin?token={token}", key, model, installation.models.is_demo, options.data, getpid()
    )

    def told() -> None:
        lock.tell(Holder(getpid(), url, key))
        announce(announcement)

    config = uvicorn.Config(
        application,
        lifespan="off",  # the start and the end are here, with the limit the settings give
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=max(1, round(options.shutdown_seconds)),
    )
    warming = asyncio.create_task(_warm_up(installation.models))
    try:
        await _Server(config, on_started=told, on_ending=lambda: _end_streams(application)).serve(sockets=[listener])
    finally:
        warming.cancel()
        await asyncio.gather(warming, return_exceptions=True)


async def _warm_up(models: ModelCatalogue) -> None:
    with suppress(PlanwerkError):  # a model that cannot be made is told to whoever asks it
        await models.warm_up()


def _end_streams(application: Any) -> None:
    """Tell open streams to end; they would keep their connections open for ever."""
    end = getattr(application.state, "end_streams", None)
    if end is not None:
        end()


class _Server(uvicorn.Server):
    """uvicorn that says when it listens, ends streams first, and takes a signal as a reason to end, not to fail."""

    def __init__(
        self, config: uvicorn.Config, *, on_started: Callable[[], None], on_ending: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._on_started, self._on_ending = on_started, on_ending

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._on_ending()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


async def _refuse_open_door(access: AccessService, listener: socket.socket, options: ServingOptions) -> None:
    address = listener.getsockname()[0]
    if ip_address(address.partition("%")[0]).is_loopback:
        return
    if not await access.can_sign_in_remotely():
        raise BindRefused(
            f"{options.host} can be reached from other machines, and nobody has a password yet (S1.3).",
            what_to_do="Give one first: planwerk accounts set-password owner.",
        )
    if options.api_key is not None and is_guessable(options.api_key):
        raise BindRefused(
            f"{options.host} can be reached from other machines, and the fixed API key can be guessed (S1.3).",
            what_to_do="Take a key of 20 characters or more, made at random, or none.",
        )


def _listen(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError:
        raise CannotListen(
            f"{host!r} is no address of this machine.", what_to_do="Use --host 127.0.0.1, or leave it out."
        ) from None
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(host, port) from None
        raise CannotListen(
            f"{host} port {port} cannot be listened on: {error.strerror}.",
            what_to_do="Take another --host or --port.",
        ) from None
    listener.setblocking(False)
    return listener


def _url(host: str, listener: socket.socket) -> str:
    """The address to open; for a server on all addresses, this machine's own."""
    address, port = listener.getsockname()[:2]
    shown = "127.0.0.1" if ip_address(address.partition("%")[0]).is_unspecified else host
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


def _fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
