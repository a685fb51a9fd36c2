"""An event that comes while a precondition is being asked is not lost to the "no" it then says (E3.6)."""

from __future__ import annotations

import asyncio

from planwerk.testing import run_workflow
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import ControlEvent, StartEvent, StopEvent
from planwerk.workflow.steps import step


class OvertakenStart(StartEvent):
    pass


class OvertakenItem(ControlEvent):
    pass


class OvertakenGate(ControlEvent):
    pass


class OvertakenPassed(ControlEvent):
    pass


class OvertakenDone(ControlEvent):
    pass


class OvertakenStop(StopEvent):
    done: int
    asked: int


asking = asyncio.Event()
asked: list[bool] = []


async def _slowly(item: OvertakenItem, gate: OvertakenGate | None) -> bool:
    asked.append(gate is not None)
    asking.set()
    for _ in range(50):
        await asyncio.sleep(0)
    return gate is not None


class Overtaken(Agent):
    @step()
    async def begin(self, start: OvertakenStart) -> OvertakenItem:
        asking.clear()
        asked.clear()
        return OvertakenItem()

    @step(precondition=_slowly)
    async def work(self, item: OvertakenItem) -> OvertakenDone:
        return OvertakenDone()

    @step()
    async def open_gate(self, start: OvertakenStart) -> OvertakenGate:
        await asking.wait()
        return OvertakenGate()

    @step()
    async def pass_gate(self, gate: OvertakenGate) -> OvertakenPassed:
        return OvertakenPassed()

    @step()
    async def join(self, passed: OvertakenPassed, done: list[OvertakenDone]) -> OvertakenStop:
        return OvertakenStop(done=len(done), asked=len(asked))


async def test_a_no_that_an_event_has_overtaken_is_asked_again() -> None:
    result = await run_workflow(Overtaken, OvertakenStart())

    assert isinstance(result.stop, OvertakenStop)
    assert (result.stop.done, asked) == (1, [False, True])
