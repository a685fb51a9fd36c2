"""`/api/server`: what a client needs before anybody has signed in."""

from __future__ import annotations

from fastapi import APIRouter, Request

from planwerk.access.actions import SERVER, Action
from planwerk.access.authorize import authorize
from planwerk.locales import LOCALES
from planwerk.server.parts import Installed
from planwerk.server.shapes import Limits, ServerInfo, SignInWays
from planwerk.server.version import version

router = APIRouter(tags=["server"])


@router.get("/api/server", operation_id="read_server")
async def read_server(request: Request, parts: Installed) -> ServerInfo:
    """Version, languages, limits, and whether only the demo model answers."""
    authorize(None, Action.SERVER_READ, SERVER)
    return ServerInfo(
        version=version(),
        demo_model=parts.models.is_demo,
        default_model=parts.models.default.name,
        sign_in=SignInWays(local=True, token=True),
        locales=list(LOCALES),
        limits=Limits(message_bytes=request.app.state.message_bytes),
    )
