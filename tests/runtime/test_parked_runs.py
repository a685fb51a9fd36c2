"""Runs that wait for people cost storage, not memory, and one of many is answered as one of few (E7.4)."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from planwerk.workflow.entries import EventPublished
from planwerk.workflow.ids import EventId
from planwerk.workflow.journal_text import write_entries
from tests.runtime.parked import ParkedAsk, ParkedStart, installation

MEMORY_KIB: Final = 10 * 1024
FILE_BYTES: Final = 2_048
"""Of a run, beyond its start event, config and request."""
FEW: Final = 40
SPARE_STEPS: Final = 400
"""Of SQLite's machine: deeper trees, and answers that meet another moment of the worker."""


async def process(*arguments: str) -> str:
    """What a process of `tests.runtime.parked` prints."""
    made = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.runtime.parked", *arguments, stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await made.communicate()
    assert made.returncode == 0
    return printed.decode()


@dataclass(frozen=True)
class Served:
    """What serving a file took."""

    file: Path
    found: dict[str, Any]

    @property
    def bytes(self) -> int:
        return self.file.stat().st_size


async def served(folder: Path, runs: int) -> Served:
    file = folder / f"{runs}.db"
    await process("make", str(file), str(runs))
    return Served(file, json.loads(await process("serve", str(file))))


async def counted_apart() -> int:
    """Bytes of a run's start event, config and request."""
    start = EventPublished(ParkedStart(number=99_999), id=EventId(""), at=0)
    request = EventPublished(ParkedAsk(question="What about number 99999?"), id=EventId(""), at=0)
    return len(write_entries([start, request]).encode()) + len("{}")


async def check(folder: Path, runs: int) -> Served:
    empty, few, many = await served(folder, 0), await served(folder, FEW), await served(folder, runs)

    assert many.found["resident_kib"] - empty.found["resident_kib"] <= MEMORY_KIB
    assert few.found["ended"] == many.found["ended"] == ["It is fine."]
    assert 0 < many.found["steps"] <= few.found["steps"] + SPARE_STEPS
    assert (many.bytes - empty.bytes) / runs - await counted_apart() <= FILE_BYTES
    return many


async def test_a_thousand_runs_that_wait(tmp_path: Path) -> None:
    await check(tmp_path, 1_000)


@pytest.mark.soak
async def test_a_hundred_thousand_runs_that_wait(tmp_path: Path, record_property: Any) -> None:
    many = await check(tmp_path, 100_000)

    for name, figure in many.found.items():
        record_property(name, figure)


async def test_the_installation_is_free_of_problems(tmp_path: Path) -> None:
    assert [blueprint.find_problems() for blueprint in installation(tmp_path / "x.db").blueprints] == [[]]
