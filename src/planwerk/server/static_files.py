"""The built web client: hashed assets for ever, its page for every address of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.types import Receive, Scope, Send

STATIC: Final = Path(__file__).parent / "static"
OURS: Final = frozenset({"api", "v1", "health", "signin", "mcp"})
NOT_BUILT: Final = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Planwerk</title>
<p>The server runs, but its web client has not been built.</p>
<p>Run <code>make serve</code>, or <code>npm ci &amp;&amp; npm run build</code> in <code>ui/</code>.</p></html>"""


class WebClient:
    """Answers what no route does: a file of the folder, or its `index.html`, which finds its own way."""

    def __init__(self, folder: Path = STATIC) -> None:
        self._root = folder.resolve()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = str(scope["path"]).lstrip("/")
        if scope["type"] != "http" or path.split("/")[0] in OURS:
            raise HTTPException(404, "There is nothing at this address.")
        if scope["method"] not in {"GET", "HEAD"}:
            raise HTTPException(405, "A page can only be read.", headers={"Allow": "GET, HEAD"})
        await self._page(path)(scope, receive, send)

    def _page(self, path: str) -> Response:
        file = (self._root / path).resolve()
        is_asset = path.startswith("assets/")
        if path and file.is_relative_to(self._root) and file.is_file():
            caching = "public, max-age=31536000, immutable" if is_asset else "no-cache"
            return FileResponse(file, headers={"Cache-Control": caching})
        if is_asset:
            raise HTTPException(404, "There is no such file; the web client was probably updated. Reload the page.")
        index = self._root / "index.html"
        if not index.is_file():
            return HTMLResponse(NOT_BUILT, 503)
        return FileResponse(index, headers={"Cache-Control": "no-cache"})
