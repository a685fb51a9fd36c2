"""pydantic-graph: nodes that return the next node for the chain, the builder's map and join for the fan-out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from pydantic_graph import BaseNode, End, Graph, GraphBuilder, GraphRunContext, StepContext, reduce_list_append

from bench.scenario import Contestant, Once, Sizes


@dataclass
class Tick(BaseNode[None, None, int]):
    number: int
    steps: int

    async def run(self, ctx: GraphRunContext[None, None]) -> Tick | End[int]:
        if self.number + 1 >= self.steps:
            return End(self.number + 1)
        return Tick(self.number + 1, self.steps)


def chain_graph() -> Graph[None, None, Tick, int]:
    builder = GraphBuilder(input_type=Tick, output_type=int)
    builder.add(builder.node(Tick), builder.edge_from(builder.start_node).to(Tick))
    return builder.build()


def fan_out_graph() -> Graph[None, None, int, int]:
    builder = GraphBuilder(input_type=int, output_type=int)

    @builder.step
    async def scatter(ctx: StepContext[None, None, int]) -> list[int]:
        return list(range(ctx.inputs))

    @builder.step
    async def work(ctx: StepContext[None, None, int]) -> int:
        return 2 * ctx.inputs

    @builder.step
    async def total(ctx: StepContext[None, None, list[int]]) -> int:
        return sum(ctx.inputs)

    collected = builder.join(reduce_list_append, initial_factory=list[int])
    builder.add(
        builder.edge_from(builder.start_node).to(scatter),
        builder.edge_from(scatter).map().to(work),
        builder.edge_from(work).to(collected),
        builder.edge_from(collected).to(total),
        builder.edge_from(total).to(builder.end_node),
    )
    return builder.build()


@asynccontextmanager
async def chain(sizes: Sizes) -> AsyncGenerator[Once]:
    graph = chain_graph()

    async def once() -> int:
        return await graph.run(inputs=Tick(0, sizes.steps))

    yield once


@asynccontextmanager
async def fanout(sizes: Sizes) -> AsyncGenerator[Once]:
    graph = fan_out_graph()

    async def once() -> int:
        return await graph.run(inputs=sizes.width)

    yield once


@asynccontextmanager
async def runs(sizes: Sizes) -> AsyncGenerator[Once]:
    graph = chain_graph()

    async def once() -> int:
        return sum(await asyncio.gather(*(graph.run(inputs=Tick(0, sizes.steps)) for _ in range(sizes.runs))))

    yield once


CONTESTANT: Final = Contestant(
    "pydantic-graph", {"chain": chain, "fanout": fanout, "fanout-wide": fanout, "runs": runs}
)
