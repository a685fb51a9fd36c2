"""One turn for a client of this protocol: what its run says, as it says it, and what it used in the end.

Theory of operation. Text comes from live frames, which are never the only copy of anything: what a reader missed is in
the run's stop. Frames and journal are taken in turns by whoever reads, never faster, so a slow client costs no memory:
the watch behind it is bounded and comes back with a snapshot of which only the rest is told.

Only answers stream: tasks around them (title, follow-ups) are asked by `Predicting`, which shows nothing. Where a run
answers in several goes, or is taken up again after it broke off, a blank line parts them; the words of the stop are
told if they are not the ones that were streamed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from planwerk.access.principal import Principal
from planwerk.messages.events import FollowUpsSuggestedEvent, LLMStopEvent, RefusalStopEvent
from planwerk.runtime.errors import RunFailed
from planwerk.runtime.live import LiveFrame, LiveSnapshot
from planwerk.runtime.wire import RunWire
from planwerk.server.openai.asking import as_text, asked_at_last
from planwerk.server.parts import Parts
from planwerk.workflow import entries as journal
from planwerk.workflow.events import ExceptionEvent, StopEvent
from planwerk.workflow.ids import EventId, RunId
from planwerk.workflow.people import AskPersonEvent

log = logging.getLogger(__name__)

KNOWN_SECONDS: Final = 5.0
"""How long an answer that ends in a question waits for the log to know of it."""
Kind = Literal["text", "reasoning", "refusal", "step", "follow_ups"]
FINISHES: dict[str | None, str] = {"length": "length", "content_filter": "content_filter"}
"""Of a model's reasons to end; every other is `stop`."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Something to tell the client."""

    kind: Kind
    text: str = ""
    items: tuple[str, ...] = ()


@dataclass(slots=True)
class Usage:
    """Tokens over all model calls of the run."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    reasoning: int = 0

    def add(self, usage: Mapping[str, int]) -> None:
        self.prompt += usage.get("input_tokens", 0)
        self.completion += usage.get("output_tokens", 0)
        self.cached += usage.get("cached_tokens", 0)
        self.reasoning += usage.get("reasoning_tokens", 0)


@dataclass(slots=True)
class Said:
    """What has been told of the answers so far."""

    _lengths: dict[tuple[int, int, int], int] = field(default_factory=dict[tuple[int, int, int], int])
    _answers: dict[tuple[int, int], str] = field(default_factory=dict[tuple[int, int], str])
    _last_part: tuple[int, int, int] | None = None

    def snapshot(self, snapshot: LiveSnapshot) -> list[Piece]:
        """What of all that was said has not been told yet."""
        found: list[Piece] = []
        for response in snapshot.responses:
            for part in response["parts"]:
                key = (response["attempt"], response["response"], part["part"])
                found += self.add(key, part["kind"], part["text"][self._lengths.get(key, 0) :])
        return found

    @property
    def anything(self) -> bool:
        """Whether any words have been told."""
        return bool(self._answers)

    def skip(self, snapshot: LiveSnapshot) -> None:
        """What was said up to here has been told in an earlier turn."""
        for response in snapshot.responses:
            for part in response["parts"]:
                self._lengths[response["attempt"], response["response"], part["part"]] = len(part["text"])

    def add(self, key: tuple[int, int, int], kind: str, text: str) -> list[Piece]:
        """Words of a part: parts that follow each other are one text, others are apart, as `ModelResponse.text` is."""
        if not text or kind not in {"text", "thinking"}:
            return []
        self._lengths[key] = self._lengths.get(key, 0) + len(text)
        if kind == "thinking":
            return [Piece("reasoning", text)]
        joint = "" if self._joins(key) else "\n\n"
        self._last_part = key
        response = key[:2]
        if response in self._answers:
            self._answers[response] += joint + text
        else:
            self._answers[response] = text
        return [Piece("text", joint + text)]

    def rest(self, whole: str) -> list[Piece]:
        """What of the run's last words has not been told: all of it, or what a reader missed."""
        said = list(self._answers.values())[-1] if self._answers else ""
        if whole.startswith(said):
            return [Piece("text", whole[len(said) :])] if len(whole) > len(said) else []
        told = "".join("".join(self._answers.values()).split())
        return [] if "".join(whole.split()) in told else [Piece("text", f"\n\n{whole}")]

    def _joins(self, key: tuple[int, int, int]) -> bool:
        last = self._last_part
        return last is None or (key[:2] == last[:2] and key[2] - last[2] in {0, 1})


