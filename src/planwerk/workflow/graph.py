"""The composed workflow as a picture: nodes, groups and edges, for `planwerk graph`, the run view and prompts."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import FunctionType
from typing import Literal, cast

from planwerk.workflow.blueprint import Agent
from planwerk.workflow.composition import compose, start_classes
from planwerk.workflow.events import Event, StopEvent
from planwerk.workflow.locale_string import LocaleString
from planwerk.workflow.plan import ScopePlan


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
    drawing = _Drawing(carried=stops_named_by(blueprint))
    for start in start_classes(blueprint):
        begin = Node(f"start:{start.__name__}", start.__name__, start.label, "start")
        drawing.nodes[begin.id] = begin
        for plan in compose(blueprint, start).scopes:
            drawing.add_scope(plan, begin)
    return drawing.graph()


def stops_named_by(blueprint: type[Agent]) -> tuple[type[Event], ...]:
    """The stops that a blueprint's own code names: what a capability given a stop to end with can end with (C1.3)."""
    found: dict[type[Event], None] = {}
    for spec in blueprint.steps():
        function = cast("FunctionType", spec.function)
        for name in function.__code__.co_names:
            named: object = function.__globals__.get(name, spec.names_around.get(name))
            if isinstance(named, type) and issubclass(named, StopEvent):
                found[named] = None
    return tuple(found)


@dataclass(slots=True)
class _Drawing:
    """A graph while it is drawn; what is added twice is there once."""

    carried: tuple[type[Event], ...]
    nodes: dict[str, Node] = field(default_factory=dict[str, Node])
    groups: dict[str, Group] = field(default_factory=dict[str, Group])
    edges: dict[tuple[str, str, str], Edge] = field(default_factory=dict[tuple[str, str, str], Edge])
    stops: dict[str, Node] = field(default_factory=dict[str, Node])

    def graph(self) -> Graph:
        return Graph(
            (*self.nodes.values(), *self.stops.values()), tuple(self.groups.values()), tuple(self.edges.values())
        )

    def add_scope(self, plan: ScopePlan, begin: Node) -> None:
        group = plan.name or None
        if group is not None:
            self.groups[group] = Group(group, group)
        for step in plan.steps:
            self.nodes[step.name] = Node(step.name, step.spec.name, step.spec.label, "step", step.spec.icon, group)
        if plan.request is None:
            self._to_takers(begin.id, plan, plan.start)
        for step in plan.steps:
            for cls in step.returns.classes:
                self._add_output(step.name, plan, cls)

    def _add_output(self, source: str, plan: ScopePlan, cls: type[Event]) -> None:
        if issubclass(cls, StopEvent):
            in_call = plan.capability is not None  # there a bare stop is the one the caller gives, if it gives one
            ends: tuple[type[Event], ...] = self.carried if cls is StopEvent and in_call else (cls,)
            for end in ends:
                stop = Node(f"stop:{end.__name__}", end.__name__, end.label, "stop")
                self.stops[stop.id] = stop
                self._connect(source, stop.id, end)
            return
        self._to_takers(source, plan, cls)
        for answer in cls.answered_by:
            self._to_takers(source, plan, answer)
        kind = plan.by_class.get(cls)
        if kind is not None and kind.call is not None:
            self._to_takers(source, kind.call, cls)
            for inner in kind.call.steps:
                for outcome in kind.call.outcomes:
                    if outcome in inner.returns.classes:
                        self._to_takers(inner.name, plan, outcome)

    def _to_takers(self, source: str, plan: ScopePlan, cls: type[Event]) -> None:
        kind = plan.by_class.get(cls)
        for step, _ in kind.takers if kind is not None else ():
            self._connect(source, step.name, cls)

    def _connect(self, source: str, target: str, cls: type[Event]) -> None:
        self.edges.setdefault((source, target, cls.__name__), Edge(source, target, cls.__name__))
