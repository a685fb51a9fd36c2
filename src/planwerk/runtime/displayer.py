"""What a step shows while it works: display events, and answers as they stream (E2.4, E4.8)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Final, Literal, TypeAlias

from planwerk.messages.events import AnswerCheckpointEvent, AnswerInterruptedEvent
from planwerk.runtime.execution import ExecutionSink, FrameType
from planwerk.workflow.events import DisplayEvent
from planwerk.workflow.injection import injectable

PartKind: TypeAlias = Literal["text", "thinking", "tool"]

_DELTAS: Final[dict[PartKind, FrameType]] = {
    "text": "text_delta",
    "thinking": "thinking_delta",
    "tool": "tool_args_delta",
}


class ResponseStream:
    """One answer while it is made, part by part; superseded by the durable event that holds the whole.

    Nothing here waits: pieces become live frames, which a slow watcher may lose.
    """

    def __init__(self, sink: ExecutionSink, number: int) -> None:
        self._sink = sink
        self._number = number
        self._kinds: list[PartKind] = []

    def part(self, kind: PartKind) -> int:
        """Begin a part and return its number."""
        number = len(self._kinds)
        self._kinds.append(kind)
        self._sink.frame("part_started", response=self._number, part=number, part_kind=kind)
        return number

    def delta(self, part: int, text: str) -> None:
        """Add to a part; of a tool call, to its arguments."""
        if text:
            kind = self._kinds[part]
            self._sink.frame(_DELTAS[kind], response=self._number, part=part, part_kind=kind, text=text)

    def end(self, part: int) -> None:
        """A part is whole."""
        self._sink.frame("part_ended", response=self._number, part=part, part_kind=self._kinds[part])

    def checkpoint(self, text: str) -> None:
        """Keep the text so far for good."""
        self._sink.displayed(AnswerCheckpointEvent(text=text))

    def interrupted(self, text: str, reason: str) -> None:
        """The answer ended early; what had come of it is kept and marked (E4.8)."""
        self._sink.displayed(AnswerInterruptedEvent(text=text, reason=reason))


@injectable
class EventDisplayer:
    """Shows display events and streams of the execution it was made for.

    Args:
        sink: Where the execution shows things.
        numbers: Counts the answers of the execution; displayers of one execution share it.
    """

    def __init__(self, sink: ExecutionSink, numbers: Iterator[int] | None = None) -> None:
        self._sink = sink
        self._numbers = numbers if numbers is not None else count()

    async def show(self, event: DisplayEvent) -> None:
        """Show an event now: durable ones are journaled, ephemeral ones are live frames alone."""
        self._sink.displayed(event)

    def response(self) -> ResponseStream:
        """A stream for one more answer."""
        return ResponseStream(self._sink, next(self._numbers))
