"""The search over the abstract runs of one scope in one mode (E6.4).

Depth first, one action of a state at a time, with all its ways; a further action only when all it leads to lies on the
path that is being looked at, else a loop would put a branch off for ever. Where cycles of waits or pairs are reported
every action of a state is looked at, breadth first, so that what stands for many stays few. Shortest paths are found
afterwards, over what was explored.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from time import monotonic  # noqa: TID251 - a bound of the search in seconds (E6.4); what is found does not depend on it
from typing import Final

from planwerk.workflow.exploring.abstract_run import AbstractRun, Action, Setting
from planwerk.workflow.exploring.moves import Move

Node = int
BEGIN: Final[Node] = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """How far the search of a scope goes; what lies beyond is not proven.

    Args:
        states: At most, over all its modes.
        seconds: At most, by `clock`.
        clock: Seconds since any moment.
    """

    states: int = 20_000
    seconds: float = 5.0
    clock: Callable[[], float] = monotonic


@dataclass(slots=True)
class Budget:
    """What is left of the limits of one scope."""

    limits: Limits
    states: int = 0
    deadline: float = 0.0

    def __post_init__(self) -> None:
        self.deadline = self.limits.clock() + self.limits.seconds

    def allows_one_more(self) -> bool:
        """Count one more state, if it is within the limits."""
        if self.states >= self.limits.states or self.limits.clock() > self.deadline:
            return False
        self.states += 1
        return True


@dataclass(slots=True)
class Explored:
    """What a search has found: a graph of states, and what is wrong with some of them.

    Attributes:
        stalls: Quiet states that owe a stop or an outcome, and other faults, with the run that stands there.
        goals: States in which nothing is owed any more.
        unseen: States that were met but not looked at, because a limit was hit.
        left: Events that nobody will take, with the state and the move after which that was certain.
        stops: Classes of the stops reached.
        outcomes: Classes of the outcomes given.
    """

    edges: list[list[tuple[Move, Node]]] = field(default_factory=list[list[tuple[Move, Node]]])
    stalls: dict[Node, AbstractRun] = field(default_factory=dict[Node, AbstractRun])
    goals: set[Node] = field(default_factory=set[Node])
    unseen: set[Node] = field(default_factory=set[Node])
    left: dict[str, tuple[Node, Move, str]] = field(default_factory=dict[str, tuple[Node, Move, str]])
    stops: dict[type, None] = field(default_factory=dict[type, None])
    cycles: dict[str, None] = field(default_factory=dict[str, None])
    is_capped: bool = False

    def paths(self) -> dict[Node, list[Move]]:
        """The shortest way to each state."""
        found: dict[Node, list[Move]] = {BEGIN: []}
        frontier = deque([BEGIN])
        while frontier:
            node = frontier.popleft()
            for move, target in self.edges[node]:
                if target not in found:
                    found[target] = [*found[node], move]
                    frontier.append(target)
        return found

    def without_end(self) -> set[Node]:
        """States from which no end can be reached, and no stall that is reported anyway."""
        before: list[list[Node]] = [[] for _ in self.edges]
        for node, following in enumerate(self.edges):
            for _, target in following:
                before[target].append(node)
        ending = {*self.goals, *self.stalls, *self.unseen}
        frontier = list(ending)
        while frontier:
            for node in before[frontier.pop()]:
                if node not in ending:
                    ending.add(node)
                    frontier.append(node)
        return set(range(len(self.edges))) - ending


def search(setting: Setting, budget: Budget, *, all_orders: bool) -> Explored:
    """Explore the abstract runs of a scope."""
    return _Search(setting, budget, all_orders).run()


class _Search:
    def __init__(self, setting: Setting, budget: Budget, all_orders: bool) -> None:
        self._setting = setting
        self._budget = budget
        self._all_orders = all_orders
        self._found = Explored()
        self._nodes: dict[Hashable, Node] = {}
        self._on_path: set[Node] = set()
        self._entered: set[Node] = set()

    def run(self) -> Explored:
        begin = AbstractRun.begin(self._setting)
        todo: deque[tuple[Node, AbstractRun | None]] = deque([(self._node_of(begin), begin)])
        while todo:
            node, run = todo.popleft() if self._all_orders else todo.pop()
            if run is None:
                self._on_path.discard(node)
            elif node not in self._entered:
                self._entered.add(node)
                self._on_path.add(node)
                todo.append((node, None))
                if not run.has_stopped and run.fault is None:
                    todo += reversed(list(self._expand(node, run)))
        return self._found

    def _expand(self, node: Node, run: AbstractRun) -> Iterator[tuple[Node, AbstractRun]]:
        if not self._budget.allows_one_more():
            self._found.unseen.add(node)
            return
        for action in run.arrivals():
            yield from self._take(node, run, action)
        for action in run.actions(all_orders=self._all_orders):
            reached = list(self._take(node, run, action))
            yield from reached
            if not self._all_orders and not all(target in self._on_path for target, _ in reached):
                return

    def _take(self, node: Node, run: AbstractRun, action: Action) -> Iterator[tuple[Node, AbstractRun]]:
        for move in action:
            after = run.after(move)
            target = self._node_of(after)
            self._found.edges[node].append((move, target))
            self._look_for_left(node, move, after)
            yield target, after

    def _node_of(self, run: AbstractRun) -> Node:
        """The number of its state; a new one is judged."""
        found = self._found
        if run.schedule.stop is not None:
            found.stops[type(run.schedule.stop)] = None
        found.cycles.update(run.schedule.cycles)
        state, is_capped = run.state()
        key = (state, str(run.fault) if run.fault is not None else None)
        node = self._nodes.get(key)
        if node is None:
            found.is_capped |= is_capped
            node = self._nodes[key] = len(found.edges)
            found.edges.append([])
            if run.fault is not None:
                found.stalls[node] = run
            elif run.owes_nothing:
                found.goals.add(node)
        return node

    def _look_for_left(self, node: Node, move: Move, run: AbstractRun) -> None:
        for seen in run.left_behind():
            takers = " and ".join(step.spec.name for step, _ in seen.kind.takers)
            self._found.left.setdefault(type(seen.event).__name__, (node, move, takers))
