"""Small workflows that together use every feature of the engine; their steps return the same in every execution."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from planwerk.runtime.displayer import EventDisplayer
from planwerk.runtime.execution import ExecutionInfo
from planwerk.testing.people import Respond
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.capability import Capability
from planwerk.workflow.events import ControlAndDisplayEvent, ControlEvent, DisplayEvent, Event, StartEvent, StopEvent
from planwerk.workflow.people import HumanInTheLoop
from planwerk.workflow.steps import Retry, step
from planwerk.workflow.timers import Timer


class SimStart(StartEvent):
    width: int = 3


class SimStop(StopEvent):
    said: tuple[str, ...] = ()


class SimItem(ControlEvent):
    number: int


class SimDone(ControlEvent):
    number: int


class SimNote(DisplayEvent):
    text: str


class SimDraft(DisplayEvent, ephemeral=True):
    text: str


# Chain, retries, timeouts, failures that do not stop ------------------------------------------------------------------


class SimFirst(ControlEvent):
    pass


class SimSecond(ControlAndDisplayEvent):
    pass


class SimChain(Agent):
    """A chain with a step that fails twice, one that is too slow and does not matter, and one that only shows."""

    @step()
    async def begin(self, start: SimStart, show: EventDisplayer) -> SimFirst:
        await show.show(SimNote(text="begun"))
        await asyncio.sleep(0.01)
        await show.show(SimDraft(text="half"))
        return SimFirst()

    @step(retry=Retry(times=5, backoff_seconds=1))
    async def fail_twice(self, first: SimFirst, info: ExecutionInfo) -> SimSecond:
        if info.attempt < 3:
            raise ConnectionError("not yet")
        return SimSecond()

    @step(stop_on_error=False, timeout_seconds=5)
    async def take_too_long(self, first: SimFirst) -> SimItem:
        await asyncio.sleep(600)
        return SimItem(number=1)

    @step()
    async def end(self, second: SimSecond, item: SimItem | None) -> SimStop:
        return SimStop(said=("none" if item is None else "item",))


# Fans ----------------------------------------------------------------------------------------------------------------


class SimFan(Agent):
    """A fan-out of `width` and its join, in fan-out order."""

    @step()
    async def split(self, start: SimStart) -> list[SimItem]:
        return [SimItem(number=number) for number in range(start.width)]

    @step()
    async def work(self, item: SimItem) -> SimDone:
        await asyncio.sleep(0.003 * (5 - item.number % 5))
        return SimDone(number=item.number)

    @step()
    async def join(self, start: SimStart, done: list[SimDone]) -> SimStop:
        return SimStop(said=tuple(str(each.number) for each in done))


class SimLeft(ControlEvent):
    pass


class SimRight(ControlEvent):
    pass


class SimMaybe(ControlEvent):
    pass


class SimSum(ControlEvent):
    total: int


class SimLoneFan(Agent):
    """Lone optional lists, an optional input, a tuple, `None` for an event, and a branch that is not taken."""

    @step()
    async def split(self, start: SimStart) -> list[SimItem]:
        return [SimItem(number=number) for number in range(start.width)]

    @step()
    async def both(self, start: SimStart) -> tuple[SimLeft, SimRight]:
        return SimLeft(), SimRight()

    @step()
    async def odd_only(self, item: SimItem) -> SimDone | None:
        await asyncio.sleep(0.002 * item.number)
        return SimDone(number=item.number) if item.number % 2 else None

    @step()
    async def perhaps(self, left: SimLeft) -> SimMaybe | None:
        await asyncio.sleep(0.01)
        return None

    @step()
    async def add(self, done: list[SimDone] | None) -> SimSum:
        return SimSum(total=sum(each.number for each in done or ()))

    @step()
    async def end(self, total: SimSum, right: SimRight, maybe: SimMaybe | None) -> SimStop:
        return SimStop(said=(str(total.total), str(maybe)))


# Loops ---------------------------------------------------------------------------------------------------------------


class SimRound(ControlEvent):
    number: int


class SimChecked(ControlEvent):
    round: int
    number: int


class SimLoop(Agent):
    """Each round fans out by its number and joins what is of this round."""

    @step()
    async def begin(self, start: SimStart) -> SimRound:
        return SimRound(number=1)

    @step(max_executions_per_run=3)
    async def fan(self, turn: SimRound) -> list[SimItem]:
        return [SimItem(number=10 * turn.number + place) for place in range(turn.number)]

    @step()
    async def check(self, item: SimItem) -> SimChecked:
        await asyncio.sleep(0.002 * (item.number % 3))
        return SimChecked(round=item.number // 10, number=item.number)

    @step()
    async def decide(self, turn: SimRound, checked: list[SimChecked]) -> SimRound | SimStop:
        if turn.number < 3:
            return SimRound(number=turn.number + 1)
        return SimStop(said=tuple(str(each.number) for each in checked))


# Calls ---------------------------------------------------------------------------------------------------------------


class SimAskEvent(ControlEvent):
    number: int


class SimToldEvent(ControlEvent):
    text: str


class SimOpened(ControlEvent):
    number: int


class SimShut(ControlEvent):
    number: int


class SimInner(Capability):
    """Answers with what two parallel steps of it found; shows something after it has answered."""

    AskRequest = SimAskEvent
    Told = SimToldEvent

    @step()
    async def open(self, request: SimAskEvent) -> SimOpened:
        await asyncio.sleep(0.004 * (3 - request.number % 3))
        return SimOpened(number=request.number)

    @step()
    async def shut(self, request: SimAskEvent) -> SimShut:
        return SimShut(number=request.number)

    @step()
    async def tell(self, opened: SimOpened, shut: SimShut) -> SimToldEvent:
        return SimToldEvent(text=f"{opened.number}/{shut.number}")

    @step(stop_on_error=False)
    async def afterwards(self, opened: SimOpened) -> SimNote:
        await asyncio.sleep(0.05)
        return SimNote(text=f"after {opened.number}")


class SimInnerAgain(SimInner):
    """A second use."""


class SimOuterAskEvent(ControlEvent):
    numbers: tuple[int, ...]


class SimOuterToldEvent(ControlEvent):
    texts: tuple[str, ...]


class SimOuter(Capability):
    """Asks the inner one several times at once, in a call of its own."""

    AskRequest = SimOuterAskEvent
    Told = SimOuterToldEvent

    @step()
    async def spread(self, request: SimOuterAskEvent) -> list[SimInner.AskRequest]:
        return [SimInner.AskRequest(number=number) for number in request.numbers]

    @step()
    async def gather(self, request: SimOuterAskEvent, told: list[SimInner.Told]) -> SimOuterToldEvent:
        return SimOuterToldEvent(texts=tuple(each.text for each in told))


class SimCalls(Agent):
    """Nested calls, parallel calls, and a second use of one capability."""

    @step()
    async def ask(self, start: SimStart) -> list[SimOuter.AskRequest]:
        return [SimOuter.AskRequest(numbers=tuple(range(width))) for width in (2, 0, 3)]

    @step()
    async def ask_again(self, start: SimStart) -> SimInnerAgain.AskRequest:
        return SimInnerAgain.AskRequest(number=7)

    @step()
    async def end(self, start: SimStart, told: list[SimOuter.Told], again: SimInnerAgain.Told) -> SimStop:
        return SimStop(said=(*(text for each in told for text in each.texts), again.text))


# Preconditions -------------------------------------------------------------------------------------------------------


class SimGate(ControlEvent):
    pass


async def _once_the_gate_is_open(item: SimItem, gate: SimGate | None) -> bool:
    await asyncio.sleep(0.001)
    return item.number == 0 or gate is not None


class SimPrecondition(Agent):
    """Bindings that are held until another event comes."""

    @step()
    async def split(self, start: SimStart) -> list[SimItem]:
        return [SimItem(number=number) for number in range(3)]

    @step(precondition=_once_the_gate_is_open)
    async def work(self, item: SimItem) -> SimDone:
        await asyncio.sleep(0.002)
        return SimDone(number=item.number)

    @step()
    async def open_gate(self, start: SimStart) -> SimGate:
        await asyncio.sleep(0.02)
        return SimGate()

    @step()
    async def pass_gate(self, gate: SimGate) -> SimLeft:
        return SimLeft()

    @step()
    async def join(self, left: SimLeft, done: list[SimDone]) -> SimSum:
        return SimSum(total=len(done))

    @step()
    async def end(self, total: list[SimSum]) -> SimStop:
        return SimStop(said=(str(total[-1].total),))


# Generators, the stop and what goes on after it ----------------------------------------------------------------------


class SimTitled(Agent):
    """An answer that stops the run while its title is still being made, and more work that is cut off."""

    @step()
    async def answer(self, start: SimStart) -> AsyncGenerator[SimNote | SimDraft | SimFirst]:
        for number in range(3):
            yield SimNote(text=f"part {number}")
            yield SimDraft(text="…")
            await asyncio.sleep(0.005)
        yield SimFirst()

    @step(stop_on_error=False)
    async def title(self, start: SimStart) -> SimNote:
        await asyncio.sleep(0.5)
        return SimNote(text="title")

    @step(stop_on_error=False)
    async def slow(self, start: SimStart) -> SimSecond:
        await asyncio.sleep(30)
        return SimSecond()

    @step()
    async def late(self, second: SimSecond) -> SimNote:
        return SimNote(text="late")

    @step()
    async def end(self, first: SimFirst) -> SimStop:
        return SimStop()


# Cycles --------------------------------------------------------------------------------------------------------------


class SimCycle(Agent):
    """Two steps wait for what the other may still send: one is opened (E3.4)."""

    @step()
    async def begin(self, start: SimStart) -> tuple[SimLeft, SimRight]:
        return SimLeft(), SimRight()

    @step()
    async def one(self, left: SimLeft, second: SimSecond | None) -> SimFirst:
        return SimFirst()

    @step()
    async def other(self, right: SimRight, first: SimFirst | None) -> SimSecond:
        return SimSecond()

    @step()
    async def end(self, first: SimFirst, second: SimSecond) -> SimStop:
        return SimStop()


# Failing -------------------------------------------------------------------------------------------------------------


class SimFails(Agent):
    """A step that fails for good ends the run, its sibling is cancelled."""

    @step(retry=Retry(times=1, backoff_seconds=0.5))
    async def fail(self, start: SimStart) -> SimFirst:
        raise ValueError("never")

    @step()
    async def slow(self, start: SimStart) -> SimSecond:
        await asyncio.sleep(60)
        return SimSecond()

    @step()
    async def end(self, first: SimFirst, second: SimSecond) -> SimStop:
        return SimStop()


# People and timers ----------------------------------------------------------------------------------------------------


class SimAsk(HumanInTheLoop.Input):
    """The same question from every branch."""


class SimAskBoss(HumanInTheLoop.Confirmation):
    """Asks once more, with little time."""


class SimTea(Timer):
    """A short time beside the questions."""


class SimTold(ControlEvent):
    number: int
    text: str


class SimPeople(Agent):
    """Asks the same in several branches at once, beside a timer; joins; then asks somebody who may be too late."""

    @step()
    async def fan(self, start: SimStart) -> list[SimAsk | SimTea]:
        await asyncio.sleep(0.005)
        return [*(SimAsk(question=f"{number}?") for number in range(start.width)), SimTea.after(7)]

    @step()
    async def note(self, answer: SimAsk.Answered) -> SimTold:
        await asyncio.sleep(0.01)
        return SimTold(number=int(answer.text), text=answer.text)

    @step()
    async def join(self, start: SimStart, tea: SimTea.Fired, told: list[SimTold]) -> SimAskBoss:
        return SimAskBoss(question="Fine?", subject=" ".join(each.text for each in told), timeout_seconds=60)

    @step()
    async def end(self, decision: SimAskBoss.Answered) -> SimStop:
        return SimStop(said=("decided",))

    @step()
    async def late(self, late: SimAskBoss.TimedOut) -> SimStop:
        return SimStop(said=("late",))


class SimAskCall(ControlAndDisplayEvent):
    number: int


class SimAskedCall(ControlAndDisplayEvent):
    text: str


class SimAsking(Capability):
    """Asks a person inside a call, and waits a moment."""

    AskRequest = SimAskCall
    Asked = SimAskedCall

    @step()
    async def ask(self, request: SimAskCall) -> SimAsk:
        return SimAsk(question=f"{request.number}?")

    @step()
    async def rest(self, answer: SimAsk.Answered) -> SimTold:
        return SimTold(number=int(answer.text), text=answer.text)

    @step()
    async def wait(self, told: SimTold) -> Timer:
        return Timer.after(0.5 * (3 - told.number))

    @step()
    async def tell(self, told: SimTold, fired: Timer.Fired) -> SimAskedCall:
        return SimAskedCall(text=told.text)


class SimPeopleInCalls(Agent):
    """Asks people in parallel calls; the join has their answers in the order of the calls."""

    @step()
    async def fan(self, start: SimStart) -> list[SimAskCall]:
        return [SimAskCall(number=number) for number in range(start.width)]

    @step()
    async def join(self, start: SimStart, asked: list[SimAskedCall]) -> SimStop:
        return SimStop(said=tuple(each.text for each in asked))


class SimWaiting(Agent):
    """Waits for times one after the other, and once for nobody."""

    @step()
    async def begin(self, start: SimStart) -> SimTea:
        return SimTea.after(0.2)

    @step()
    async def again(self, tea: SimTea.Fired) -> SimAskBoss:
        return SimAskBoss(question="Anybody?", timeout_seconds=40)

    @step()
    async def decided(self, decision: SimAskBoss.Answered) -> SimStop:
        return SimStop(said=("somebody",))

    @step()
    async def late(self, late: SimAskBoss.TimedOut) -> SimStop:
        return SimStop(said=("nobody",))


def first_word(request: SimAsk) -> str:
    """The answer of a person who repeats the question's number."""
    return str(request.question).rstrip("?")


THREE = SimStart()


@dataclass(frozen=True)
class Case:
    """A workflow with its start, whether its joins are compared with those of an undisturbed run, and how that ends."""

    blueprint: type[Agent]
    start: Event = THREE
    compared: bool = True
    respond: Respond | None = None
    error: str = ""
    """Code of the error an undisturbed run ends with, if it does."""

    def __str__(self) -> str:
        width = getattr(self.start, "width", 3)
        return self.blueprint.__name__ + (f"-{width}" if width != 3 else "")


CASES = [
    Case(SimChain),
    Case(SimFan, SimStart(width=0)),
    Case(SimFan, SimStart(width=1)),
    Case(SimFan, SimStart(width=12)),
    Case(SimLoneFan),
    Case(SimLoneFan, SimStart(width=0)),
    Case(SimLoneFan, SimStart(width=1)),
    Case(SimLoop),
    Case(SimCalls),
    Case(SimPrecondition),
    Case(SimTitled, compared=False),
    Case(SimCycle),
    Case(SimFails, compared=False, error="step_failed"),
    Case(SimPeople, respond={SimAsk: first_word, SimAskBoss: True}),
    Case(SimPeopleInCalls, respond={SimAsk: first_word}),
    Case(SimWaiting),
]
