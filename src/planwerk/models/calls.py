"""One call of a model as it counts: tokens, cost, time. A run counts its own; a quota adds them up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, Protocol, TypeAlias

from pydantic_ai.messages import ModelMessage

from planwerk.messages.events import Usage

CallPurpose: TypeAlias = Literal["answer", "prediction", "text"]
PartKind: TypeAlias = Literal["text", "thinking", "tool"]


@dataclass(frozen=True, slots=True)
class ModelCallRecord:
    """What one call used, was sent, and got back.

    Attributes:
        cost: In USD; None when the price is unknown.
        error: The code of what failed.
        task: What a small task is for (`"title"`), or the name of the type that was asked for; empty for answers.
        messages: As they were sent, then what came back; a second try is among them.
    """

    model: str
    purpose: CallPurpose
    usage: Usage
    cost: Decimal | None
    duration_seconds: float
    error: str | None = None
    task: str = ""
    messages: Sequence[ModelMessage] = ()


CallReporter: TypeAlias = Callable[[ModelCallRecord], None]


class ResponseSink(Protocol):
    """Where an answer streams to while it is made: the displayer of the execution that asked. Nothing here waits."""

    def part(self, kind: PartKind) -> int:
        """Begin a part of the answer and return its number."""
        ...

    def delta(self, part: int, text: str) -> None:
        """Add to a part; of a tool call, to its arguments."""
        ...

    def end(self, part: int) -> None:
        """A part is whole."""
        ...

    def checkpoint(self, text: str) -> None:
        """Keep the text so far for good (`AnswerCheckpointEvent`); called every 2 s of streaming (E4.8)."""
        ...

    def interrupted(self, text: str, reason: str) -> None:
        """The stream ended early (`AnswerInterruptedEvent`); called before the error leaves the step (E4.8)."""
        ...


class SilentSink:
    """A sink for answers that nobody watches."""

    def part(self, kind: PartKind) -> int:
        return 0

    def delta(self, part: int, text: str) -> None:
        pass

    def end(self, part: int) -> None:
        pass

    def checkpoint(self, text: str) -> None:
        pass

    def interrupted(self, text: str, reason: str) -> None:
        pass
