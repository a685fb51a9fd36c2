"""A journal recorded by any release is readable by the next (E1.10).

`tests/conformance/journals/VERSION/` holds what a release wrote. Those of a release that is out are never written
again; those of the version in `pyproject.toml` are written anew, as long as it is not out, by
`PLANWERK_JOURNALS=write pytest tests/workflow/test_recorded_journals.py`.
"""

from __future__ import annotations

import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import Final, get_args

import pytest
from pydantic import JsonValue

from planwerk.blueprints.llm_wrapping_agent import LLMWrappingAgent
from planwerk.messages.events import UserMessageEvent
from planwerk.messages.prompts import user_prompt
from planwerk.runtime.driver import RunDriver
from planwerk.runtime.local import LocalRuntime
from planwerk.storage.in_memory.journal import InMemoryJournal
from planwerk.testing import ScriptedModel, run_workflow
from planwerk.testing.virtual_clock import virtual_time
from planwerk.workflow import entries as journal
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.composition import compose
from planwerk.workflow.events import StartEvent, StopEvent, UnknownEvent
from planwerk.workflow.fitting import refuse_misfit
from planwerk.workflow.journal_text import read_entries, write_entries
from planwerk.workflow.replay import replay
from planwerk.workflow.steps import step
from tests.simulation.workflows import CASES

FOLDER: Final = Path(__file__).parents[1] / "conformance" / "journals"
SUFFIX: Final = ".journal"
RECORDED: Final = sorted(FOLDER.glob(f"*/*{SUFFIX}"))
KINDS: Final = frozenset(cls.__name__ for cls in get_args(journal.Entry)) - {"UnknownEntry"}


class HandedOverStart(StartEvent):
    pass


class HandedOver(Agent):
    """Passes from one owner to another."""

    @step()
    async def work(self, start: HandedOverStart) -> StopEvent:
        return StopEvent()


BLUEPRINTS: Final[dict[str, type[Agent]]] = {
    cls.__name__: cls for cls in (HandedOver, LLMWrappingAgent, *(case.blueprint for case in CASES))
}


async def handed_over() -> list[journal.Entry]:
    """A run whose first owner let it go before its step ended."""
    runtime = LocalRuntime(InMemoryJournal())
    first = await runtime.start(HandedOver, HandedOverStart())
    await first.release()
    second: RunDriver = runtime.driver(first.program, first.config)
    await second.resume(await runtime.journal.read(first.run))
    await second.wait_ended()
    return await runtime.journal.read(first.run)


async def record() -> dict[str, list[journal.Entry]]:
    found = {"HandedOver": await handed_over()}
    with virtual_time():
        for case in CASES:
            found[str(case)] = (await run_workflow(case.blueprint, case.start, respond=case.respond)).journal
        model = ScriptedModel(["It costs 10.", "How do I upgrade?", "Prices"])
        asked = UserMessageEvent(messages=(user_prompt("What does it cost?"),), locale="en")
        found["LLMWrappingAgent"] = (await run_workflow(LLMWrappingAgent, asked, model=model)).journal
    return found


async def test_this_version_has_a_sample_of_every_kind_of_entry() -> None:
    folder = FOLDER / version("planwerk")
    if os.environ.get("PLANWERK_JOURNALS") == "write":
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob(f"*{SUFFIX}"):
            old.unlink()
        for name, entries in (await record()).items():
            (folder / f"{name}{SUFFIX}").write_text(write_entries(entries) + "\n", encoding="utf-8")

    kinds = {type(entry).__name__ for file in folder.glob(f"*{SUFFIX}") for entry in read(file)}

    assert kinds == KINDS


def read(file: Path) -> list[journal.Entry]:
    return read_entries(file.read_text(encoding="utf-8").removesuffix("\n"))


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_recorded_journal_is_read_whole_and_its_run_could_go_on(file: Path) -> None:
    entries = read(file)

    assert not [entry for entry in entries if isinstance(entry, journal.UnknownEntry)]
    events = [entry.event for entry in entries if isinstance(entry, journal.EventPublished)]
    assert not [event for event in events if isinstance(event, UnknownEvent)]
    assert read_entries(write_entries(entries)) == entries
    opened = entries[0]
    assert isinstance(opened, journal.RunOpened)
    composition = compose(BLUEPRINTS[opened.blueprint], type(events[0]))
    refuse_misfit(entries, composition)
    if opened.fingerprint == composition.fingerprint:
        assert replay(entries, composition).divergence is None


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_nothing_that_an_event_said_is_lost(file: Path) -> None:
    lines = file.read_text(encoding="utf-8").splitlines()
    said = [json.loads(line) for line in lines if line.startswith("{")]
    again = [json.loads(line) for line in write_entries(read(file)).splitlines() if line.startswith("{")]

    assert len(said) == len(again)
    assert all(map(is_within, said, again))


def is_within(before: JsonValue, after: JsonValue) -> bool:
    """Whether all that was said is said again; fields may have been added, and an empty list may go without saying."""
    if isinstance(before, dict) and isinstance(after, dict):
        return all(
            is_within(value, after.get(name, [])) for name, value in before.items() if name in after or value != []
        )
    if isinstance(before, list) and isinstance(after, list):
        return len(before) == len(after) and all(map(is_within, before, after))
    return before == after
