"""`/health/live` and `/health/ready` (S6.1)."""

from __future__ import annotations

from fastapi import APIRouter, Response

from planwerk.server.parts import Installed
from planwerk.server.shapes import Health
from planwerk.server.version import version

router = APIRouter(tags=["health"])


@router.get("/health/live", operation_id="health_live")
async def live() -> Health:
    """The process answers."""
    return Health(status="ok", version=version())


@router.get("/health/ready", operation_id="health_ready")
async def ready(parts: Installed, response: Response) -> Health:
    """The installation has started and takes work; 503 while it does not."""
    if not parts.started:
        response.status_code = 503
        return Health(status="starting", version=version())
    return Health(status="ok", version=version())
