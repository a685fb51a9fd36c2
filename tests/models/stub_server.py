"""An OpenAI-compatible server on the loopback that answers exactly as a test tells it, byte for byte."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Ending: TypeAlias = Literal["done", "cut", "eof"]


@dataclass
class Status:
    """A whole JSON answer."""

    code: int
    body: Any
    headers: dict[str, str] = field(default_factory=dict[str, str])


@dataclass
class Sse:
    """A stream of chunks.

    `ending`: `done` sends `[DONE]` and ends properly; `cut` closes in the middle of the chunked body; `eof` closes a
    body without a length politely, as HTTP/1.0 servers do, without `[DONE]`.
    """

    chunks: Sequence[Any]
    ending: Ending = "done"
    pause_seconds: float = 0.0


Answer: TypeAlias = Status | Sse


def delta(**fields: Any) -> dict[str, Any]:
    return chunk({"index": 0, "delta": fields, "finish_reason": None})


def finish(reason: str | None) -> dict[str, Any]:
    return chunk({"index": 0, "delta": {}, "finish_reason": reason})


def chunk(*choices: Any, **more: Any) -> dict[str, Any]:
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "stub-model",
        "choices": list(choices),
        **more,
    }


def usage(prompt: int, completion: int) -> dict[str, Any]:
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return chunk(usage=counts)


def said(text: str) -> Sse:
    """An ordinary streamed answer."""
    return Sse([delta(role="assistant", content=""), delta(content=text), finish("stop"), usage(10, 2)])


def completion(content: str | None, **message: Any) -> Status:
    """An ordinary whole answer."""
    return Status(
        200,
        {
            "id": "c1",
            "object": "chat.completion",
            "created": 1,
            "model": "stub-model",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": content, **message},
                    "finish_reason": "tool_calls" if "tool_calls" in message else "stop",
                }
            ],
            "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
        },
    )


class StubServer:
    """Answers POSTs in the order given, and `GET /v1/models` with `models`."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.models: Any = {"object": "list", "data": [{"id": "stub-model", "object": "model"}]}
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.chunks_sent = 0
        self.client_left = asyncio.Event()
        self.base_url = ""

    def answer(self, *answers: Answer) -> None:
        self.answers += answers

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await self._serve(reader, writer)
        writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            method = line.decode().split(" ")[0]
            headers = await self._read_headers(reader)
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            self.headers.append(headers)
            if method == "GET":
                await self._whole(writer, Status(200, self.models))
                continue
            self.requests.append(json.loads(body))
            match self.answers.pop(0):
                case Status() as answer:
                    await self._whole(writer, answer)
                case Sse() as answer:
                    await self._stream(reader, writer, answer)
                    if answer.ending != "done":
                        return

    async def _read_headers(self, reader: asyncio.StreamReader) -> dict[str, str]:
        headers: dict[str, str] = {}
        while (line := (await reader.readline()).decode().strip()) != "":
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        return headers

    async def _whole(self, writer: asyncio.StreamWriter, answer: Status) -> None:
        body = answer.body.encode() if isinstance(answer.body, str) else json.dumps(answer.body).encode()
        kind = "text/html" if isinstance(answer.body, str) else "application/json"
        head = {"Content-Type": kind, "Content-Length": str(len(body)), **answer.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        writer.write(f"HTTP/1.1 {answer.code} X\r\n{lines}\r\n".encode() + body)
        await writer.drain()

    async def _stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Sse) -> None:
        packed = answer.ending != "eof"
        how = "Transfer-Encoding: chunked" if packed else "Connection: close"
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{how}\r\n\r\n".encode())
        leaving = asyncio.ensure_future(reader.read(1))
        try:
            for piece in [*answer.chunks, *(["[DONE]"] if answer.ending == "done" else [])]:
                data = piece if isinstance(piece, str) else json.dumps(piece)
                line = f"data: {data}\n\n".encode()
                writer.write(f"{len(line):x}\r\n".encode() + line + b"\r\n" if packed else line)
                await writer.drain()
                self.chunks_sent += 1
                done, _ = await asyncio.wait({leaving}, timeout=answer.pause_seconds)
                if done:
                    self.client_left.set()
                    return
            if answer.ending == "done":
                writer.write(b"0\r\n\r\n")
                await writer.drain()
        finally:
            leaving.cancel()
            with suppress(asyncio.CancelledError, ConnectionError):
                await leaving


@asynccontextmanager
async def stub_server() -> AsyncGenerator[StubServer, None]:
    stub = StubServer()
    server = await asyncio.start_server(stub.handle, "127.0.0.1", 0)
    stub.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield stub
    finally:
        server.close()
        await server.wait_closed()
