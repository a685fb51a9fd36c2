"""A journal whose workflow has changed: what still fits goes on, what does not is named (E7.6)."""

from __future__ import annotations

import re

import pytest

from planwerk.testing import run_workflow
from planwerk.workflow import entries as journal
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.capability import Capability
from planwerk.workflow.composition import compose
from planwerk.workflow.errors import CodeChanged
from planwerk.workflow.events import ControlEvent, StartEvent, StopEvent
from planwerk.workflow.fitting import changed_fingerprint, refuse_misfit
from planwerk.workflow.steps import step


class FitStart(StartEvent):
    pass


class FitOne(ControlEvent):
    pass


class FitTwo(ControlEvent):
    pass


class FitAsked(ControlEvent):
    pass


class FitFound(ControlEvent):
    pass


class FitStop(StopEvent):
    pass


class FitSearch(Capability):
    """A call."""

    AskRequest = FitAsked
    Found = FitFound

    @step()
    async def search(self, request: FitAsked) -> FitFound:
        return FitFound()


class Fit(Agent):
    """As it was when the run was started."""

    @step()
    async def begin(self, start: FitStart) -> tuple[FitOne, FitAsked]:
        return FitOne(), FitAsked()

    @step()
    async def finish(self, one: FitOne, found: FitFound) -> FitStop:
        return FitStop()


async def recorded() -> list[journal.Entry]:
    return list((await run_workflow(Fit, FitStart())).journal)


class FitMore(Agent):
    """A step and an optional output more: every binding fits."""

    @step()
    async def begin(self, start: FitStart) -> list[FitOne | FitAsked | FitTwo]:
        return [FitOne(), FitAsked()]

    @step(name="More")
    async def finish(self, one: FitOne, found: FitFound) -> FitStop:
        return FitStop()

    @step()
    async def two(self, two: FitTwo) -> FitOne:
        return FitOne()


class FitWithout(Agent):
    """The last step is gone."""

    @step()
    async def begin(self, start: FitStart) -> tuple[FitOne, FitAsked]:
        return FitOne(), FitAsked()

    @step()
    async def end(self, one: FitOne, found: FitFound) -> FitStop:
        return FitStop()


class FitThree(Agent):
    """The last step has an input more."""

    @step()
    async def begin(self, start: FitStart) -> tuple[FitOne, FitAsked, FitTwo]:
        return FitOne(), FitAsked(), FitTwo()

    @step()
    async def finish(self, one: FitOne, found: FitFound, two: FitTwo) -> FitStop:
        return FitStop()


class FitOther(Agent):
    """The last step takes another class."""

    @step()
    async def begin(self, start: FitStart) -> tuple[FitOne, FitAsked, FitTwo]:
        return FitOne(), FitAsked(), FitTwo()

    @step()
    async def finish(self, two: FitTwo, found: FitFound) -> FitStop:
        return FitStop()

    @step()
    async def one(self, one: FitOne) -> FitTwo:
        return FitTwo()


class FitNoCall(Agent):
    """The first step calls no longer."""

    @step()
    async def begin(self, start: FitStart) -> FitOne:
        return FitOne()

    @step()
    async def finish(self, one: FitOne) -> FitStop:
        return FitStop()


async def test_the_same_code_has_the_fingerprint_that_was_recorded() -> None:
    entries = await recorded()

    assert changed_fingerprint(entries, compose(Fit, FitStart)) is None
    refuse_misfit(entries, compose(Fit, FitStart))


async def test_what_has_been_added_does_not_matter() -> None:
    entries, composition = await recorded(), compose(FitMore, FitStart)

    refuse_misfit(entries, composition)

    assert changed_fingerprint(entries, composition) == composition.fingerprint
    taken = journal.OwnershipTaken(2, 1, "w", composition.fingerprint)
    assert changed_fingerprint([*entries, taken], composition) is None
    assert changed_fingerprint([*entries, taken], compose(Fit, FitStart)) is not None


@pytest.mark.parametrize(
    ("blueprint", "difference"),
    [
        (FitWithout, r"step finish was due, and there is no such step any more"),
        (FitThree, r"step finish took 2 inputs, and has 3 inputs now: one, found, two"),
        (FitOther, r"step finish took FitOne \(\d+\) as two, which takes FitTwo now"),
        (FitNoCall, r"step begin returned FitAsked, which it does not return any more"),
    ],
)
async def test_the_difference_is_named_by_step_and_binding(blueprint: type[Agent], difference: str) -> None:
    entries = await recorded()

    with pytest.raises(CodeChanged) as refused:
        refuse_misfit(entries, compose(blueprint, FitStart))

    said = rf"the code of {blueprint.__name__} has changed .* at position \d+, {difference}"
    assert re.search(said, str(refused.value))
    assert refused.value.http_status == 409
