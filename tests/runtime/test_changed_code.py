"""A run whose code has changed under it: it goes on if all fits, else its end says what does not (E7.6)."""

from __future__ import annotations

import asyncio
from pathlib import Path

from planwerk.access.actors import UserActor
from planwerk.app import Planwerk
from planwerk.runtime.wire import RunWire
from planwerk.testing import ScriptedModel
from planwerk.workflow import entries as journal
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.composition import compose
from planwerk.workflow.events import ControlEvent, StartEvent, StopEvent
from planwerk.workflow.ids import RunId, new_id
from planwerk.workflow.steps import step

ANNA = UserActor(id=new_id(), name="Anna")


class CodeStart(StartEvent):
    pass


class CodeBegun(ControlEvent):
    pass


class CodeNew(ControlEvent):
    pass


class CodeStop(StopEvent):
    pass


class Before(Agent):
    """The code that the run was started with; its second step works when the process ends."""

    @step()
    async def begin(self, start: CodeStart) -> CodeBegun:
        return CodeBegun()

    @step()
    async def work(self, begun: CodeBegun) -> CodeStop:
        await asyncio.Event().wait()
        return CodeStop()


class Fitting(Agent):
    """A way more that this run did not take."""

    @step()
    async def begin(self, start: CodeStart) -> CodeBegun | CodeNew:
        return CodeNew()

    @step()
    async def work(self, begun: CodeBegun) -> CodeStop:
        return CodeStop()

    @step()
    async def new(self, new: CodeNew) -> CodeStop:
        return CodeStop()


class Misfit(Agent):
    """The second step takes another event now."""

    @step()
    async def begin(self, start: CodeStart) -> tuple[CodeBegun, CodeNew]:
        return CodeBegun(), CodeNew()

    @step()
    async def work(self, new: CodeNew, begun: CodeBegun) -> CodeStop:
        return CodeStop()


async def left_behind(folder: Path) -> RunId:
    """A run of the code before, handed over in its second step."""
    app = served(folder, Before)
    await app.start()
    run = await app.host.start("code", CodeStart(), actor=ANNA)
    async for _, entry in app.host.follow(run):
        if isinstance(entry, journal.ExecutionDue) and entry.step == "work":
            break
    await app.stop(seconds=0)
    return run


def served(folder: Path, code: type[Agent]) -> Planwerk:
    """The installation after a deployment: the blueprint `Code` is this class now."""
    named = type("Code", (code,), {"__doc__": "Served.", "__module__": __name__})
    return Planwerk([named], storage=folder / "data.db", model=ScriptedModel([]))


async def test_a_run_whose_bindings_all_fit_goes_on_with_the_new_code_and_says_so(tmp_path: Path) -> None:
    run = await left_behind(tmp_path)

    async with served(tmp_path, Fitting) as app, asyncio.timeout(20):
        found = [entry async for _, entry in app.host.follow(run)]
        wire = RunWire(app.blueprints).convert_all(found)

    assert isinstance(found[-1], journal.RunEnded)
    assert found[-1].status == "completed"
    taken = [entry for entry in found if isinstance(entry, journal.OwnershipTaken)]
    now = compose(app.blueprints.get("Code"), CodeStart).fingerprint
    assert [entry.fingerprint for entry in taken] == [None, now]
    told = [one["data"]["workflow_fingerprint"] for one in wire if one["type"] == "ownership_taken"]
    assert told == [None, now]


async def test_a_run_that_does_not_fit_any_more_ends_with_an_error_that_names_step_and_binding(tmp_path: Path) -> None:
    run = await left_behind(tmp_path)

    async with served(tmp_path, Misfit) as app, asyncio.timeout(20):
        found = [entry async for _, entry in app.host.follow(run)]

    end = found[-1]
    assert isinstance(end, journal.RunEnded)
    assert end.status == "failed"
    assert end.error is not None
    assert end.error.code == "code_changed"
    assert "step work took 1 input, and has 2 inputs now: new, begun" in end.error.message
    due = {entry.execution for entry in found if isinstance(entry, journal.ExecutionDue)}
    assert due == {e.execution for e in found if isinstance(e, journal.ExecutionFinished | journal.ExecutionFailed)}
