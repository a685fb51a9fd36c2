"""langgraph in memory, in its fast form: nodes return `Command(goto=…)` instead of going through a router."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypedDict, cast

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs] - a namespace package: its py.typed is not seen
    END,
    START,
    StateGraph,
)
from langgraph.types import Command, Send, interrupt

from bench import moments
from bench.parking import Answer, parking
from bench.scenario import Contestant, Once, Sizes

SPARE_SUPERSTEPS: Final = 10


class ChainState(TypedDict):
    number: int
    steps: int


async def tick(state: ChainState) -> Command[Literal["tick", "__end__"]]:
    number = state["number"] + 1
    following: Literal["tick", "__end__"] = "tick" if number < state["steps"] else "__end__"
    return Command(update={"number": number}, goto=following)


def chain_builder() -> Any:
    """The uncompiled chain: a node that goes to itself."""
    builder = cast("Any", StateGraph(ChainState))
    builder.add_node("tick", tick)
    builder.add_edge(START, "tick")
    return builder


class NotesState(TypedDict):
    number: int
    steps: int
    notes: Annotated[list[str], operator.add]


async def note(state: NotesState) -> Command[Literal["note", "__end__"]]:
    number = state["number"] + 1
    moments.step(number)
    following: Literal["note", "__end__"] = "note" if number < state["steps"] else "__end__"
    return Command(update={"number": number, "notes": [f"note {number}"]}, goto=following)


def noting_builder() -> Any:
    """The uncompiled chain whose steps leave notes in the state."""
    builder = cast("Any", StateGraph(NotesState))
    builder.add_node("note", note)
    builder.add_edge(START, "note")
    return builder


class FanOutState(TypedDict):
    width: int
    values: Annotated[list[int], operator.add]
    total: int


class WorkState(TypedDict):
    number: int


async def scatter(state: FanOutState) -> Command[Literal["work"]]:
    return Command(goto=[Send("work", {"number": number}) for number in range(state["width"])])


async def work(state: WorkState) -> dict[str, list[int]]:
    return {"values": [2 * state["number"]]}


async def gather(state: FanOutState) -> dict[str, int]:
    return {"total": sum(state["values"])}


def fan_out_graph() -> Any:
    builder = cast("Any", StateGraph(FanOutState))
    builder.add_node("scatter", scatter)
    builder.add_node("work", work)
    builder.add_node("gather", gather)
    builder.add_edge(START, "scatter")
    builder.add_edge("work", "gather")
    builder.add_edge("gather", END)
    return builder.compile()


@asynccontextmanager
async def chain(sizes: Sizes) -> AsyncGenerator[Once]:
    graph = chain_builder().compile()
    config = {"recursion_limit": sizes.steps + SPARE_SUPERSTEPS}

    async def once() -> int:
        state = await graph.ainvoke({"number": 0, "steps": sizes.steps}, config)
        return state["number"]

    yield once


@asynccontextmanager
async def fanout(sizes: Sizes) -> AsyncGenerator[Once]:
    graph = fan_out_graph()

    async def once() -> int:
        state = await graph.ainvoke({"width": sizes.width, "values": [], "total": 0})
        return state["total"]

    yield once


@asynccontextmanager
async def runs(sizes: Sizes) -> AsyncGenerator[Once]:
    graph = chain_builder().compile()
    config = {"recursion_limit": sizes.steps + SPARE_SUPERSTEPS}

    async def once() -> int:
        inputs = {"number": 0, "steps": sizes.steps}
        states = await asyncio.gather(*(graph.ainvoke(inputs, config) for _ in range(sizes.runs)))
        return sum(state["number"] for state in states)

    yield once


@asynccontextmanager
async def growth_memory(sizes: Sizes) -> AsyncGenerator[Once]:
    graph = noting_builder().compile()
    config = {"recursion_limit": sizes.steps + SPARE_SUPERSTEPS}

    async def once() -> int:
        state = await graph.ainvoke({"number": 0, "steps": sizes.steps, "notes": []}, config)
        return len(state["notes"])

    yield once


class AskState(TypedDict):
    value: int


async def ask(state: AskState) -> dict[str, int]:
    return {"value": interrupt("Shall it go on?")}


@asynccontextmanager
async def waiting(folder: Path, runs: int) -> AsyncGenerator[Answer]:
    builder = cast("Any", StateGraph(AskState))
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    builder.add_edge("ask", END)
    graph = builder.compile(checkpointer=InMemorySaver())
    configs = [{"configurable": {"thread_id": f"run-{number}"}} for number in range(runs)]
    for config in configs:
        await graph.ainvoke({"value": -1}, config)

    async def answer(number: int) -> int:
        state = await graph.ainvoke(Command(resume=number), configs[number])
        return state["value"]

    yield answer


CONTESTANT: Final = Contestant(
    "langgraph",
    {
        "chain": chain,
        "fanout": fanout,
        "fanout-wide": fanout,
        "runs": runs,
        "growth-memory": growth_memory,
        "parked": parking(__name__),
    },
)
