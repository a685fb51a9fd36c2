"""A model's stream on its way to the person: parts, deltas, checkpoints, and the text so far (E4.8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pydantic_ai.messages import (
    ModelResponsePart,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)

from planwerk.messages.sanitise import sanitise_text
from planwerk.models.calls import PartKind, ResponseSink

CHECKPOINT_SECONDS: Final = 2.0


class StreamToSink:
    """Feeds a sink with what a stream brings, and remembers the visible text.

    Half of a character at the end of a delta waits for its other half (SRV-25).
    """

    def __init__(self, sink: ResponseSink, clock: Callable[[], float]) -> None:
        self._sink, self._clock = sink, clock
        self._parts: dict[int, _Part] = {}
        self._checkpoint_at: float | None = None

    @property
    def began(self) -> bool:
        """Whether anything of an answer has come."""
        return bool(self._parts)

    @property
    def text(self) -> str:
        """What the person has read so far, joined as `ModelResponse.text` joins it."""
        text, before = "", ""
        for _, part in sorted(self._parts.items()):
            if part.kind == "text":
                text += part.text if before == "text" or not text else f"\n\n{part.text}"
            before = part.kind
        return text

    def take(self, event: ModelResponseStreamEvent) -> None:
        """Pass on one event of the stream."""
        match event:
            case PartStartEvent(index=index, part=part):
                self._start(index, part)
            case PartDeltaEvent(index=index, delta=TextPartDelta(content_delta=text)):
                self._add(index, text)
            case PartDeltaEvent(index=index, delta=ThinkingPartDelta(content_delta=text)):
                self._add(index, text or "")
            case PartDeltaEvent(index=index, delta=ToolCallPartDelta(args_delta=str(text))):
                self._add(index, text)
            case PartEndEvent(index=index):
                self._end(index)
            case _:
                pass
        self._keep()

    def interrupt(self, reason: str) -> None:
        """Tell the sink that the stream ended early, if anything had come."""
        if self.began:
            self._sink.interrupted(self.text, reason)

    def _start(self, index: int, part: ModelResponsePart) -> None:
        match part:
            case TextPart(content=text):
                self._open(index, "text", text)
            case ThinkingPart(content=text):
                self._open(index, "thinking", text)
            case ToolCallPart(args=args):
                self._open(index, "tool", args if isinstance(args, str) else "")
            case _:
                pass

    def _open(self, index: int, kind: PartKind, text: str) -> None:
        self._parts[index] = _Part(kind, self._sink.part(kind))
        if self._checkpoint_at is None:
            self._checkpoint_at = self._clock() + CHECKPOINT_SECONDS
        self._add(index, text)

    def _add(self, index: int, text: str) -> None:
        part = self._parts.get(index)
        if part is None:
            return
        whole = part.take(text)
        if whole:
            self._sink.delta(part.number, whole)

    def _end(self, index: int) -> None:
        part = self._parts.get(index)
        if part is None:
            return
        rest = part.rest()
        if rest:
            self._sink.delta(part.number, rest)
        self._sink.end(part.number)

    def _keep(self) -> None:
        now = self._clock()
        if self._checkpoint_at is not None and now >= self._checkpoint_at:
            self._checkpoint_at = now + CHECKPOINT_SECONDS
            if text := self.text:
                self._sink.checkpoint(text)


class _Part:
    def __init__(self, kind: PartKind, number: int) -> None:
        self.kind, self.number = kind, number
        self._texts: list[str] = []
        self._half = ""

    @property
    def text(self) -> str:
        return "".join(self._texts)

    def take(self, text: str) -> str:
        """What of it can be shown now: whole characters."""
        text, self._half = self._half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        whole = sanitise_text(text)
        self._texts.append(whole)
        return whole

    def rest(self) -> str:
        rest, self._half = sanitise_text(self._half), ""
        self._texts.append(rest)
        return rest