class Turn:
    """A run that answers one request.

    Args:
        owned: Whether it stops when its connection closes: a request without a thread (E4.7).
        locale: In which what it asks is told.
        link: Where its thread is shown to people.
    """

    def __init__(
        self, parts: Parts, principal: Principal, run: RunId, *, owned: bool, locale: str | None = None, link: str = ""
    ) -> None:
        self.run = run
        self._locale = locale
        self._link = link
        self.owned = owned
        self.usage = Usage()
        self.stop: StopEvent | None = None
        """Once all has been told: how the run ended."""
        self._parts = parts
        self._principal = principal
        self._watch = parts.live.watch([run])
        self._said = Said()
        self._follow_ups: tuple[str, ...] = ()
        self._ended = False
        self._after = 0
        """Position of the last entry that was told to the client before."""
        self._answered: EventId | None = None
        """The request that this turn answers."""
        self.note = ""
        """Said before what the run asks: why the person's message is no answer."""
        self.asks: list[tuple[EventId, AskPersonEvent]] = []
        """What the run asks people, where it waits at the end of the turn instead of ending."""

    def follow(self, run: RunId) -> None:
        """It is this run: the message had been posted before, with another."""
        if run != self.run:
            self._watch.unfollow(self.run)
            self._watch.follow(run)
            self.run = run

    async def go_on(self, run: RunId) -> None:
        """It is this run, which waits for an answer: what it said before is not said again."""
        self.follow(run)
        for item in self._watch.drain():
            if isinstance(item, LiveSnapshot):
                self._said.skip(item)
        self._after = len(await self._parts.host.entries(run))

    def answers(self, request: EventId) -> None:
        """The person's message is the answer to this request of the run."""
        self._answered = request

    @property
    def asked(self) -> str:
        """What the run asks people, as text; empty if it has ended."""
        link = self._link if not self.owned else None
        said = [self.note] if self.note else []
        return "\n\n".join([*said, *(as_text(event, self._locale, link) for _, event in self.asks)])

    @property
    def waiting(self) -> dict[str, str] | None:
        """For clients that know it: which run waits for which answer; None if none does."""
        if not self.asks:
            return None
        return {"run_id": self.run, "status": "waiting", "request_id": self.asks[0][0]}

    @property
    def text(self) -> str:
        """The run's words, once it has ended: what is stored of it."""
        match self.stop:
            case LLMStopEvent(answer=answer):
                return answer.text
            case RefusalStopEvent() | ExceptionEvent() | None:
                return ""
            case stop:
                return str(getattr(stop, "text", "") or "")

    @property
    def refusal(self) -> str | None:
        """Why the run declined to answer, None if it did not."""
        stop = self.stop
        return (stop.text or stop.reason.value) if isinstance(stop, RefusalStopEvent) else None

    @property
    def finish_reason(self) -> str:
        """Why the answer ended where it did."""
        stop = self.stop
        return FINISHES.get(stop.answer.response.finish_reason, "stop") if isinstance(stop, LLMStopEvent) else "stop"

    async def pieces(self, *, steps: bool = False, locale: str | None = None) -> AsyncGenerator[Piece]:
        """What the run says, as it says it; its end is the end of this.

        Args:
            steps: Whether steps that begin are told too, by their labels.

        Raises:
            RunFailed: The run ended with an error.
        """
        wire = RunWire(self._parts.blueprints, locale) if steps else None
        self.asks = await self._open_requests()
        if not self.asks:
            async with aclosing(self._entries_and_frames()) as found:
                async for item in found:
                    for piece in self._live() if item is None else self._journaled(item, wire):
                        yield piece
                    if isinstance(item, journal.ExecutionFinished) and (asks := await self._open_requests()):
                        self.asks = asks
                        break
        if self.asks and not self.owned:
            await self._until_answerable(self.asks[0][0])
        self._ended = not self.asks
        for piece in self._last():
            yield piece
        if isinstance(self.stop, ExceptionEvent):
            raise RunFailed(self.run, self.stop)

    async def _entries_and_frames(self) -> AsyncGenerator[journal.Entry | None]:
        """The journal's entries as they come, and None each time there may be live frames."""
        async with aclosing(self._parts.host.follow(self.run, self._after)) as entries:
            live = asyncio.ensure_future(self._watch.wait())
            entry = asyncio.ensure_future(anext(entries))
            try:
                while True:
                    await asyncio.wait([live, entry], return_when=asyncio.FIRST_COMPLETED)
                    if live.done():
                        yield None
                        live = asyncio.ensure_future(self._watch.wait())
                    if entry.done():
                        try:
                            yield entry.result()[1]
                        except StopAsyncIteration:
                            return
                        entry = asyncio.ensure_future(anext(entries))
            finally:
                for task in (live, entry):
                    task.cancel()
                await asyncio.gather(live, entry, return_exceptions=True)

    async def _open_requests(self) -> list[tuple[EventId, AskPersonEvent]]:
        """What the run asks people, if it does nothing else now."""
        return asked_at_last(await self._parts.host.entries(self.run), self._answered) or []

    async def _until_answerable(self, request: EventId) -> None:
        """Until the log knows of the request: the client's next message may come at once, and is its answer."""
        try:
            async with asyncio.timeout(KNOWN_SECONDS), aclosing(self._parts.workspaces.changes()) as changes:
                async for _ in changes:
                    if await self._parts.host.is_answerable(request):
                        return
        except TimeoutError:
            log.warning("request %s was not in the log after %g s", request, KNOWN_SECONDS)

    async def close(self) -> None:
        """The connection is gone or the answer complete: a run that the request owns does not go on without it."""
        self.end()
        if self.owned and not self._ended:
            try:
                await asyncio.shield(self._parts.host.stop(self.run, actor=self._principal.actor()))
            except Exception:
                log.exception("run %s could not be stopped when its client left", self.run)

    def end(self) -> None:
        """Watch no more."""
        self._watch.close()

    def _live(self) -> list[Piece]:
        found: list[Piece] = []
        for item in self._watch.drain():
            if isinstance(item, LiveSnapshot):
                found += self._said.snapshot(item)
            elif isinstance(item, LiveFrame) and item.type in {"text_delta", "thinking_delta"}:
                kind = "text" if item.type == "text_delta" else "thinking"
                found += self._said.add((item.attempt, item.response, item.part), kind, item.text)
        return found

    def _journaled(self, entry: journal.Entry, wire: RunWire | None) -> list[Piece]:
        envelope: dict[str, Any] = wire.convert(entry) if wire is not None else {}
        match entry:
            case journal.ModelCalled():
                self.usage.add(entry.usage)
            case journal.ExecutionDue() if wire is not None:
                return [Piece("step", str(envelope["data"]["label"]))]
            case journal.EventPublished(event=FollowUpsSuggestedEvent(questions=questions)):
                self._follow_ups = questions
            case journal.EventPublished(event=StopEvent() as stop) if self.stop is None and not entry.discarded:
                self.stop = stop
            case _:
                pass
        return []

    def _last(self) -> list[Piece]:
        """What is left to tell once the run has ended."""
        found = self._live()
        if self.asks:
            joint = "\n\n" if self._said.anything else ""
            return [*found, Piece("text", f"{joint}{self.asked}")]
        if self.refusal is not None:
            found.append(Piece("refusal", self.refusal))
        elif self.text:
            found += self._said.rest(self.text)
        if self._follow_ups:
            found.append(Piece("follow_ups", items=self._follow_ups))
        return found
