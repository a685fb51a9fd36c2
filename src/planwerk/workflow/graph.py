"""The composed workflow as a picture: nodes, groups and edges, for `planwerk graph`, the run view and prompts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from planwerk.workflow.locale_string import LocaleString

if TYPE_CHECKING:
    from planwerk.workflow.blueprint import Agent


@dataclass(frozen=True, slots=True)
class Node:
    """A step, or the place where a run begins or ends."""

    id: str
    step: str
    label: LocaleString
    kind: Literal["start", "step", "stop"]
    icon: str | None = None
    group: str | None = None
    """Id of the capability whose step it is; None for the blueprint's own."""


@dataclass(frozen=True, slots=True)
class Group:
    """A capability of which steps are composed in."""

    id: str
    label: str


@dataclass(frozen=True, slots=True)
class Edge:
    """An event that one step returns and another takes."""

    source: str
    target: str
    event: str


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes in order of declaration, start first and stops last."""

    nodes: tuple[Node, ...]
    groups: tuple[Group, ...]
    edges: tuple[Edge, ...]


def graph_of(blueprint: type[Agent]) -> Graph:
    """The graph of a blueprint's composed workflow, over all its start events."""
    from planwerk.workflow.composition import draw

    return draw(blueprint)
