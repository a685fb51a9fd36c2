"""Blueprints that worker processes drive in tests, and a process that only follows a run.

python -m tests.runtime.working FOLDER RUN    print the position and kind of each entry as it comes, to the run's end
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from planwerk.app import Planwerk
from planwerk.blueprints.llm_wrapping_agent import LLMWrappingAgent
from planwerk.messages.events import SteeringMessageEvent, UserMessageEvent
from planwerk.messages.prompts import last_user_prompt
from planwerk.runtime.execution import ExecutionInfo
from planwerk.testing import ScriptedModel
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import ControlEvent, StartEvent, StopEvent
from planwerk.workflow.ids import RunId
from planwerk.workflow.steps import step

FIFO = "HELD_BY_FIFO"
"""What a held step reads from: it goes on when somebody has written there."""


class HeldStart(StartEvent):
    number: int = 0


class HeldDone(ControlEvent):
    pid: int


class HeldStop(StopEvent):
    pid: int


class Held(Agent):
    """Its first attempt waits for somebody outside; a later one goes on at once."""

    @step()
    async def work(self, start: HeldStart, info: ExecutionInfo) -> HeldDone:
        if info.attempt == 1:
            await asyncio.to_thread(Path(os.environ[FIFO]).read_bytes)
        return HeldDone(pid=os.getpid())

    @step()
    async def finish(self, done: HeldDone) -> HeldStop:
        return HeldStop(pid=done.pid)


class LongStart(StartEvent):
    rounds: int


class LongRound(ControlEvent):
    number: int
    rounds: int


class LongStop(StopEvent):
    rounds: int


class Long(Agent):
    """Goes round, a few milliseconds each time."""

    @step()
    async def begin(self, start: LongStart) -> LongRound:
        return LongRound(number=1, rounds=start.rounds)

    @step()
    async def go_round(self, last: LongRound) -> LongRound | LongStop:
        await asyncio.sleep(0.003)
        if last.number == last.rounds:
            return LongStop(rounds=last.rounds)
        return LongRound(number=last.number + 1, rounds=last.rounds)


class HearRound(ControlEvent):
    pass


class HeardStop(StopEvent):
    text: str


class Hearing(Agent):
    """Goes round, a few milliseconds each time, until three things were said into it."""

    @step()
    async def begin(self, message: UserMessageEvent) -> HearRound:
        return HearRound()

    @step()
    async def go_round(self, last: HearRound, said: list[SteeringMessageEvent]) -> HearRound | HeardStop:
        await asyncio.sleep(0.003)
        heard = [last_user_prompt(one.messages) for one in said]
        return HeardStop(text=", ".join(heard)) if len(heard) >= 3 else HearRound()


app = Planwerk(
    [LLMWrappingAgent, Held, Long, Hearing], model=ScriptedModel([f"Answer {number}." for number in range(100)])
)
"""What `planwerk worker` finds in this module."""


def installation(folder: Path, *, with_blueprints: bool = True) -> Planwerk:
    """The same, for the test's own process."""
    blueprints: list[type[Agent]] = [LLMWrappingAgent, Held, Long, Hearing] if with_blueprints else [LLMWrappingAgent]
    return Planwerk(blueprints, storage=folder / "planwerk.db", model=ScriptedModel([]))


async def follow(folder: Path, run: RunId) -> None:
    """Print what a follower sees that never saw anything but the journal."""
    following = installation(folder)
    await following.start(work=False, is_helper=True)
    async for position, entry in following.host.follow(run):
        sys.stdout.write(f"{position} {type(entry).__name__}\n")
        sys.stdout.flush()
    await following.stop()


if __name__ == "__main__":
    asyncio.run(follow(Path(sys.argv[1]), RunId(sys.argv[2])))
