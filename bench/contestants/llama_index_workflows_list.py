"""llama-index-workflows in its list form: a step returns a list of events, another takes the list of results."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final, cast

from workflows import Workflow, step
from workflows.events import StopEvent

from bench.contestants.llama_index_workflows import WORKERS, Result, Scatter, Work
from bench.scenario import Contestant, Once, Sizes


class ListFanOut(Workflow):
    @step
    async def scatter(self, event: Scatter) -> list[Work]:
        return [Work(number=number) for number in range(event.width)]

    @step(num_workers=WORKERS)
    async def work(self, event: Work) -> Result:
        return Result(value=2 * event.number)

    @step
    async def gather(self, results: list[Result]) -> StopEvent:
        return StopEvent(result=sum(result.value for result in results))


@asynccontextmanager
async def fanout(sizes: Sizes) -> AsyncGenerator[Once]:
    workflow = ListFanOut(timeout=None)

    async def once() -> int:
        return cast("int", await workflow.run(start_event=Scatter(width=sizes.width)))

    yield once


CONTESTANT: Final = Contestant("llama-index-workflows-list", {"fanout": fanout})
