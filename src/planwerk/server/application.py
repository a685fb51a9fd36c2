"""The HTTP application: every router, one error shape, the guards around them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager

from fastapi import FastAPI

from planwerk.server import problems
from planwerk.server.body_limit import MESSAGE_BYTES, BodyLimit
from planwerk.server.guards import Guards
from planwerk.server.openai.router import openai_router
from planwerk.server.openapi import describe
from planwerk.server.parts import Parts
from planwerk.server.request_log import RequestLog
from planwerk.server.routes import (
    accounts,
    health,
    keys,
    knowledge,
    memories,
    profiles,
    requests,
    run_insight,
    runs,
    schedules,
    server_info,
    session,
    threads,
    workspaces,
)
from planwerk.server.sse import KEEP_ALIVE_SECONDS, SLOW_SECONDS, StreamLimits, StreamRegistry
from planwerk.server.static_files import WebClient
from planwerk.server.version import version


def create_app(
    planwerk: Parts,
    *,
    message_bytes: int = MESSAGE_BYTES,
    keep_alive_seconds: float = KEEP_ALIVE_SECONDS,
    slow_seconds: float = SLOW_SECONDS,
    hosts: Collection[str] = (),
) -> FastAPI:
    """The application of an installation; it starts and stops the installation with itself.

    Args:
        message_bytes: Largest text of a message, in bytes of UTF-8.
        keep_alive_seconds: Pause between two signs of life of a stream that has nothing to say.
        slow_seconds: How long the reader of a stream may take nothing before it is dropped.
        hosts: Names under which a proxy passes requests on to a server on loopback, beside the loopback's own.
    """
    streams = StreamRegistry(StreamLimits(keep_alive_seconds=keep_alive_seconds, slow_seconds=slow_seconds))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        await planwerk.start()
        try:
            yield
        finally:
            streams.end_all()
            await planwerk.stop()

    app = FastAPI(
        title="Planwerk",
        version=version(),
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        responses={"default": {"model": problems.Problem, "description": "What went wrong (RFC 9457)."}},
    )
    app.state.planwerk = planwerk
    app.state.streams = streams
    app.state.end_streams = streams.end_all
    app.state.message_bytes = message_bytes
    app.state.hosts = frozenset(hosts)
    app.state.keep_alive_seconds = keep_alive_seconds
    problems.install(app)
    rooms = (
        *(health, server_info, session, accounts, keys, profiles, schedules, workspaces, threads),
        *(runs, run_insight, requests, memories, knowledge),
    )
    for room in rooms:
        app.include_router(room.router)
    app.include_router(openai_router(planwerk))
    app.router.default = WebClient()
    app.router.redirect_slashes = False
    describe(app)
    app.add_middleware(BodyLimit, message_bytes=lambda: app.state.message_bytes, file_bytes=lambda: planwerk.file_bytes)
    app.add_middleware(RequestLog)
    app.add_middleware(Guards, hosts=lambda: app.state.hosts)
    return app
