"""One request to the application in this process, as the server below it makes one; streams too."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message


@dataclass(slots=True)
class Answer:
    """What came back: of a stream, its beginning."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    read: int = 0
    """Bytes of the request that the application took."""

    @property
    def json(self) -> Any:
        return json.loads(self.body)


async def ask(
    application: ASGIApp,
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: Any = None,
    pieces: Iterable[bytes] | AsyncIterable[bytes] = (),
    server: tuple[str, int] | None = ("127.0.0.1", 8321),
) -> Answer:
    """Ask, and leave once the status of a stream is known."""
    split = urlsplit(url)
    answer = Answer()
    sent = {"host": "127.0.0.1:8321", **{name.lower(): value for name, value in (headers or {}).items()}}
    if body is not None:
        pieces = [json.dumps(body).encode()]
        sent.setdefault("content-type", "application/json")
    parts = _parts(pieces)
    leaves = asyncio.Event()

    async def receive() -> Message:
        piece = await anext(parts, None)
        if piece is not None:
            answer.read += len(piece)
            return {"type": "http.request", "body": piece, "more_body": True}
        if not leaves.is_set() and not sending_over.is_set():
            sending_over.set()
            return {"type": "http.request", "body": b"", "more_body": False}
        await leaves.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            return
        answer.body += message.get("body", b"")
        if answer.headers.get("content-type", "").startswith("text/event-stream"):
            leaves.set()

    sending_over = asyncio.Event()
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": split.path,
        "raw_path": split.path.encode(),
        "query_string": split.query.encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
        "client": ("127.0.0.1", 50_000),
        "server": server,
    }
    async with asyncio.timeout(20):
        await application(scope, receive, send)
    return answer


async def _parts(pieces: Iterable[bytes] | AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    if isinstance(pieces, AsyncIterable):
        async for piece in pieces:
            yield piece
    else:
        for piece in pieces:
            yield piece
