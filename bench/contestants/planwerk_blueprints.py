"""Our blueprints, written as users write them."""

from __future__ import annotations

from typing import cast

from bench import moments
from planwerk import Agent, ControlEvent, Event, StartEvent, StopEvent, step


class BenchChainStartEvent(StartEvent):
    steps: int


class BenchTickEvent(ControlEvent):
    number: int
    steps: int


class BenchScatterEvent(StartEvent):
    width: int


class BenchWorkEvent(ControlEvent):
    number: int


class BenchResultEvent(ControlEvent):
    value: int


class BenchNotesStartEvent(StartEvent):
    steps: int


class BenchWriteNoteEvent(ControlEvent):
    number: int
    steps: int


class BenchNoteEvent(ControlEvent):
    text: str


class BenchNotedEvent(ControlEvent):
    """All notes are written."""


class BenchMarchStartEvent(StartEvent):
    steps: int


class BenchMarchEvent(ControlEvent):
    number: int
    steps: int


class BenchAskStartEvent(StartEvent):
    """Ask somebody."""


class BenchYesEvent(ControlEvent):
    number: int


class BenchQuestionEvent(ControlEvent):
    answered_by = (BenchYesEvent,)

    question: str


class BenchStopEvent(StopEvent):
    value: int


class BenchChain(Agent):
    """Counts to the number of its steps, a step each."""

    @step()
    async def begin(self, start: BenchChainStartEvent) -> BenchTickEvent:
        return BenchTickEvent(number=1, steps=start.steps)

    @step()
    async def tick(self, tick: BenchTickEvent) -> BenchTickEvent | BenchStopEvent:
        if tick.number + 1 >= tick.steps:
            return BenchStopEvent(value=tick.number + 1)
        return BenchTickEvent(number=tick.number + 1, steps=tick.steps)


class BenchFanOut(Agent):
    """Doubles many numbers at once and adds them up."""

    @step()
    async def scatter(self, start: BenchScatterEvent) -> list[BenchWorkEvent]:
        return [BenchWorkEvent(number=number) for number in range(start.width)]

    @step()
    async def work(self, work: BenchWorkEvent) -> BenchResultEvent:
        return BenchResultEvent(value=2 * work.number)

    @step()
    async def gather(self, results: list[BenchResultEvent]) -> BenchStopEvent:
        return BenchStopEvent(value=sum(result.value for result in results))


class BenchNotes(Agent):
    """Leaves a note at every step, and has them all at the end."""

    @step()
    async def begin(self, start: BenchNotesStartEvent) -> BenchWriteNoteEvent:
        return BenchWriteNoteEvent(number=1, steps=start.steps)

    @step()
    async def note(
        self, write: BenchWriteNoteEvent
    ) -> tuple[BenchNoteEvent, BenchWriteNoteEvent] | tuple[BenchNoteEvent, BenchNotedEvent]:
        moments.step(write.number)
        note = BenchNoteEvent(text=f"note {write.number}")
        if write.number == write.steps:
            return note, BenchNotedEvent()
        return note, BenchWriteNoteEvent(number=write.number + 1, steps=write.steps)

    @step()
    async def count(self, noted: BenchNotedEvent, notes: list[BenchNoteEvent]) -> BenchStopEvent:
        return BenchStopEvent(value=len(notes))


class BenchMarch(Agent):
    """A chain whose steps say their number."""

    @step()
    async def begin(self, start: BenchMarchStartEvent) -> BenchMarchEvent:
        return BenchMarchEvent(number=1, steps=start.steps)

    @step()
    async def march(self, march: BenchMarchEvent) -> BenchMarchEvent | BenchStopEvent:
        moments.step(march.number)
        if march.number == march.steps:
            return BenchStopEvent(value=march.number)
        return BenchMarchEvent(number=march.number + 1, steps=march.steps)


class BenchAsked(Agent):
    """Asks a person and ends with the answer."""

    @step()
    async def ask(self, start: BenchAskStartEvent) -> BenchQuestionEvent:
        return BenchQuestionEvent(question="Shall it go on?")

    @step()
    async def go_on(self, yes: BenchYesEvent) -> BenchStopEvent:
        return BenchStopEvent(value=yes.number)


def value_of(stop: Event) -> int:
    return cast("BenchStopEvent", stop).value
