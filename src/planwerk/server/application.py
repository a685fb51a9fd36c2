"""The HTTP application: every router, one error shape, the guards around them."""

from __future__ import annotations

import importlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI

from planwerk.server import problems
from planwerk.server.guards import MESSAGE_BYTES, Guards
from planwerk.server.parts import Parts
from planwerk.server.routes import accounts, health, keys, profiles, runs, server_info, session, threads, workspaces
from planwerk.server.sse import KEEP_ALIVE_SECONDS, StreamRegistry
from planwerk.server.static_files import static_router
from planwerk.server.version import version


def create_app(
    planwerk: Parts, *, message_bytes: int = MESSAGE_BYTES, keep_alive_seconds: float = KEEP_ALIVE_SECONDS
) -> FastAPI:
    """The application of an installation; it starts and stops the installation with itself.

    Args:
        message_bytes: Largest text of a message, in bytes of UTF-8.
        keep_alive_seconds: Pause between two signs of life of a stream that has nothing to say.
    """
    streams = StreamRegistry()

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
    app.state.keep_alive_seconds = keep_alive_seconds
    problems.install(app)
    for room in (health, server_info, session, accounts, keys, profiles, workspaces, threads, runs):
        app.include_router(room.router)
    for router in _further_routers(planwerk):
        app.include_router(router)
    app.include_router(static_router())
    app.add_middleware(Guards, message_bytes=lambda: app.state.message_bytes)
    return app


def _further_routers(planwerk: Parts) -> list[APIRouter]:
    """The OpenAI-compatible surface, which brings an error shape of its own."""
    try:
        module = importlib.import_module("planwerk.server.openai.router")
    except ModuleNotFoundError:
        return []
    return [module.openai_router(planwerk)]
