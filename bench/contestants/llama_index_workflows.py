"""llama-index-workflows in its faster form: `ctx.send_event` for each event, `ctx.collect_events` for the join."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, cast

from workflows import Context, Workflow, step
from workflows.events import Event, HumanResponseEvent, InputRequiredEvent, StartEvent, StopEvent

from bench.parking import Answer, parking
from bench.scenario import Contestant, Once, Sizes

WORKERS: Final = 100


class ChainStart(StartEvent):
    steps: int


class Tick(Event):
    number: int
    steps: int


class Scatter(StartEvent):
    width: int


class Work(Event):
    number: int


class Result(Event):
    value: int


class Chain(Workflow):
    @step
    async def begin(self, event: ChainStart) -> Tick:
        return Tick(number=1, steps=event.steps)

    @step
    async def tick(self, event: Tick) -> Tick | StopEvent:
        if event.number + 1 >= event.steps:
            return StopEvent(result=event.number + 1)
        return Tick(number=event.number + 1, steps=event.steps)


def fan_out_of(width: int) -> Workflow:
    """The workflow for this width: `collect_events` takes the list of what to wait for."""
    expected: list[type[Event]] = [Result] * width

    class FanOut(Workflow):
        @step
        async def scatter(self, ctx: Context, event: Scatter) -> Work | None:
            for number in range(event.width):
                ctx.send_event(Work(number=number))
            return None

        @step(num_workers=WORKERS)
        async def work(self, event: Work) -> Result:
            return Result(value=2 * event.number)

        @step
        async def gather(self, ctx: Context, event: Result) -> StopEvent | None:
            results = ctx.collect_events(event, expected)
            return (
                None
                if results is None
                else StopEvent(result=sum(result.value for result in cast("list[Result]", results)))
            )

    return FanOut(timeout=None)


@asynccontextmanager
async def chain(sizes: Sizes) -> AsyncGenerator[Once]:
    workflow = Chain(timeout=None)

    async def once() -> int:
        return cast("int", await workflow.run(start_event=ChainStart(steps=sizes.steps)))

    yield once


@asynccontextmanager
async def fanout(sizes: Sizes) -> AsyncGenerator[Once]:
    workflow = fan_out_of(sizes.width)

    async def once() -> int:
        return cast("int", await workflow.run(start_event=Scatter(width=sizes.width)))

    yield once


@asynccontextmanager
async def runs(sizes: Sizes) -> AsyncGenerator[Once]:
    workflow = Chain(timeout=None)

    async def once() -> int:
        handlers = [workflow.run(start_event=ChainStart(steps=sizes.steps)) for _ in range(sizes.runs)]
        return sum(cast("list[int]", await asyncio.gather(*handlers)))

    yield once


class Yes(HumanResponseEvent):
    number: int


class Asking(Workflow):
    @step
    async def ask(self, event: StartEvent) -> InputRequiredEvent:
        return InputRequiredEvent()

    @step
    async def go_on(self, event: Yes) -> StopEvent:
        return StopEvent(result=event.number)


@asynccontextmanager
async def waiting(folder: Path, runs: int) -> AsyncGenerator[Answer]:
    workflow = Asking(timeout=None)
    handlers: list[Any] = [workflow.run() for _ in range(runs)]
    for handler in handlers:
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                break

    open_runs = dict(enumerate(handlers))

    async def answer(number: int) -> int:
        handler = open_runs.pop(number)
        handler.ctx.send_event(Yes(number=number))
        return await handler

    try:
        yield answer
    finally:
        await asyncio.gather(*(handler.cancel_run() for handler in open_runs.values()))
        await asyncio.gather(*handlers, return_exceptions=True)


CONTESTANT: Final = Contestant(
    "llama-index-workflows", {"chain": chain, "fanout": fanout, "runs": runs, "parked": parking(__name__)}
)
