"""More workflows for the simulation: what the engine also can, and runs that cannot end well."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from planwerk.messages.events import SteeringMessageEvent
from planwerk.messages.prompts import last_user_prompt
from planwerk.runtime.contexts import RunContext
from planwerk.runtime.displayer import EventDisplayer
from planwerk.runtime.execution import ExecutionInfo
from planwerk.workflow.blueprint import Agent, AgentConfig, StepConfig
from planwerk.workflow.capability import Capability
from planwerk.workflow.events import ControlEvent, StopEvent
from planwerk.workflow.steps import Retry, step
from planwerk.workflow.timers import Timer
from tests.simulation.workflows import (
    Case,
    SimChecked,
    SimDone,
    SimFirst,
    SimItem,
    SimLeft,
    SimMaybe,
    SimNote,
    SimRight,
    SimRound,
    SimSecond,
    SimStart,
    SimStop,
    SimSum,
)

# Unions, lists of unions, tuples with lists, events that nobody takes -------------------------------------------------


class SimHint(ControlEvent):
    pass


class SimUnions(Agent):
    """Unions as single inputs and in lists, a tuple with a list in it, and a hint that comes too late."""

    @step()
    async def begin(self, start: SimStart) -> tuple[SimFirst, list[SimLeft | SimRight]]:
        return SimFirst(), [SimLeft(), SimRight(), SimLeft()]

    @step()
    async def either(self, side: SimLeft | SimRight) -> SimItem | SimDone:
        await asyncio.sleep(0.003 if isinstance(side, SimLeft) else 0.001)
        return SimItem(number=1) if isinstance(side, SimLeft) else SimDone(number=2)

    @step()
    async def gather(
        self, first: SimFirst, found: list[SimItem | SimDone], hint: SimHint | None
    ) -> tuple[SimSum, SimSecond]:
        await asyncio.sleep(0.002)
        return SimSum(total=sum(each.number for each in found)), SimSecond()

    @step()
    async def too_late(self, second: SimSecond) -> SimHint:
        return SimHint()

    @step()
    async def end(self, total: SimSum, second: SimSecond) -> SimStop:
        await asyncio.sleep(0.05)
        return SimStop(said=(str(total.total),))


# Failing and slow executions in a fan --------------------------------------------------------------------------------


class SimUnsteady(Agent):
    """Of a fan some fail and are tried again, some fail for good and count as nothing, some take too long."""

    @step()
    async def split(self, start: SimStart) -> list[SimItem]:
        return [SimItem(number=number) for number in range(6)]

    @step(retry=Retry(times=8, backoff_seconds=0.1), stop_on_error=False, timeout_seconds=2)
    async def work(self, item: SimItem, info: ExecutionInfo, show: EventDisplayer) -> SimDone:
        await show.show(SimNote(text=f"{item.number}"))
        if item.number == 1:
            raise ValueError("for good")
        if item.number % 2 and info.attempt < 3:
            await asyncio.sleep(600 if item.number == 3 else 0)
            raise ConnectionError("not yet")
        await asyncio.sleep(0.001 * item.number)
        return SimDone(number=item.number)

    @step(stop_on_error=False)
    async def never(self, item: SimItem) -> SimMaybe:
        raise RuntimeError("never")

    @step()
    async def join(self, start: SimStart, done: list[SimDone], maybe: SimMaybe | None) -> SimStop:
        return SimStop(said=tuple(str(each.number) for each in done))


class SimNothingCame(Agent):
    """A lone list whose whole fan failed, or found nothing."""

    @step()
    async def split(self, start: SimStart) -> list[SimItem]:
        return [SimItem(number=number) for number in range(start.width)]

    @step(stop_on_error=False)
    async def work(self, item: SimItem) -> SimDone | None:
        await asyncio.sleep(0.002 * (3 - item.number % 3))
        if item.number % 2:
            raise ValueError("broken")
        return None

    @step()
    async def join(self, done: list[SimDone] | None) -> SimStop:
        return SimStop(said=(str(len(done or ())),))


# Calls with loops, with stops, and without an outcome ----------------------------------------------------------------


class SimCountEvent(ControlEvent):
    upto: int


class SimCountedEvent(ControlEvent):
    numbers: tuple[int, ...]


class SimCounter(Capability):
    """A loop of its own in each call; an optional event from outside the loop joins its latest round."""

    CountRequest = SimCountEvent
    Counted = SimCountedEvent

    @step()
    async def begin(self, request: SimCountEvent) -> SimRound:
        return SimRound(number=1)

    @step(max_executions_per_run=4)
    async def turn(self, turn: SimRound) -> tuple[SimChecked, list[SimItem]]:
        items = [SimItem(number=10 * turn.number + place) for place in range(turn.number % 3)]
        return SimChecked(round=turn.number, number=0), items

    @step()
    async def work(self, item: SimItem) -> SimDone:
        await asyncio.sleep(0.002 * (3 - item.number % 3))
        return SimDone(number=item.number)

    @step()
    async def decide(
        self, checked: SimChecked, done: list[SimDone] | None, request: SimCountEvent
    ) -> SimRound | SimCountedEvent:
        if checked.round < request.upto:
            return SimRound(number=checked.round + 1)
        return SimCountedEvent(numbers=tuple(each.number for each in done or ()))


class SimForgetEvent(ControlEvent):
    pass


class SimForgetter(Capability):
    """Has no outcome: nobody waits for it."""

    ForgetRequest = SimForgetEvent

    @step()
    async def forget(self, request: SimForgetEvent, start: SimStart) -> SimNote:
        await asyncio.sleep(0.004)
        return SimNote(text=f"forgotten {start.width}")


class SimFinishEvent(ControlEvent):
    said: tuple[str, ...]


class SimFinisher(Capability):
    """Ends the run, while it still shows something."""

    FinishRequest = SimFinishEvent
    Finished = SimStop

    @step()
    async def finish(self, request: SimFinishEvent) -> SimStop:
        await asyncio.sleep(0.01)
        return SimStop(said=request.said)

    @step(stop_on_error=False)
    async def afterwards(self, request: SimFinishEvent) -> SimNote:
        await asyncio.sleep(0.5)
        return SimNote(text="afterwards")


class SimCallsThatEnd(Agent):
    """Loops in parallel calls, a call without an outcome before one that stops the run."""

    @step()
    async def ask(self, start: SimStart) -> list[SimCounter.CountRequest]:
        return [SimCounter.CountRequest(upto=upto) for upto in (3, 1, 2)]

    @step()
    async def end(
        self, start: SimStart, counted: list[SimCounter.Counted]
    ) -> list[SimForgetter.ForgetRequest | SimFinisher.FinishRequest]:
        said = tuple(str(each.numbers) for each in counted)
        return [SimForgetter.ForgetRequest(), SimFinisher.FinishRequest(said=said)]


# Preconditions that read other events, in calls and at the end -------------------------------------------------------


class SimLimits(StepConfig):
    most: int = 2


class SimGuardedConfig(AgentConfig):
    limits: SimLimits = SimLimits()


class SimGuarded(Agent):
    """A precondition of the blueprint that is given settings, reads a list only it takes, and says no to the end."""

    config = SimGuardedConfig

    async def _few(self, item: SimItem, seen: list[SimLeft], limits: SimLimits) -> bool:
        await asyncio.sleep(0.002)
        return item.number < limits.most + len(seen)

    @step()
    async def split(self, start: SimStart) -> list[SimItem]:
        return [SimItem(number=number) for number in range(5)]

    @step()
    async def more(self, start: SimStart) -> SimFirst:
        await asyncio.sleep(0.01)
        return SimFirst()

    @step()
    async def allow(self, first: SimFirst) -> SimLeft:
        return SimLeft()

    @step(precondition=_few)
    async def work(self, item: SimItem) -> SimDone:
        await asyncio.sleep(0.001)
        return SimDone(number=item.number)

    @step()
    async def collect(self, first: SimFirst, done: list[SimDone]) -> SimStop:
        return SimStop(said=tuple(str(each.number) for each in done))


# Contexts ------------------------------------------------------------------------------------------------------------


class SimTally(Agent):
    """Counts in the run's context; a step that is executed again counts again, and the run goes on all the same."""

    @step()
    async def split(self, start: SimStart) -> list[SimItem]:
        return [SimItem(number=number) for number in range(4)]

    @step(retry=Retry(times=8))
    async def work(self, item: SimItem, context: RunContext) -> SimDone:
        await context.increment("worked")
        return SimDone(number=item.number)

    @step(retry=Retry(times=8))
    async def join(self, start: SimStart, done: list[SimDone], context: RunContext) -> SimStop:
        assert (await context.get("worked") or 0) >= len(done)
        return SimStop(said=(str(len(done)),))


