"""A turn as its watcher sees it, whatever the stream does."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

import pytest
import typer
from rich.console import Console

from planwerk.cli.client import Api, SseEvent
from planwerk.cli.errors import Answered, Unreachable
from planwerk.cli.exit_codes import ExitCode
from planwerk.cli.interrupts import Interrupts, run_interruptibly
from planwerk.cli.rendering import DrawnMarkdown, StreamedText, WholeAnswer
from planwerk.cli.turns import LiveAnswer, Talk, Turn
from planwerk.testing import virtual_time

RUN = "the-run"


def delta(text: str, *, attempt: int = 1, response: int = 0, part: int = 0, run: str = RUN) -> dict[str, Any]:
    place = {"run": run, "attempt": attempt, "response": response, "part": part}
    return {"type": "text_delta", "text": text, **place}


def live(frame: Mapping[str, Any]) -> SseEvent:
    return SseEvent("live", json.dumps(frame))


def log(seq: int, kind: str, **data: Any) -> SseEvent:
    return SseEvent("log", json.dumps({"type": kind, "position": seq, "data": {"run_id": RUN, **data}}), str(seq))


REPLY = log(12, "message_posted", content="One two", follow_ups=["Three?"])
END = log(13, "run_ended", status="completed", usage={"input_tokens": 3}, cost=None, error=None)


class FakeApi(Api):
    """Plays streams one after the other; an error in one is raised where it stands."""

    def __init__(self, *streams: Sequence[SseEvent | Exception]) -> None:
        self.plays(*streams)
        self.asked: list[int] = []
        self.posted: list[str] = []
        self.refuse_stops = 0
        self.where = "a test"

    def plays(self, *streams: Sequence[SseEvent | Exception]) -> None:
        self._streams = list(streams)

    async def get(self, path: str, **params: Any) -> Any:
        return {"private_workspace": "w"}

    async def post(self, path: str, body: Any = None) -> Any:
        self.posted.append(path)
        if path.endswith("/stop") and self.refuse_stops:
            self.refuse_stops -= 1
            raise Answered(404, "run_not_found", "not yet", "")
        return {"run_id": RUN, "seq": 10}

    async def stream(self, path: str, params: Mapping[str, Any]) -> AsyncGenerator[SseEvent]:
        if path.startswith("/api/runs/"):
            return
        self.asked.append(params["after"])
        if not self._streams:
            raise Unreachable("gone.", what_to_do="Wait.")
        for event in self._streams.pop(0):
            if isinstance(event, Exception):
                raise event
            yield event
            await asyncio.sleep(0)


class Seen:
    def __init__(self) -> None:
        self.texts: list[str] = []

    def text(self, text: str) -> None:
        self.texts.append(text)

    def activity(self, label: str) -> None:
        raise AssertionError(label)


async def ask(api: FakeApi) -> tuple[Turn, Seen]:
    seen = Seen()
    with virtual_time():
        return await (await Talk.begin(api, "assistant")).ask("Hello", seen), seen


async def test_the_answer_grows_and_ends_as_the_log_says() -> None:
    turn, seen = await ask(
        FakeApi([live(delta("One")), live(delta("Other", run="x")), live(delta(" two")), REPLY, END])
    )

    assert seen.texts == ["One", "One two"]
    assert (turn.status, turn.text, turn.follow_ups) == ("completed", "One two", ("Three?",))
    assert turn.usage == {"input_tokens": 3}


async def test_a_stream_that_breaks_is_taken_up_where_the_log_was() -> None:
    gone = Unreachable("gone.", what_to_do="")
    snapshot = {"type": "snapshot", "run": RUN, "n": 2, "responses": [
        {"attempt": 1, "response": 0, "parts": [{"part": 0, "kind": "text", "text": "One two", "ended": False}]}
    ]}  # fmt: skip
    api = FakeApi([log(11, "run_started"), live(delta("One")), gone], [gone], [live(snapshot), REPLY], [END])

    turn, seen = await ask(api)

    assert api.asked == [9, 11, 11, 12]
    assert seen.texts == ["One", "One two"]
    assert (turn.status, turn.text) == ("completed", "One two")


async def test_a_server_that_does_not_come_back_is_given_up() -> None:
    with pytest.raises(Unreachable, match="gone"):
        await ask(FakeApi([log(11, "run_started")]))


async def test_a_refusal_in_the_stream_is_told_at_once() -> None:
    with pytest.raises(Answered, match="no key"):
        await ask(FakeApi([Answered(401, "key_refused", "no key", "")]))


async def test_a_stop_waits_for_the_run_to_be_opened() -> None:
    api = FakeApi()
    talk = await Talk.begin(api, "assistant")
    talk.current, api.refuse_stops = Turn("t", RUN), 3

    with virtual_time():
        await talk.stop()

    assert api.posted == [f"/api/runs/{RUN}/stop"] * 4


async def test_a_turn_that_has_ended_is_not_stopped() -> None:
    api = FakeApi()
    talk = await Talk.begin(api, "assistant")
    talk.current = Turn("t", RUN, status="completed")

    await talk.stop()

    assert api.posted == []


def test_the_latest_attempt_s_latest_response_is_the_answer() -> None:
    answer = LiveAnswer()
    frames = [
        delta("first"),
        {"type": "part_started", "kind": "thinking", "attempt": 1, "response": 1, "part": 0},
        {"type": "thinking_delta", "text": "hm", "attempt": 1, "response": 1, "part": 0},
        delta("second", response=1, part=1),
        delta("again", attempt=2),
    ]

    assert [answer.take(frame) and answer.text for frame in frames] == ["first", False, False, "second", "again"]


def test_a_pipe_gets_the_answer_once_and_whole(capsys: pytest.CaptureFixture[str]) -> None:
    with WholeAnswer() as screen:
        screen.text("Half")
    screen.end(Turn("t", RUN, text="Whole"))

    assert capsys.readouterr().out == "Whole\n"


def test_streamed_text_is_printed_piece_by_piece_and_begins_anew_on_a_new_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with StreamedText() as screen:
        for text in ("One", "One two", "Again"):
            screen.text(text)
    screen.end(Turn("t", RUN, text="Again."))

    assert capsys.readouterr().out == "One two\n\nAgain.\n"


def test_a_drawn_answer_ends_as_markdown_without_the_activity_line() -> None:
    out = Console(file=io.StringIO(), force_terminal=True, width=40, height=6, color_system=None)
    with DrawnMarkdown(out) as screen:
        screen.activity("Answer")
        screen.text("\n".join(f"- point {number}" for number in range(20)))
    screen.end(Turn("t", RUN, text="# Title\n\n**done**"))

    printed = str(out.file.getvalue()) if isinstance(out.file, io.StringIO) else ""
    last = printed.rpartition("\x1b[?25h")[2]
    assert "· Answer …" in printed
    assert "point 19" in printed
    assert "point 0" not in printed
    assert "Title" in last
    assert "**" not in last
    assert "Answer" not in last


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_once_stops_and_twice_leaves() -> None:
    stops: list[str] = []

    async def main(interrupts: Interrupts) -> None:
        stopped = asyncio.Event()

        async def stop() -> None:
            stops.append("stop")
            stopped.set()

        with interrupts.stopping(stop):
            interrupt()
            await stopped.wait()
            interrupt()
            await asyncio.Event().wait()

    with pytest.raises(typer.Exit) as caught:
        run_interruptibly(main)

    assert stops == ["stop"]
    assert caught.value.exit_code == ExitCode.LEFT


def test_ctrl_c_while_nothing_runs_leaves() -> None:
    async def main(interrupts: Interrupts) -> None:
        interrupt()
        await asyncio.Event().wait()

    with pytest.raises(typer.Exit) as caught:
        run_interruptibly(main)

    assert caught.value.exit_code == ExitCode.LEFT


async def test_what_is_said_meanwhile_and_comes_too_late_is_followed_as_a_turn_of_its_own() -> None:
    class Talkative(FakeApi):
        """Takes the first thing that is said into the run, and queues the second; the first came too late after all."""

        async def post(self, path: str, body: Any = None) -> Any:
            if body is not None and body.get("when") == "now":
                self.posted.append(body["message_id"])
                return {"run_id": RUN if body["content"] == "first" else "queued", "seq": 11}
            return await super().post(path, body)

    def own(seq: int, kind: str, run: str, **data: Any) -> SseEvent:
        return log(seq, kind, **{"run_id": run, **data})

    api = Talkative()
    talk = await Talk.begin(api, "assistant")
    seen = Seen()
    api.plays([log(11, "run_started"), END])
    with virtual_time():
        await talk.ask("Hello", seen)
        went = [await talk.say("first"), await talk.say("second")]
        asked = own(12, "run_requested", "late", message_id=api.posted[-2])
        ends = [own(14 + n, "run_ended", run, status="completed") for n, run in enumerate(["queued", "late"])]
        api.plays([asked, ends[0]], [ends[1]])
        followed: list[str] = []
        while talk.has_next:
            followed.append((await talk.next_turn(seen)).run)

    assert (went, followed) == ([True, False], ["queued", "late"])
