"""burr in memory: actions on a state, transitions by a condition in Python, which is faster than one as text."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager
from typing import Any, Final, cast

from burr.core import ApplicationBuilder, ApplicationContext, Condition, Graph, GraphBuilder, State, action, default
from burr.core.application import Application
from burr.core.parallelism import MapStates

from bench import moments
from bench.scenario import Contestant, Once, Sizes


@action(reads=["number"], writes=["number"])
async def tick(state: State[Any]) -> State[Any]:
    return state.update(number=state["number"] + 1)


@action(reads=["number"], writes=["value"])
async def finish(state: State[Any]) -> State[Any]:
    return state.update(value=state["number"] + 1)


def is_under_way(state: State[Any]) -> bool:
    return state["number"] + 1 < state["steps"]


def when(test: Callable[[State[Any]], bool], keys: list[str]) -> Condition:
    return cast("Any", Condition).lmda(test, keys)


def chain_graph() -> Graph:
    """An action that goes to itself, and one that ends: together as many as there are steps."""
    return (
        cast("Any", GraphBuilder())
        .with_actions(tick=tick, finish=finish)
        .with_transitions(("tick", "tick", when(is_under_way, ["number", "steps"])), ("tick", "finish", default))
        .build()
    )


@action(reads=["number"], writes=["number", "notes"])
async def note(state: State[Any]) -> State[Any]:
    number = state["number"] + 1
    moments.step(number)
    return state.update(number=number).append(notes=f"note {number}")


@action(reads=["notes"], writes=["value"])
async def count(state: State[Any]) -> State[Any]:
    return state.update(value=len(state["notes"]))


def notes_are_left(state: State[Any]) -> bool:
    return state["number"] < state["steps"]


def noting_graph() -> Graph:
    """An action that goes to itself and leaves notes in the state, and one that counts them."""
    return (
        cast("Any", GraphBuilder())
        .with_actions(note=note, count=count)
        .with_transitions(("note", "note", when(notes_are_left, ["number", "steps"])), ("note", "count", default))
        .build()
    )


async def value_of(application: Application[Any], last: str) -> int:
    """Run to the end."""
    ended = await cast("Any", application).arun(halt_after=[last])
    return ended[2]["value"]


@action(reads=["number"], writes=["result"])
async def work(state: State[Any]) -> State[Any]:
    return state.update(result=2 * state["number"])


class WorkAll(MapStates):
    """One action over a state for each number, all at once in this loop."""

    def action(self, state: State[Any], inputs: dict[str, Any]) -> Any:
        return cast("Any", work)

    def states(self, state: State[Any], context: ApplicationContext, inputs: dict[str, Any]) -> Generator[State[Any]]:
        for number in range(state["width"]):
            yield state.update(number=number)

    async def reduce(  # pyright: ignore[reportIncompatibleMethodOverride] - burr awaits it where `is_async`
        self, state: State[Any], results: Any
    ) -> State[Any]:
        return state.update(value=sum([result["result"] async for result in results]))

    def is_async(self) -> bool:
        return True

    @property
    def reads(self) -> list[str]:
        return ["width"]

    @property
    def writes(self) -> list[str]:
        return ["value"]


@asynccontextmanager
async def chain(sizes: Sizes) -> AsyncGenerator[Once]:
    graph = chain_graph()

    async def once() -> int:
        return await value_of(await started(graph, steps=sizes.steps), "finish")

    yield once


async def started(graph: Graph, **state: Any) -> Application[Any]:
    builder = cast("Any", ApplicationBuilder()).with_graph(graph).with_state(number=0, **state)
    return await builder.with_entrypoint(graph.actions[0].name).abuild()


@asynccontextmanager
async def fanout(sizes: Sizes) -> AsyncGenerator[Once]:
    graph = cast("Any", GraphBuilder()).with_actions(work_all=WorkAll()).build()

    async def once() -> int:
        return await value_of(await started(graph, width=sizes.width), "work_all")

    yield once


@asynccontextmanager
async def runs(sizes: Sizes) -> AsyncGenerator[Once]:
    graph = chain_graph()

    async def one() -> int:
        return await value_of(await started(graph, steps=sizes.steps), "finish")

    async def once() -> int:
        return sum(await asyncio.gather(*(one() for _ in range(sizes.runs))))

    yield once


@asynccontextmanager
async def growth_memory(sizes: Sizes) -> AsyncGenerator[Once]:
    graph = noting_graph()

    async def once() -> int:
        return await value_of(await started(graph, steps=sizes.steps, notes=[]), "count")

    yield once


CONTESTANT: Final = Contestant(
    "burr",
    {
        "chain": chain,
        "fanout": fanout,
        "fanout-wide": fanout,
        "runs": runs,
        "runs-durable": runs,
        "growth-memory": growth_memory,
    },
)