# Generators that fail ------------------------------------------------------------------------------------------------


class SimBrokenStream(Agent):
    """A generator that breaks off twice after it has shown something, and then returns several events."""

    @step(retry=Retry(times=6, backoff_seconds=0.2))
    async def stream(self, start: SimStart, info: ExecutionInfo) -> AsyncGenerator[SimNote | SimItem]:
        for number in range(3):
            yield SimNote(text=f"{info.attempt}: {number}")
            await asyncio.sleep(0.002)
            yield SimItem(number=number)
            if info.attempt < 3 and number == 1:
                raise ConnectionError("broke off")

    @step()
    async def work(self, item: SimItem) -> SimDone:
        return SimDone(number=item.number)

    @step()
    async def join(self, start: SimStart, done: list[SimDone]) -> SimStop:
        return SimStop(said=tuple(str(each.number) for each in done))


# Runs that cannot end well -------------------------------------------------------------------------------------------


class SimTooMany(Agent):
    """A loop that goes beyond its limit."""

    @step()
    async def begin(self, start: SimStart) -> SimRound:
        return SimRound(number=0)

    @step(max_executions_per_run=5)
    async def again(self, turn: SimRound) -> SimRound | SimStop:
        await asyncio.sleep(0.001)
        return SimRound(number=turn.number + 1)


