"""A real installation behind a real port, in the loop of the test, that can go away and come back."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import uvicorn

from planwerk.access.principal import Principal
from planwerk.app import DEFAULT_TENANT, Planwerk
from planwerk.server.application import create_app
from tests.e2e.live_model import LiveModel

OWNER_NAME: Final = "Anna Keller"
PASSWORD: Final = "a long walk by the lake"


class Served:
    """An installation with one owner, on a loopback port that stays the same when the server restarts.

    Args:
        options: Passed on to `Planwerk`: a clock, blueprints, profiles.
    """

    def __init__(self, data: Path, model: LiveModel, **options: Any) -> None:
        self.model = model
        self._storage = data / "planwerk.sqlite3"
        self._options = options
        self._port = 0

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._port}"

    async def start(self) -> None:
        """Open the installation and take requests."""
        self.planwerk = Planwerk(storage=self._storage, model=self.model, **self._options)
        self.application = create_app(self.planwerk)
        started = asyncio.Event()
        config = uvicorn.Config(
            self.application, log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=2
        )
        self._server = _Announcing(config, started)
        self._listener = self._listen()
        self._serving = asyncio.create_task(self._server.serve(sockets=[self._listener]))
        waiting = asyncio.create_task(started.wait())
        await asyncio.wait([waiting, self._serving], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if not started.is_set():
            self._listener.close()
            await self._serving
            raise RuntimeError("the server ended before it listened; its log says why")

    def _listen(self) -> socket.socket:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self._port))
        listener.listen(128)
        self._port = listener.getsockname()[1]
        return listener

    async def set_up_owner(self) -> Principal:
        """Give the owner a name and a password."""
        access = self.planwerk.access
        owner = (await access.list_accounts(DEFAULT_TENANT))[0]
        await access.set_name(DEFAULT_TENANT, owner.id, OWNER_NAME)
        await access.set_password(DEFAULT_TENANT, owner.id, PASSWORD)
        self.login = owner.login
        return await access.local_principal()

    async def stop(self) -> None:
        """End streams, requests and the installation."""
        self.application.state.end_streams()
        self._server.should_exit = True
        with suppress(asyncio.CancelledError):
            await self._serving
        self._listener.close()

    async def sign_in_link(self) -> str:
        """The link that `planwerk serve` prints."""
        return f"{self.url}/signin?token={await self.planwerk.access.issue_local_token()}"


class _Announcing(uvicorn.Server):
    """uvicorn that says when it listens."""

    def __init__(self, config: uvicorn.Config, started: asyncio.Event) -> None:
        super().__init__(config)
        self._told = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._told.set()
