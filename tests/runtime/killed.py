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

from planwerk.app import Planwerk
from planwerk.runtime.execution import ExecutionInfo
from planwerk.testing import ScriptedModel
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import ControlEvent, StartEvent, StopEvent
from planwerk.workflow.steps import step

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


def installation(folder: Path) -> Planwerk:
    """The same installation in every process."""
    from planwerk.blueprints.llm_wrapping_agent import LLMWrappingAgent

    answers = ScriptedModel([f"Answer {number}." for number in range(1000)])
    return Planwerk([LLMWrappingAgent, Killed], storage=folder / "data.db", model=answers)


async def main(folder: Path) -> None:
    accepted = [line.split()[0] for line in (folder / "accepted.txt").read_text().splitlines()]
    async with installation(folder) as planwerk:
        sys.stdout.write("up\n")
        sys.stdout.flush()
        for run in accepted:
            async for _ in planwerk.host.follow(run):  # pyright: ignore[reportArgumentType] - ids from a file
                pass
    sys.stdout.write("done\n")


if __name__ == "__main__":
    os.environ[FOLDER] = sys.argv[1]
    asyncio.run(main(Path(sys.argv[1])))
