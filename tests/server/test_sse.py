"""Event streams by themselves: framing, keep-alive, bounded memory, and how they end (W3)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from starlette.types import Message

from planwerk.server.sse import (
    EventStream,
    EventStreamResponse,
    Feeder,
    Recheck,
    StreamLimits,
    StreamRegistry,
    sse_json,
)
from tests.server.reading import Event, Parser, read_eager, read_standard

FAST = StreamLimits(keep_alive_seconds=0.02, slow_seconds=0.02)
PATIENT = StreamLimits(keep_alive_seconds=60, slow_seconds=60)


class Reader:
    """The client's end of a response, in this process: it may stop taking, and leave."""

    def __init__(self, limits: StreamLimits, *feeders: Feeder, recheck: Recheck | None = None) -> None:
        self.registry = StreamRegistry(limits)
        self._response = EventStreamResponse(*feeders, registry=self.registry, recheck=recheck)
        self._left = asyncio.Event()
        self.takes = asyncio.Event()
        self.takes.set()
        self.started: Message = {}
        self.chunks: list[bytes] = []
        self.whole = False
        self._changed = asyncio.Event()
        self.task = asyncio.create_task(self._response({"type": "http"}, self._receive, self._send))

    async def _receive(self) -> Message:
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = message
            return
        await self.takes.wait()
        self.chunks.append(message["body"])
        self.whole = not message["more_body"]
        self._changed.set()

    def leave(self) -> None:
        self._left.set()

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)

    @property
    def events(self) -> list[Event]:
        return read_standard(self.body)

    @property
    def shown(self) -> list[tuple[str, Any]]:
        return [(event.event, event.json) for event in self.events if event.event != "comment"]

    async def until(self, wanted: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not wanted():
                self._changed.clear()
                await self._changed.wait()

    async def ended(self) -> None:
        async with asyncio.timeout(10):
            await self.task


async def nothing(_: EventStream) -> None:
    """Feeds nothing and is done."""


async def for_ever(_: EventStream) -> None:
    await asyncio.Event().wait()


def numbers(count: int, payload: str = "") -> Feeder:
    async def feed(stream: EventStream) -> None:
        for number in range(1, count + 1):
            await stream.send("log", {"n": number, "payload": payload}, id=number)

    return feed


@pytest.mark.parametrize("text", ["first\u2028second\u2029third\u0085✅", "a\nb\r\nc\rd", "晴れ 🐢", '"\\u2028"', ""])
def test_srv_03_every_reader_gets_the_exact_text_in_one_event(text: str) -> None:
    body = f"data: {sse_json({'text': text})}\n\n".encode()

    assert [event.json["text"] for event in read_standard(body)] == [text]
    assert [event.json["text"] for event in read_eager(body)] == [text]


async def test_srv_01_a_stream_reads_the_same_wherever_its_bytes_are_cut() -> None:
    async def feed(stream: EventStream) -> None:
        await stream.send("live", {"text": "晴れ 🐢"}, id=7)

    reader = Reader(PATIENT, feed)
    await reader.ended()

    for place in range(1, len(reader.body)):
        parser = Parser()
        events = [*parser.feed(reader.body[:place]), *parser.feed(reader.body[place:])]
        assert [(event.event, event.id, event.json) for event in events] == [
            ("live", "7", {"text": "晴れ 🐢"}),
            ("end", None, {"reason": "complete"}),
        ]


async def test_a_stream_begins_with_the_pause_for_a_retry_and_forbids_caching_and_buffering() -> None:
    reader = Reader(PATIENT, nothing)
    await reader.ended()

    headers = {name.decode(): value.decode() for name, value in reader.started["headers"]}
    assert reader.body.startswith(b"retry: 2000\n\n")
    assert headers["content-type"].startswith("text/event-stream")
    assert headers["cache-control"] == "no-store, no-transform"
    assert headers["x-accel-buffering"] == "no"
    assert "content-length" not in headers


async def test_all_that_waits_goes_out_in_one_piece() -> None:
    reader = Reader(PATIENT, numbers(50))
    await reader.ended()

    assert len(reader.events) == 51
    assert len(reader.chunks) <= 4


async def test_a_quiet_stream_gives_signs_of_life_that_no_reader_takes_for_events() -> None:
    reader = Reader(FAST, for_ever)
    await reader.until(lambda: reader.body.count(b": keep-alive\n\n") >= 3)
    reader.leave()
    await reader.ended()

    assert reader.shown == []
    assert all(event.id is None for event in reader.events)


async def test_the_end_is_said_also_when_it_comes_while_something_is_written() -> None:
    reader = Reader(PATIENT, numbers(1), for_ever)
    reader.takes.clear()
    await asyncio.sleep(0)
    reader.registry.end_all()
    reader.takes.set()
    await reader.ended()

    assert reader.shown[-1][0] == "end"
    assert reader.whole


async def test_a_server_that_ends_tells_every_reader() -> None:
    reader = Reader(PATIENT, for_ever)
    await reader.until(lambda: bool(reader.chunks))

    reader.registry.end_all()
    await reader.ended()

    assert reader.shown == [("end", {"reason": "shutdown"})]
    assert (reader.whole, len(reader.registry)) == (True, 0)


async def test_a_feeder_that_fails_ends_the_stream_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    async def fails(_: EventStream) -> None:
        raise ValueError("broken")

    reader = Reader(PATIENT, for_ever, fails)
    await reader.ended()

    assert reader.shown == [("end", {"reason": "error"})]
    assert "a stream failed" in caplog.text


async def test_srv_07_a_reader_that_leaves_leaves_no_task_behind() -> None:
    before = asyncio.all_tasks()
    reader = Reader(PATIENT, for_ever, for_ever)
    await reader.until(lambda: bool(reader.chunks))

    reader.leave()
    await reader.ended()

    assert asyncio.all_tasks() == before
    assert len(reader.registry) == 0


async def test_rights_are_looked_at_again_also_while_events_flow() -> None:
    looked = 0

    async def recheck() -> str | None:
        nonlocal looked
        looked += 1
        return "signed_out" if looked == 3 else None

    async def flows(stream: EventStream) -> None:
        while True:
            await stream.send("live", {})
            await asyncio.sleep(0)

    reader = Reader(FAST, flows, recheck=recheck)
    await reader.ended()

    assert reader.shown[-1] == ("end", {"reason": "signed_out"})
    assert looked == 3


async def test_srv_11_a_reader_that_stops_reading_is_dropped_and_holds_up_nobody() -> None:
    amount = 10_000
    limits = StreamLimits(keep_alive_seconds=60, slow_seconds=0.05)
    held = 0

    async def watched(stream: EventStream) -> None:
        nonlocal held
        for number in range(1, amount + 1):
            await stream.send("log", {"payload": "x" * 1024}, id=number)
            held = max(held, stream.held)

    asleep = Reader(limits, watched)
    asleep.takes.clear()
    awake = Reader(limits, numbers(amount, "x" * 1024))

    async with asyncio.timeout(5):
        await awake.task
    assert [event.json["n"] for event in awake.events if event.event == "log"] == list(range(1, amount + 1))
    await asleep.ended()
    assert held <= 100


async def test_srv_11_a_reader_that_wakes_up_learns_why_it_was_dropped_and_from_where_to_resume() -> None:
    stream: asyncio.Future[EventStream] = asyncio.get_running_loop().create_future()

    async def feed(into: EventStream) -> None:
        stream.set_result(into)
        await numbers(300)(into)

    reader = Reader(StreamLimits(keep_alive_seconds=60, slow_seconds=0.5), feed)
    reader.takes.clear()
    async with asyncio.timeout(10):
        await (await stream).dropped.wait()
    reader.takes.set()
    await reader.ended()

    assert reader.shown[-1] == ("end", {"reason": "too_slow"})
    seen = [int(event.id) for event in reader.events if event.id is not None]
    assert seen == list(range(1, len(seen) + 1))
    assert len(seen) < 300


async def test_feeders_that_wait_together_do_not_fill_more_than_the_limit() -> None:
    stream = EventStream(StreamLimits(max_waiting=3))
    tasks = [asyncio.create_task(stream.send("log", {"n": number})) for number in range(10)]
    most = 0
    async with asyncio.timeout(10):
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            most = max(most, stream.held)
            await stream.take(seconds=1)

    assert most == 3
