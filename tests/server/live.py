"""A real server on a loopback port, in the loop of the test: streams need one, transports in process buffer them."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import uvicorn

from planwerk.app import Planwerk
from planwerk.server.application import create_app


@dataclass(frozen=True, slots=True)
class LiveServer:
    """Where it listens, and a key for its owner."""

    url: str
    key: str
    planwerk: Planwerk
    application: Any

    def client(self, *, key: str | None = None) -> httpx2.AsyncClient:
        """A client with the owner's key, or with another."""
        headers = {"Authorization": f"Bearer {key or self.key}"}
        return httpx2.AsyncClient(base_url=self.url, headers=headers, timeout=30)


@asynccontextmanager
async def live_server(planwerk: Planwerk, **options: Any) -> AsyncGenerator[LiveServer]:
    """Serve an installation until the block ends."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    port = listener.getsockname()[1]
    application = create_app(planwerk, **options)
    config = uvicorn.Config(application, log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=5)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        while not server.started and not serving.done():  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.005)
        if serving.done():
            serving.result()
        key = (await planwerk.access.set_local_key(None)).text
        yield LiveServer(f"http://127.0.0.1:{port}", key, planwerk, application)
    finally:
        application.state.end_streams()
        server.should_exit = True
        await serving
        listener.close()
