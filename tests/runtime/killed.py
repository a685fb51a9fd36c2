"""A process that is killed: it serves runs on one file, and writes each start of a step body to a side file.

python -m tests.runtime.killed FOLDER    go on until every run that was accepted has ended
"""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path

from planwerk.access.actors import UserActor
from planwerk.app import DEFAULT_TENANT, Planwerk
from planwerk.messages.events import UserMessageEvent
from planwerk.runtime.agents import child_id
from planwerk.runtime.detaching import LINE
from planwerk.runtime.execution import ExecutionInfo
from planwerk.runtime.run_info import RunInfo
from planwerk.testing import ScriptedModel
from planwerk.workflow import entries as journal
from planwerk.workflow.agents import AgentInTheLoop, Detached
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import ControlEvent, StartEvent, StopEvent
from planwerk.workflow.ids import RunId, derived_id
from planwerk.workflow.people import AskPersonEvent, HumanInTheLoop
from planwerk.workflow.steps import step
from planwerk.workflow.timers import Timer
from planwerk.workspace.rules.errors import RequestNotOpen

FOLDER = "PLANWERK_KILLED_FOLDER"


class KilledDoc:
    """Holds an enum inside, as people write them (ENG-13)."""

    class Phase(Enum):
        DRAFT = "draft"


class KilledStart(StartEvent):
    number: int


class KilledWork(ControlEvent):
    number: int
    phase: KilledDoc.Phase = KilledDoc.Phase.DRAFT
    at: datetime
    tags: frozenset[str]
    price: Decimal


class KilledDone(ControlEvent):
    number: int
    types: tuple[str, ...]


class KilledStop(StopEvent):
    numbers: tuple[int, ...]
    types: tuple[str, ...]


def note(text: str) -> None:
    """Write a line that survives the process."""
    path = Path(os.environ[FOLDER]) / "bodies.txt"
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{text}\n")
        file.flush()


class Killed(Agent):
    """Fans out, works a few milliseconds each, and joins."""

    @step()
    async def split(self, start: KilledStart) -> list[KilledWork]:
        at = datetime.fromisoformat("2026-03-01T10:00+03:00")
        return [KilledWork(number=number, at=at, tags=frozenset({"a"}), price=Decimal("0.10")) for number in range(4)]

    @step()
    async def work(self, work: KilledWork, info: ExecutionInfo) -> KilledDone:
        note(f"{info.id} {info.attempt}")
        await asyncio.sleep(0.004 * (work.number + 1))
        offset = work.at.utcoffset()
        types = (work.phase.name, str(offset), type(work.tags).__name__, type(work.price).__name__)
        return KilledDone(number=work.number, types=types)

    @step()
    async def join(self, start: KilledStart, done: list[KilledDone]) -> KilledStop:
        await asyncio.sleep(0.003)
        return KilledStop(numbers=tuple(each.number for each in done), types=done[0].types)


class KilledAsk(HumanInTheLoop.Input):
    """What every branch asks."""


class KilledAskChat(HumanInTheLoop.Chat):
    """What is asked in the conversation."""


class KilledPause(Timer):
    """A moment."""


class KilledTold(ControlEvent):
    text: str


class KilledAsker(Agent):
    """Asks a person in several branches at once beside timers, and joins what she said."""

    @step()
    async def split(self, start: KilledStart) -> list[KilledAsk | KilledPause]:
        asked = [KilledAsk(question=f"{number}?") for number in range(3)]
        return [*asked, KilledPause.after(0.02), KilledPause.after(0.3)]

    @step()
    async def work(self, answer: KilledAsk.Answered, info: ExecutionInfo) -> KilledTold:
        note(f"{info.id} {info.attempt}")
        await asyncio.sleep(0.005)
        return KilledTold(text=answer.text)

    @step()
    async def join(self, start: KilledStart, told: list[KilledTold], fired: list[KilledPause.Fired]) -> KilledStop:
        assert len(fired) == 2
        return KilledStop(numbers=tuple(int(each.text) for each in told), types=("asked",))


class KilledLeftStart(StartEvent):
    key: str


class KilledLeft(Agent):
    """A run that nobody waits for."""

    @step()
    async def work(self, start: KilledLeftStart, info: ExecutionInfo) -> KilledStop:
        note(f"{info.id} {info.attempt}")
        await asyncio.sleep(0.01)
        return KilledStop(numbers=(0,), types=("left",))


