"""The built web client: hashed assets for ever, its page for every address of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, Response

STATIC: Final = Path(__file__).parent / "static"
OURS: Final = ("api", "v1", "health", "signin", "mcp")
NOT_BUILT: Final = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Planwerk</title>
<p>The server runs, but its web client has not been built.</p>
<p>Run <code>make serve</code>, or <code>npm ci &amp;&amp; npm run build</code> in <code>ui/</code>.</p></html>"""


def static_router(folder: Path = STATIC) -> APIRouter:
    """Serves the files of a folder, and its `index.html` for all that is no file."""
    router = APIRouter(include_in_schema=False)
    root = folder.resolve()

    @router.api_route("/{path:path}", methods=["GET", "HEAD"])
    async def page(request: Request, path: str) -> Response:
        if path.split("/")[0] in OURS:
            raise HTTPException(404, "There is nothing at this address.")
        file = (root / path).resolve()
        if path and file.is_relative_to(root) and file.is_file():
            lasting = path.startswith("assets/")
            caching = "public, max-age=31536000, immutable" if lasting else "no-cache"
            return FileResponse(file, headers={"Cache-Control": caching})
        if path.startswith("assets/"):
            raise HTTPException(404, "There is no such file; the web client was probably updated. Reload the page.")
        index = root / "index.html"
        if not index.is_file():
            return HTMLResponse(NOT_BUILT, 503)
        return FileResponse(index, headers={"Cache-Control": "no-cache"})

    return router
