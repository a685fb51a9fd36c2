"""One abstract run of one scope: the very schedule that runs it, driven by moves instead of code (E6.4)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from planwerk.workflow import entries as journal
from planwerk.workflow.errors import PlanwerkError
from planwerk.workflow.events import StopEvent
from planwerk.workflow.exploring.boxes import Reach, around, endings
from planwerk.workflow.exploring.moves import Move, answers, arrivals, ends, verdicts
from planwerk.workflow.exploring.state import active_leads, state_of
from planwerk.workflow.ids import EventId
from planwerk.workflow.leaving import left_in
from planwerk.workflow.plan import Composition, ScopePlan, bits
from planwerk.workflow.schedule import BEING_ASKED, OVERTAKEN, RunSchedule
from planwerk.workflow.scope import Scope
from planwerk.workflow.seen import Execution, Seen

Action = list[Move]
"""One thing that happens next, in all the ways it may happen."""


@dataclass(frozen=True, slots=True)
class Mode:
    """Errors are found with full lists and preconditions saying yes; warnings with everything else."""

    severity: str
    partial_lists: bool
    refusing_preconditions: bool


ERRORS: Final = Mode("error", partial_lists=False, refusing_preconditions=False)
WARNINGS: Final = Mode("warning", partial_lists=True, refusing_preconditions=True)


class Setting:
    """What all abstract runs of one scope in one mode share."""

    def __init__(self, composition: Composition, plan: ScopePlan, box: ScopePlan, mode: Mode) -> None:
        self.plan = plan
        self.box = box
        self.mode = mode
        self.reach = Reach(box)
        self.composition = replace(composition, root=box if plan.request is None else around(plan, box))
        self.endings = [endings(step, partial_lists=mode.partial_lists) for step in box.steps]
        self.may_stop = [any(ending.is_stop for ending in found) for found in self.endings]


class AbstractRun:
    """Where an abstract run stands, and what can happen next."""

    def __init__(self, setting: Setting, schedule: RunSchedule) -> None:
        self.setting = setting
        self.schedule = schedule
        self.fault: PlanwerkError | None = None
        self._last_scope: Scope | None = None
        """The scope before anything was decided: a call that is over is gone afterwards."""

    @classmethod
    def begin(cls, setting: Setting) -> AbstractRun:
        """The scope with what starts it."""
        run = cls(setting, RunSchedule(setting.composition, is_limited=False))
        plan = setting.plan
        run.schedule.apply(journal.EventPublished(plan.start.model_construct(), EventId(""), 0))
        if plan.request is not None:
            run.schedule.open_from_outside(plan.request.model_construct())
        run._decide()
        return run

    def after(self, move: Move) -> AbstractRun:
        """The run in which this happened next; this one stays as it is."""
        twin = AbstractRun(self.setting, self.schedule.fork())
        move.act.apply_to(twin.schedule, self.setting.reach.tokens)
        twin._decide()
        return twin

    @property
    def scope(self) -> Scope | None:
        """The scope that is explored; None for a call that is over."""
        scopes = self.schedule.open_scopes()
        return scopes[0] if self.setting.plan.request is None else scopes[1] if len(scopes) > 1 else None

    @property
    def has_stopped(self) -> bool:
        return self.schedule.stop is not None

    @property
    def owes_nothing(self) -> bool:
        """A stop is reached, or a call has answered or need not."""
        scope = self.scope
        return self.has_stopped or scope is None or scope.answered

    def state(self) -> tuple[Hashable, bool]:
        """What distinguishes it from others, and whether rounds were capped for that."""
        scope = self.scope
        if scope is None or self.has_stopped:
            return ("over", self.has_stopped), False
        return state_of(self.schedule, scope, self.setting.reach)

    def left_behind(self) -> list[Seen]:
        """Events nobody has taken, of steps that nothing can start any more; a stop cuts off whatever it will."""
        scope = self._last_scope
        if scope is None or self.has_stopped or self.fault is not None:
            return []
        reach, leads = self.setting.reach, active_leads(self.schedule, scope, self.setting.reach)
        can_start = {index for index, classes in enumerate(reach.starting) if classes & leads} | scope.waiting.keys()
        return [
            seen
            for seen in left_in(scope)
            if not _was_brought(seen) and not any(step.index in can_start for step, _ in seen.kind.takers)
        ]

    # Moves ---------------------------------------------------------------------------------------------------------

    def arrivals(self) -> list[Action]:
        """What may be brought in from outside now, or not: what else can happen is looked at all the same."""
        return [arrivals(kind.cls) for kind in self.setting.box.brought_in]

    def actions(self, *, all_orders: bool) -> list[Action]:
        """What can happen next, what is to be looked at first in front.

        Executions commute but for stops, which cut off all else: what may stop the run comes last. Of the rest the
        deepest comes first, so that little is in flight at once.
        """
        found = [verdicts(group, may_refuse=self.setting.mode.refusing_preconditions) for group in self._asked()]
        if found and not all_orders:
            return found[:1]
        ranked: list[tuple[bool, int, Action]] = []
        for group in self._in_flight():
            first = group[0]
            ways = ends(group, self.setting.endings[first.step.index], also_one=all_orders)
            depth = first.source.depth if first.source is not None else 0
            ranked.append((self.setting.may_stop[first.step.index], -depth, ways))
        for group in self._requests():
            request = group[0][1]
            classes = [self.setting.box.classes[number].cls for number in bits(request.kind.answers)]
            ways = answers(group, classes, also_one=all_orders)
            ranked.append((any(issubclass(cls, StopEvent) for cls in classes), -request.depth, ways))
        return found + [ways for _, _, ways in sorted(ranked, key=lambda one: one[:2])]

    def _in_flight(self) -> Iterable[list[Execution]]:
        groups: dict[Hashable, list[Execution]] = {}
        for made in reversed(self.schedule.in_flight.values()):
            groups.setdefault((made.step.index, made.rounds), []).append(made)
        return groups.values()

    def _asked(self) -> Iterable[list[Execution]]:
        groups: dict[Hashable, list[Execution]] = {}
        for asked in self.schedule.asked.values():
            if asked.asked_after in {BEING_ASKED, OVERTAKEN}:
                groups.setdefault((asked.step.index, asked.rounds), []).append(asked)
        return groups.values()

    def _requests(self) -> Iterable[list[tuple[int, Seen]]]:
        groups: dict[Hashable, list[tuple[int, Seen]]] = {}
        for position, (_, seen, _) in self.schedule.requests.items():
            groups.setdefault((seen.kind.index, seen.rounds), []).append((position, seen))
        return groups.values()

    def _decide(self) -> None:
        self._last_scope = self.scope
        fault = self.schedule.decide().fault
        if fault is not None and not (fault.code == "run_stalled" and self._may_be_quiet()):
            self.fault = fault

    def _may_be_quiet(self) -> bool:
        """A call that owes nothing more leaves its caller quiet, which here takes no outcome."""
        if self.setting.plan.request is None:
            return False
        scope = self.scope
        return scope is None or scope.answered


def _was_brought(seen: Seen) -> bool:
    """It came from outside, or of a step that took what did: nobody had to bring it, so it may be left (E6.4)."""
    here: Seen | None = seen
    while here is not None:
        if here.kind.cls.from_outside or (here.execution is not None and _takes_brought(here.execution)):
            return True
        here = here.source
    return False


def _takes_brought(execution: Execution) -> bool:
    for bound in execution.binding:
        taken = bound if isinstance(bound, list) else [bound]
        if any(one is not None and one.kind.cls.from_outside for one in taken):
            return True
    return False
