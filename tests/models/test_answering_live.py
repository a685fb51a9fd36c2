from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from planwerk.messages.events import AnswerCheckpointEvent, AnswerInterruptedEvent
from planwerk.messages.prompts import user_prompt
from planwerk.models import Answering
from planwerk.models.errors import ModelBrokeOff
from planwerk.runtime.displayer import EventDisplayer
from planwerk.runtime.execution import FrameType
from planwerk.testing.scripted_model import ScriptedModel, Stream
from planwerk.testing.virtual_clock import virtual_time
from planwerk.workflow.entries import ModelCalled
from planwerk.workflow.events import DisplayEvent


@dataclass
class Execution:
    """Satisfies `ExecutionSink` and writes down what it is shown."""

    frames: list[tuple[FrameType, str]] = field(default_factory=list[tuple[FrameType, str]])
    events: list[DisplayEvent] = field(default_factory=list[DisplayEvent])

    def displayed(self, event: DisplayEvent) -> None:
        self.events.append(event)

    def next_response(self) -> int:
        return 1

    def frame(self, kind: FrameType, *, response: int, part: int, part_kind: str = "", text: str = "") -> None:
        self.frames.append((kind, text or part_kind))

    def model_called(self, call: ModelCalled) -> None:
        raise AssertionError("the displayer counts no model calls")


async def test_an_answer_becomes_live_frames_of_its_execution() -> None:
    execution = Execution()
    answering = Answering(ScriptedModel(["Hi there"]).resolved(), EventDisplayer(execution).response)

    await answering.answer([user_prompt("Hello?")])

    assert execution.frames == [
        ("part_started", "text"),
        ("text_delta", "Hi "),
        ("text_delta", "there"),
        ("part_ended", ""),
    ]
    assert execution.events == []


async def test_checkpoints_and_interruptions_are_durable_events() -> None:
    execution = Execution()
    script = ScriptedModel([Stream("A", 2.5, "B", ConnectionError("cut"))])
    answering = Answering(script.resolved(), EventDisplayer(execution).response)

    with virtual_time(), pytest.raises(ModelBrokeOff, match="cut"):
        await answering.answer([user_prompt("Hello?")])

    assert execution.events == [
        AnswerCheckpointEvent(text="AB"),
        AnswerInterruptedEvent(text="AB", reason="model_broke_off"),
    ]