class KilledAskAgent(AgentInTheLoop):
    """Asks an agent that fans out, and one that asks a person."""


class KilledBoss(Agent):
    """Lets three agents work, leaves two runs behind, each under a key that it uses twice, and joins."""

    @step()
    async def split(self, start: KilledStart, info: RunInfo) -> list[KilledAskAgent | Detached]:
        asked = [KilledAskAgent(blueprint=each, start=start) for each in (Killed, KilledAsker, Killed)]
        keys = [f"{info.run} {name}" for name in ("a", "b", "a", "b")]
        left = [Detached(blueprint=KilledLeft, start=KilledLeftStart(key=key), key=key) for key in keys]
        return [*asked, *left]

    @step()
    async def join(self, start: KilledStart, ended: list[KilledAskAgent.Ended]) -> KilledStop:
        stops = [each.stop for each in ended]
        assert all(isinstance(stop, KilledStop) for stop in stops)
        return KilledStop(numbers=(len(stops),), types=("led",))


class KilledChat(Agent):
    """Asks in the conversation, and repeats what was answered."""

    @step()
    async def ask(self, message: UserMessageEvent) -> KilledAskChat:
        return KilledAskChat(question="Which number?")

    @step()
    async def repeat(self, answer: KilledAskChat.Answered) -> KilledStop:
        return KilledStop(numbers=(int(answer.text),), types=("chatted",))


class Person:
    """Answers what the runs ask, as often as she is there to: a question that is answered is not answered again."""

    def __init__(self, planwerk: Planwerk, actor: UserActor) -> None:
        self._planwerk = planwerk
        self._actor = actor

    async def answer(self, run: RunId) -> None:
        """Answer all that the run and those below it ask, until they end; each question by its number, or by 7."""
        below: dict[RunId, None] = {}
        async with asyncio.TaskGroup() as answering:
            async for _, entry in self._planwerk.stores.journal.follow(run):
                if isinstance(entry, journal.EventPublished) and isinstance(entry.event, AskPersonEvent):
                    await self._answer(entry, entry.event)
                for other in runs_below(run, entry):
                    if other not in below:
                        below[other] = None
                        answering.create_task(self.answer(other))

    async def _answer(self, entry: journal.EventPublished, asked: AskPersonEvent) -> None:
        await self._planwerk.projector.catch_up()
        text = "7" if asked.kind == "chat" else str(asked.question).rstrip("?")
        try:
            await self._planwerk.host.answer(entry.id, text, actor=self._actor)
        except RequestNotOpen:
            return  # answered in an earlier life
        note(f"answered/{entry.id} 1")


def runs_below(run: RunId, entry: journal.Entry) -> list[RunId]:
    """The run that the entry asks for or leaves behind, if it does."""
    match entry:
        case journal.EventPublished(AgentInTheLoop()):
            return [child_id(run, entry.id)]
        case journal.EventPublished(Detached() as asked):
            return [RunId(derived_id(DEFAULT_TENANT, LINE, str(asked.key)))]
        case _:
            return []


def installation(folder: Path) -> Planwerk:
    """The same installation in every process."""
    from planwerk.blueprints.llm_wrapping_agent import LLMWrappingAgent

    answers = ScriptedModel([f"Answer {number}." for number in range(1000)])
    blueprints = [LLMWrappingAgent, Killed, KilledAsker, KilledChat, KilledBoss, KilledLeft]
    planwerk = Planwerk(blueprints, storage=folder / "data.db", model=answers)
    planwerk.park_seconds = 0.01  # so that kills meet runs that are just let go, and just taken up
    return planwerk


async def main(folder: Path) -> None:
    accepted = [line.split()[0] for line in (folder / "accepted.txt").read_text().splitlines()]
    async with installation(folder) as planwerk:
        sys.stdout.write("up\n")
        sys.stdout.flush()
        person = Person(planwerk, UserActor.model_validate_json((folder / "person.json").read_text()))
        await asyncio.gather(*(person.answer(RunId(run)) for run in accepted))
    sys.stdout.write("done\n")


if __name__ == "__main__":
    os.environ[FOLDER] = sys.argv[1]
    asyncio.run(main(Path(sys.argv[1])))
