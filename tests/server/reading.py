"""Readers of event streams: one after the standard, and one that also takes Unicode's line separators for line ends."""

from __future__ import annotations

import asyncio
import codecs
import json
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

PATIENCE_SECONDS = 20
LINE_END = re.compile("\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Event:
    """One event, or a comment, as a reader sees it."""

    event: str
    data: str
    id: str | None = None

    @property
    def json(self) -> Any:
        return json.loads(self.data)


@dataclass(slots=True)
class Parser:
    """Reads a stream as the standard says (WHATWG HTML 9.2.6), in whatever pieces its bytes come."""

    _decoder: codecs.IncrementalDecoder = field(default_factory=codecs.getincrementaldecoder("utf-8"))
    _text: str = ""
    _lines: list[str] = field(default_factory=list[str])
    retry: int | None = None
    """What the server asked to wait before the next try, in milliseconds."""

    def feed(self, piece: bytes) -> list[Event]:
        """The events that are whole now."""
        self._text += self._decoder.decode(piece)
        events: list[Event] = []
        while (end := LINE_END.search(self._text)) is not None:
            if end.group() == "\r" and end.end() == len(self._text):
                break  # the line feed that belongs to it may come in the next piece
            line, self._text = self._text[: end.start()], self._text[end.end() :]
            if line:
                self._lines.append(line)
            elif self._lines:
                event = self._event()
                if event is not None:
                    events.append(event)
        return events

    def _event(self) -> Event | None:
        lines, self._lines = self._lines, []
        fields: dict[str, str] = {}
        data: list[str] = []
        for line in lines:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "data":
                data.append(value)
            elif name == "retry":
                self.retry = int(value)
            elif name:
                fields[name] = value
            else:
                fields["event"] = "comment"
                data.append(value)
        if not data:
            return None
        return Event(fields.get("event", "message"), "\n".join(data), fields.get("id"))


def read_standard(body: bytes) -> list[Event]:
    """All events of a whole stream, after the standard."""
    return Parser().feed(body)


def read_eager(body: bytes) -> list[Event]:
    """All events by a reader that ends lines where Unicode does: at U+2028, U+2029 and U+0085 too (SRV-03)."""
    return Parser().feed("\n".join(body.decode().splitlines()).encode() + b"\n\n")


class Stream:
    """An open stream of a server."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self.parser = Parser()
        self.raw = b""
        """All bytes so far."""
        self._events = self._read()

    async def _read(self) -> AsyncGenerator[Event]:
        async with aclosing(self.response.aiter_raw()) as pieces:
            async for piece in pieces:
                self.raw += piece
                for event in self.parser.feed(piece):
                    yield event

    async def next(self, *, comments: bool = False) -> Event:
        """The next event, without comments unless they are asked for.

        Raises:
            StopAsyncIteration: The stream has ended.
        """
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                event = await anext(self._events)
                if comments or event.event != "comment":
                    return event

    async def until(self, wanted: Callable[[Event], bool]) -> list[Event]:
        """The events up to and including the first that is wanted."""
        events = [await self.next()]
        while not wanted(events[-1]):
            events.append(await self.next())
        return events

    async def rest(self) -> list[Event]:
        """All events to the end of the stream."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            return [event async for event in self._events if event.event != "comment"]


@asynccontextmanager
async def open_stream(client: httpx2.AsyncClient, url: str, **options: Any) -> AsyncGenerator[Stream]:
    """Read a stream until the block ends; then the connection is closed, as a tab is."""
    async with client.stream("GET", url, **options) as response:
        assert response.status_code == 200, (await response.aread(), response.status_code)
        yield Stream(response)


def named(name: str) -> Callable[[Event], bool]:
    """Whether an event is of this name."""
    return lambda event: event.event == name


def logged(type_: str) -> Callable[[Event], bool]:
    """Whether an event is an entry of the log of this type."""
    return lambda event: event.event == "log" and event.json["type"] == type_
