"""Whether a workflow can stall: its abstract runs, explored with the very schedule that runs them (E6.4).

Events have no content here: of a class there are none, one or many. Each scope is explored on its own, callees first;
a call is a box that answers with any of the outcomes and stops found for it. An execution returns any of its declared
alternatives, a step that may fail also nothing; every execution ends and every request is answered. Values, contexts
and `max_executions_per_run` are not modelled.

What it claims: where nothing is reported, no run stalls whose code returns what it declares, whatever finishes first.
A path that is reported may be one that values prevent; then a type should say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from planwerk.workflow.errors import Problem
from planwerk.workflow.events import Event
from planwerk.workflow.exploring.abstract_run import ERRORS, WARNINGS, AbstractRun, Mode, Setting
from planwerk.workflow.exploring.boxes import ScopeKey, boxed, key_of
from planwerk.workflow.exploring.moves import Move
from planwerk.workflow.exploring.search import Budget, Explored, Limits, Node, search
from planwerk.workflow.exploring.state import MAX_ROUNDS
from planwerk.workflow.looping import loop_warnings
from planwerk.workflow.pairing import pair_warnings
from planwerk.workflow.plan import Composition, ScopePlan
from planwerk.workflow.stalling import who_waits

SHOWN_MOVES: Final = 12
"""Of a longer path the middle is left out."""

Found = dict[ScopeKey, tuple[type[Event], ...]]


@dataclass(frozen=True, slots=True)
class ExploredScope:
    """How far one scope was explored, over both modes."""

    name: str
    states: int
    transitions: int
    is_proven: bool


@dataclass(slots=True)
class Exploration:
    """What exploring a composed workflow has found."""

    problems: list[Problem] = field(default_factory=list[Problem])
    scopes: list[ExploredScope] = field(default_factory=list[ExploredScope])

    @property
    def states(self) -> int:
        return sum(scope.states for scope in self.scopes)


def explore(composition: Composition, limits: Limits | None = None) -> Exploration:
    """The stalls, unreachable ends and double answers of every scope of a composed workflow, and what may go wrong."""
    exploration = Exploration()
    answers: dict[str, Found] = {ERRORS.severity: {}, WARNINGS.severity: {}}
    by_scope: dict[ScopeKey, list[Problem]] = {}
    for plan in _callees_first(composition):
        explorer = _ScopeExplorer(composition, plan, Budget(limits or Limits()), answers)
        by_scope[key_of(plan)] = list(explorer.problems())
        exploration.scopes.append(explorer.report())
    for plan in composition.scopes:
        exploration.problems += by_scope.get(key_of(plan), [])
    return exploration


def _callees_first(composition: Composition) -> Iterator[ScopePlan]:
    """Each scope after those it calls; a capability that calls itself stands for what it declares."""
    begun: set[ScopeKey] = set()

    def of(plan: ScopePlan) -> Iterator[ScopePlan]:
        if key_of(plan) not in begun:
            begun.add(key_of(plan))
            for kind in plan.classes:
                if kind.call is not None:
                    yield from of(kind.call)
            yield plan

    return of(composition.root)


class _ScopeExplorer:
    """Explores one scope in both modes, and says what was found."""

    def __init__(self, composition: Composition, plan: ScopePlan, budget: Budget, answers: dict[str, Found]) -> None:
        self._composition = composition
        self._plan = plan
        self._budget = budget
        self._answers = answers
        self._owner = plan.name or composition.blueprint.__name__
        self._transitions = 0
        self._unseen = 0
        self._is_capped = False

    def report(self) -> ExploredScope:
        is_proven = not self._unseen and not self._is_capped
        return ExploredScope(self._owner, self._budget.states, self._transitions, is_proven)

    def problems(self) -> Iterator[Problem]:
        """All that was found, errors first."""
        pairs = list(pair_warnings(self._plan, self._owner))
        told: set[str] = set()
        cycles: dict[str, None] = {}
        for mode in (ERRORS, WARNINGS):
            found = self._explored(mode, all_orders=bool(pairs or cycles))
            cycles.update(found.cycles)
            for what, problem in self._described(found, mode):
                if what not in told:
                    told.add(what)
                    yield problem
        yield from self._cycle_warnings(cycles)
        yield from pairs
        yield from loop_warnings(self._plan, self._owner)
        yield from self._not_proven()

    def _explored(self, mode: Mode, *, all_orders: bool) -> Explored:
        box = boxed(self._plan, self._answers[mode.severity])
        setting = Setting(self._composition, self._plan, box, mode)
        found = search(setting, self._budget, all_orders=all_orders)
        if found.cycles and not all_orders:
            found = search(setting, self._budget, all_orders=True)
        self._transitions += sum(map(len, found.edges))
        self._unseen += len(found.unseen)
        self._is_capped |= found.is_capped
        if self._plan.request is not None and not found.unseen:
            self._answers[mode.severity][key_of(self._plan)] = self._outcomes(found)
        return found

    def _outcomes(self, found: Explored) -> tuple[type[Event], ...]:
        returned = {cls for following in found.edges for move, _ in following for cls in move.returned}
        outcomes = [cls for cls in self._plan.outcomes if cls in returned]
        return (*outcomes, *(cls for cls in self._plan.stops if cls in found.stops))

    # What is said --------------------------------------------------------------------------------------------------

    def _described(self, found: Explored, mode: Mode) -> Iterator[tuple[str, Problem]]:
        """Each thing once, by its shortest path, with what tells it from others."""
        paths = found.paths()
        stalls = sorted((node for node in found.stalls if node in paths), key=lambda node: len(paths[node]))
        for node in stalls:
            what, remedy = self._stall(found.stalls[node], paths[node])
            yield what, self._problem(mode, paths[node], what, remedy)
        endless = found.without_end() if self._must_end else set[Node]()
        if endless:
            node = min(endless, key=lambda node: len(paths[node]))
            end = "stop" if self._plan.request is None else "outcome"
            what = f"from there no {end} can be reached"
            yield what, self._problem(mode, paths[node], what, f"Let a step of each loop return a {end} in the end.")
        if mode is ERRORS:  # what lies because a list was empty is nothing to mend
            for name, (node, move, takers) in found.left.items():
                what = f"{name} can be left behind: {takers} can no longer take it"
                remedy = "Let the event come before the step begins, or let a step take it alone."
                yield what, self._problem(WARNINGS, [*paths[node], move], what, remedy)

    @property
    def _must_end(self) -> bool:
        return self._plan.request is None or self._plan.owes_outcome

    def _stall(self, run: AbstractRun, path: list[Move]) -> tuple[str, str]:
        fault, scope = run.fault, run.scope
        assert fault is not None
        if fault.code != "run_stalled" or scope is None:
            return fault.message.rstrip("."), fault.what_to_do
        says: list[str] = []
        untaken = [cls.__name__ for move in path for cls in move.returned if self._is_untaken(cls)]
        if untaken:
            says.append(f"no step takes {', '.join(dict.fromkeys(untaken))}")
        says += [f"{line}, for ever" for line in who_waits(scope)]
        if self._plan.request is not None:
            owed = " or ".join(cls.__name__ for cls in (*self._plan.outcomes, *self._plan.stops))
            says.append(f"the call ends without {owed} (E5.2: a call owes an outcome)")
        if not says:
            says.append("no step waits for anything, and none has returned a stop")
        return "; ".join(says), fault.what_to_do or "Let each path end in a stop."

    def _is_untaken(self, cls: type[Event]) -> bool:
        kind = self._plan.by_class.get(cls)
        return kind is not None and not (kind.takers or kind.call or kind.answers or kind.is_outcome)

    def _problem(self, mode: Mode, path: list[Move], what: str, remedy: str) -> Problem:
        because = "; ".join(dict.fromkeys(move.because for move in path if move.because))
        when = f" (when {because})" if because else ""
        return Problem(self._owner, "E6.4", f"{self._told(path)}: {what}{when}.", remedy, severity=mode.severity)

    def _told(self, path: list[Move]) -> str:
        """The path as people read it: `begin → Query; guard → Short`."""
        words = [move.text for move in path]
        if len(words) > SHOWN_MOVES:
            words = [*words[:3], "…", *words[3 - SHOWN_MOVES :]]
        return "; ".join(words) or (self._plan.request or self._plan.start).__name__

    def _cycle_warnings(self, cycles: dict[str, None]) -> Iterator[Problem]:
        for name in cycles:
            yield Problem(
                f"{self._owner}.{name.rpartition('.')[2]}",
                "E3.4",
                "steps wait for each other's optional events in a cycle, and this one is started first.",
                "Make one of the inputs required, or take it out.",
                severity="warning",
            )

    def _not_proven(self) -> Iterator[Problem]:
        how_far: list[str] = []
        if self._unseen:
            states = self._budget.states
            how_far.append(f"a limit was hit after {states} states, {self._unseen} more were met and not looked at")
        if self._is_capped:
            how_far.append(f"rounds of its loops are told apart only up to {MAX_ROUNDS} ahead of the slowest")
        if how_far:
            yield Problem(
                self._owner,
                "E6.4",
                f"freedom from stalls is not proven: {'; '.join(how_far)}.",
                "Nothing is refused for it; tests have to show the rest.",
                severity="note",
            )