class SimStalls(Agent):
    """What validation warns of: a list that is empty, and a step that waits for it."""

    @step()
    async def split(self, start: SimStart) -> list[SimItem]:
        return [SimItem(number=number) for number in range(start.width)]

    @step()
    async def beside(self, start: SimStart) -> SimLeft:
        await asyncio.sleep(0.003)
        return SimLeft()

    @step()
    async def pair(self, item: SimItem, left: SimLeft) -> SimSecond:
        await asyncio.sleep(0.001 * (3 - item.number % 3))
        return SimSecond()

    @step()
    async def join(self, second: list[SimSecond]) -> SimStop:
        return SimStop(said=(str(len(second)),))


class SimBadEvent(StopEvent):
    value: object


class SimUnwritable(Agent):
    """Returns what no journal can hold."""

    @step()
    async def begin(self, start: SimStart) -> tuple[SimFirst, SimSecond]:
        return SimFirst(), SimSecond()

    @step()
    async def slow(self, first: SimFirst) -> SimNote:
        await asyncio.sleep(0.004)
        return SimNote(text="slow")

    @step()
    async def end(self, second: SimSecond) -> SimBadEvent:
        await asyncio.sleep(0.002)
        return SimBadEvent(value=object())


# What people say meanwhile -------------------------------------------------------------------------------------------


class SimHeard(ControlEvent):
    text: str


class SimSteered(Agent):
    """Waits, and heeds what is said meanwhile, each with a step of its own and all of it in the end."""

    @step()
    async def begin(self, start: SimStart) -> Timer:
        return Timer.after(1_000)

    @step()
    async def heed(self, said: SteeringMessageEvent) -> SimHeard:
        return SimHeard(text=last_user_prompt(said.messages))

    @step()
    async def answer(self, fired: Timer.Fired, heard: list[SimHeard], said: list[SteeringMessageEvent]) -> SimStop:
        return SimStop(said=(*(one.text for one in heard), str(len(said))))


RARER_CASES = [
    Case(SimSteered),
    Case(SimUnions),
    Case(SimUnsteady),
    Case(SimNothingCame, SimStart(width=0)),
    Case(SimNothingCame),
    Case(SimCallsThatEnd),
    Case(SimGuarded),
    Case(SimTally),
    Case(SimBrokenStream),
    Case(SimTooMany, compared=False, error="too_many_executions"),
    Case(SimStalls, SimStart(width=0), error="run_stalled"),
    Case(SimStalls),
    Case(SimUnwritable, compared=False, error="event_unwritable"),
]
