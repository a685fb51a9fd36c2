"""What providers see of the execution they provide for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from planwerk.workflow.blueprint import AgentConfig
from planwerk.workflow.entries import ModelCalled, RunOpened
from planwerk.workflow.events import DisplayEvent, Event
from planwerk.workflow.ids import ExecutionId
from planwerk.workflow.injection import injectable

FrameType = Literal["part_started", "text_delta", "thinking_delta", "tool_args_delta", "part_ended"]


class ExecutionSink(Protocol):
    """Where an execution shows things while it works. Nothing here waits."""

    def displayed(self, event: DisplayEvent) -> None:
        """Show an event now: journaled if it is durable, a live frame alone if its class is ephemeral."""
        ...

    def next_response(self) -> int:
        """Number of the next streamed answer, unique in the run."""
        ...

    def frame(self, kind: FrameType, *, response: int, part: int, part_kind: str = "", text: str = "") -> None:
        """A piece of streamed output."""
        ...

    def model_called(self, call: ModelCalled) -> None:
        """Count a model call for the run."""
        ...


@injectable
@dataclass(frozen=True, slots=True)
class ExecutionInfo:
    """Which execution this is: the id is an idempotency key, `attempt` tells a repetition (E7.2)."""

    id: ExecutionId
    attempt: int
    step: str


@dataclass(slots=True)
class ExecutionContext:
    """One attempt of one execution, for the providers of what its step asks for."""

    run: RunOpened
    start: Event
    config: AgentConfig
    execution: ExecutionId
    """As the run's journal names it."""
    attempt: int
    step: str
    """Full name: `begin`, `Memory.search`."""
    call_path: tuple[str, ...]
    sink: ExecutionSink
