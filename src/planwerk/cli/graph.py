"""`planwerk graph`: a composed workflow as a Mermaid diagram, capabilities as subgraphs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from planwerk.cli.options import Json
from planwerk.cli.output import print_json

if TYPE_CHECKING:
    from planwerk.workflow.graph import Edge, Graph, Node

_SHAPES = {"start": ('(["', '"])'), "step": ('["', '"]'), "stop": ('[["', '"]]')}


def graph(
    module: Annotated[
        str | None,
        typer.Argument(metavar="MODULE[:CLASS]", help="A file or dotted name; the first blueprint if no CLASS."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Draw a blueprint's composed workflow as Mermaid; steps that nothing can reach are not in it."""
    from planwerk.cli.modules import load_module

    target, _, name = (module or "").partition(":")
    loaded = load_module(target or None)
    blueprint = loaded.blueprint(name) if name else loaded.blueprints[0]
    drawn = blueprint.graph()
    if as_json:
        print_json({"blueprint": blueprint.__name__, **_data(drawn)})
    else:
        print("\n".join(mermaid(drawn)))
    others = [other.__name__ for other in loaded.blueprints if other is not blueprint]
    if others and not name:
        print(f"This is {blueprint.__name__}; {target}:NAME draws {', '.join(others)}.", file=sys.stderr)


def mermaid(drawn: Graph) -> Iterator[str]:
    """The lines of a Mermaid flowchart."""
    ids = {node.id: f"n{number}" for number, node in enumerate(drawn.nodes)}
    yield "flowchart TD"
    for node in drawn.nodes:
        if node.group is None:
            yield f"    {_node(node, ids)}"
    for number, group in enumerate(drawn.groups):
        yield f'    subgraph g{number}["{_text(group.label)}"]'
        for node in drawn.nodes:
            if node.group == group.id:
                yield f"        {_node(node, ids)}"
        yield "    end"
    for edge in drawn.edges:
        yield f"    {_edge(edge, ids)}"


def _node(node: Node, ids: dict[str, str]) -> str:
    before, after = _SHAPES[node.kind]
    return f"{ids[node.id]}{before}{_text(node.step)}{after}"


def _edge(edge: Edge, ids: dict[str, str]) -> str:
    return f'{ids[edge.source]} -->|"{_text(edge.event)}"| {ids[edge.target]}'


def _text(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")


def _data(drawn: Graph) -> dict[str, object]:
    nodes = [{**asdict(node), "label": node.label.text("en")} for node in drawn.nodes]
    return {"nodes": nodes, "groups": list(map(asdict, drawn.groups)), "edges": list(map(asdict, drawn.edges))}
