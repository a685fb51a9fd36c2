"""How a step shows things while it works: durable events, and an answer that streams (E2.4, E4.8)."""

from __future__ import annotations

from typing import Literal

from planwerk.messages.events import AnswerCheckpointEvent, AnswerInterruptedEvent
from planwerk.runtime.execution import ExecutionSink, FrameType
from planwerk.workflow.events import DisplayEvent
from planwerk.workflow.injection import injectable

PartKind = Literal["text", "thinking", "tool"]
DELTAS: dict[str, FrameType] = {"text": "text_delta", "thinking": "thinking_delta", "tool": "tool_args_delta"}


@injectable
class EventDisplayer:
    """Shows the events and the streamed output of one execution."""

    def __init__(self, sink: ExecutionSink) -> None:
        self._sink = sink

    async def show(self, event: DisplayEvent) -> None:
        """Show an event now. A durable one is journaled; one whose class says `ephemeral=True` is a live frame only."""
        self._sink.displayed(event)

    def response(self) -> ResponseStream:
        """Begin a streamed answer."""
        return ResponseStream(self._sink, self._sink.next_response())


class ResponseStream:
    """One streamed answer: parts of text, thinking or tool arguments, as live frames. Nothing here waits."""

    def __init__(self, sink: ExecutionSink, number: int) -> None:
        self._sink = sink
        self._number = number
        self._kinds: list[PartKind] = []

    def part(self, kind: PartKind) -> int:
        """Begin a part and return its number, from 0."""
        number = len(self._kinds)
        self._kinds.append(kind)
        self._sink.frame("part_started", response=self._number, part=number, part_kind=kind)
        return number

    def delta(self, part: int, text: str) -> None:
        """Add to a part."""
        self._sink.frame(DELTAS[self._kinds[part]], response=self._number, part=part, text=text)

    def end(self, part: int) -> None:
        """A part is whole."""
        self._sink.frame("part_ended", response=self._number, part=part)

    def checkpoint(self, text: str) -> None:
        """Keep the text so far for good; called every 2 s of streaming."""
        self._sink.displayed(AnswerCheckpointEvent(text=text))

    def interrupted(self, text: str, reason: str) -> None:
        """The stream ended early; what had come is kept."""
        self._sink.displayed(AnswerInterruptedEvent(text=text, reason=reason))
