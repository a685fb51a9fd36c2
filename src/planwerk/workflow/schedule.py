"""The rules of a run: journal entries in, due executions out (E3 to E5). Pure: no clock, no I/O, no waiting.

`RunSchedule.apply` folds one entry; `decide` says what is due now and applies that too. The same two serve a live run,
a resumed one (fold the whole journal, then decide), the test runner, and validation.

Theory of operation. An event enters the scope its execution works in. For each parameter that names its class it lies
in a *cell* until a binding takes it. A step is *eligible* when every single required parameter has an event and a
starting one has a new one; it is *due* when its optional and list inputs are *settled*: nothing active in the scope
can still lead to them, by the masks of `plan.py`. A call is a scope of its own; for its caller it is one open thing
that can still bring the outcomes its active work leads to. Only when that set changes is the caller looked at again.

When a stop is published, nothing new becomes due. Two rules never fire at once: steps are looked at in order of
declaration, calls before their callers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Final, NamedTuple

from planwerk.workflow import entries as journal
from planwerk.workflow.binding import execution_of_one, lay_in, rebuild, take
from planwerk.workflow.errors import NotInFlight, PlanwerkError, ScheduleError
from planwerk.workflow.events import ControlEvent, Event, StopEvent
from planwerk.workflow.ids import ExecutionId
from planwerk.workflow.leaving import left_in
from planwerk.workflow.plan import ClassPlan, Composition, StepPlan, bits
from planwerk.workflow.scope import Scope
from planwerk.workflow.seen import Execution, Seen
from planwerk.workflow.stalling import SecondOutcome, TooManyExecutions, call_stalled, run_stalled
from planwerk.workflow.waiting import (
    eligible_round,
    is_eligible,
    latest_complete,
    must_settle_now,
    must_wait,
    ready_steps,
    rounds_waiting,
)

AskKey = tuple[str, int, tuple[tuple[int, ...], ...]]
BEING_ASKED: Final = -1
OVERTAKEN: Final = -2
"""`Execution.asked_after` while its precondition works; else what had happened when it said no, 0 to ask it again."""


class OpenRequest(NamedTuple):
    """A request to a person, an agent or a timer that is not answered yet."""

    scope: Scope
    asked: Seen
    entry: journal.EventPublished


class Decision:
    """What follows from the entries applied so far.

    Attributes:
        due: Executions to start, already applied; `entry_of` gives the entry of each.
        asks: Bindings whose precondition must be asked; answered by a `PreconditionAnswered` entry.
        fault: The run cannot go on: it must be ended with this error.
    """

    __slots__ = ("asks", "due", "fault")

    def __init__(self) -> None:
        self.due: list[Execution] = []
        self.asks: list[Execution] = []
        self.fault: PlanwerkError | None = None


def entry_of(execution: Execution, at: int = 0) -> journal.ExecutionDue:
    """The journal entry of a due execution."""
    return journal.ExecutionDue(execution.id, execution.step.name, execution.scope.position, execution.positions, at)


class RunSchedule:
    """The state of one run and the rules that move it.

    Args:
        is_limited: Whether `max_executions_per_run` ends the run; exploring does not model it (E6.4).
    """

    def __init__(self, composition: Composition, *, is_limited: bool = True) -> None:
        self.composition = composition
        self._is_limited = is_limited
        self.position = 0
        """Position of the last entry applied."""
        self.in_flight: dict[ExecutionId, Execution] = {}
        self.asked: dict[AskKey, Execution] = {}
        self.requests: dict[int, OpenRequest] = {}
        """Open requests to people, agents and timers, by position."""
        self.stop: Event | None = None
        self.ended = False
        self.untaken: dict[str, None] = {}
        """Classes of events that no step of their scope takes, and of those left in calls that are over."""
        self.cycles: dict[str, None] = {}
        """Steps that were started because others waited for them in a cycle (E3.4)."""
        self._root = Scope(composition.root, 0, None, None)
        self._scopes: dict[int, Scope] = {0: self._root}
        self._touched: set[Scope] = set()
        self._fault: PlanwerkError | None = None
        self._numbers = 0
        self._changes = 0
        """Counts what happened, to ask a held binding again only after a change."""

    def fork(self) -> RunSchedule:
        """An independent run that stands where this one stands, to look at what may come next (E6.4)."""
        twin = RunSchedule(self.composition, is_limited=self._is_limited)
        twin.position, twin.stop, twin.ended = self.position, self.stop, self.ended
        twin.untaken, twin.cycles = dict(self.untaken), dict(self.cycles)
        twin._fault, twin._numbers, twin._changes = self._fault, self._numbers, self._changes
        scopes: dict[Scope, Scope] = {}
        for position, scope in self._scopes.items():  # a caller stands before its calls
            scopes[scope] = twin._scopes[position] = scope.fork(scopes.get(scope.parent) if scope.parent else None)
            scopes[scope].held = [held.fork(scopes[scope]) for held in scope.held]
        twin._root = scopes[self._root]
        twin._touched = {scopes[scope] for scope in self._touched}
        twin.in_flight = {identity: made.fork(scopes[made.scope]) for identity, made in self.in_flight.items()}
        twin.asked = {key: asked.fork(scopes[asked.scope]) for key, asked in self.asked.items()}
        twin.requests = {
            position: opened._replace(scope=scopes[opened.scope]) for position, opened in self.requests.items()
        }
        return twin

    # Entries in ----------------------------------------------------------------------------------------------------

    def apply(self, entry: journal.Entry) -> None:
        """Apply one entry, the next of the journal; folding the whole journal rebuilds the run (E7.2).

        Raises:
            NotInFlight: An execution ended that is not in flight.
            ScheduleError: The entry names a step, scope or event that this workflow does not have (E7.6).
        """
        self.position += 1
        handler = self._APPLY.get(type(entry))
        if handler is not None:
            handler(self, entry)

    def _run_ended(self, entry: journal.RunEnded) -> None:
        self.ended = True

    def _published(self, entry: journal.EventPublished) -> None:
        event = entry.event
        if entry.shown or entry.discarded or not isinstance(event, ControlEvent):
            return
        if self.stop is not None:
            return
        if isinstance(event, StopEvent):
            self.stop = event
            return
        if entry.answers is not None:
            self._answered(entry.answers, event)
        elif entry.execution is None:
            if self._root.request is None:
                self._began(event)
            else:
                self._brought(event)
        else:
            execution = self.in_flight.get(entry.execution)
            if execution is None:
                raise NotInFlight(entry.execution)
            self._returned(execution, entry)

    def _began(self, event: Event) -> None:
        root = self._root
        kind = root.plan.by_class.get(type(event))
        if kind is None:
            raise ScheduleError(
                f"{type(event).__name__} does not start {self.composition.blueprint.__name__} (E1.3).",
                what_to_do=f"Start it with {self.composition.start.__name__}.",
            )
        start = Seen(self.position, event, kind, rounds=root.no_rounds())
        root.request = start
        self._deliver(root, start)

    def _brought(self, event: Event) -> None:
        """It was not waited for, so nothing is settled later for it; it is of no round, like what the start led to."""
        root = self._root
        kind = root.plan.by_class.get(type(event))
        if kind is None or kind not in root.plan.brought_in:
            raise ScheduleError(
                f"{type(event).__name__} was brought into a run of {self.composition.blueprint.__name__}, no step of "
                "which takes it (S2.3).",
                what_to_do="Run it with the code it was started with.",
            )
        self._deliver(root, Seen(self.position, event, kind, rounds=root.no_rounds()))

    def _answered(self, request: int, event: Event) -> None:
        opened = self.requests.pop(request, None)
        if opened is None:
            raise ScheduleError(f"no open request at position {request} (E8.1): it was answered or closed before.")
        scope, asked, _ = opened
        scope.expect(asked.kind.answers, asked.rounds, -1)
        kind = scope.plan.by_class[type(event)]
        self._deliver(scope, Seen(self.position, event, kind, source=asked, rounds=asked.rounds))

    def _returned(self, execution: Execution, entry: journal.EventPublished) -> None:
        """A control event that an execution returned: a stop, a request, an outcome, or an event of its scope."""
        scope, event = execution.scope, entry.event
        place = execution.published
        execution.published = place + 1
        kind = scope.plan.by_class.get(type(event))
        if kind is None:
            raise ScheduleError(
                f"step {execution.step.name} returned {type(event).__name__}, which it does not declare (E2.3).",
                what_to_do="Add the class to its return annotation.",
            )
        seen = Seen(self.position, event, kind, execution, execution.source, place, execution.rounds)
        if kind.call is not None:
            self._open_call(scope, seen)
        elif kind.answers:
            self.requests[self.position] = OpenRequest(scope, seen, entry)
            scope.expect(kind.answers, seen.rounds, 1)
            self._touched.add(scope)
        elif kind.is_outcome:
            self._outcome(scope, seen)
        else:
            self._deliver(scope, seen)

    def _open_call(self, caller: Scope, request: Seen) -> None:
        plan = request.kind.call
        assert plan is not None
        scope = Scope(plan, request.position, caller, request)
        self._scopes[request.position] = scope
        caller.open_calls += 1
        kind = plan.by_class[type(request.event)]
        scope.possible = kind.outcomes
        caller.expect(self._in_caller(scope, scope.possible), request.rounds, 1)
        self._deliver(scope, Seen(request.position, request.event, kind, source=request, rounds=scope.no_rounds()))

    def _outcome(self, scope: Scope, seen: Seen) -> None:
        """Delivered inside the call and, at the same time, in the caller's scope (E5.2)."""
        if scope.answered:
            self._fault = self._fault or SecondOutcome(seen, scope)
            return
        scope.answered = True
        self._deliver(scope, seen)
        caller, request = scope.parent, scope.request
        assert caller is not None
        assert request is not None
        kind = caller.plan.by_class.get(type(seen.event))
        if kind is not None:
            self._deliver(caller, Seen(seen.position, seen.event, kind, source=request, rounds=request.rounds))

    def _landed(self, entry: journal.ExecutionFinished | journal.ExecutionFailed) -> None:
        execution = self.in_flight.pop(entry.execution, None)
        if execution is None:
            raise NotInFlight(entry.execution)
        scope, step = execution.scope, execution.step
        scope.counts[step.index] -= 1
        if not scope.counts[step.index]:
            scope.working &= ~step.bit
        if scope.plan.tracked:
            scope.count_rounds(step, execution.rounds, _own_round(execution), -1)
        self._changes += 1
        self._touched.add(scope)
        if scope.plan.lone and not (isinstance(entry, journal.ExecutionFinished) and entry.outputs):
            self._offer_empty_start(scope, execution)

    def _offer_empty_start(self, scope: Scope, execution: Execution) -> None:
        """An execution that could have led to a lone list, and ended without an event, starts it (E3.1)."""
        for lone in scope.plan.lone:
            could_lead = any(
                parameter.is_list and parameter.same_steps & execution.step.bit for parameter in lone.parameters
            )
            within = lone.tracked >= 0 and execution.rounds[lone.tracked] > 0
            if could_lead and not within and not scope.started & lone.bit:
                scope.empty_starts |= lone.bit
                scope.candidates |= lone.bit

    def _due_recorded(self, entry: journal.ExecutionDue) -> None:
        """A due entry read back is applied as it stands (E3.8)."""
        if entry.execution in self.in_flight:
            return
        scope = self._scopes.get(entry.scope)
        step = scope.plan.step_named(entry.step) if scope is not None else None
        if scope is None or step is None:
            raise ScheduleError(
                f"the journal has {entry.step} due in scope {entry.scope}, which this workflow does not have (E7.6).",
                what_to_do="Run it with the code it was started with.",
            )
        asked: Execution | None = None
        if self.asked or scope.held:
            key = (entry.step, entry.scope, entry.binding)
            asked = self.asked.pop(key, None) or self._unhold(scope, key)
        if asked is not None:
            execution = asked
            if scope.counts[step.index] and execution.asked_after < 0:
                self._deactivate(execution)
        else:
            execution = rebuild(scope, step, entry.binding)
        execution.id = entry.execution
        self._record(execution)

    def _precondition_answered(self, entry: journal.PreconditionAnswered) -> None:
        scope = self._scopes.get(entry.scope)
        if scope is None:
            raise ScheduleError(f"a precondition of {entry.step} was answered in an unknown scope (E7.6).")
        key = (entry.step, entry.scope, entry.binding)
        execution = self.asked.pop(key, None)
        if execution is None:
            execution = self._unhold(scope, key)
        if execution is None:
            step = scope.plan.step_named(entry.step)
            if step is None:
                raise ScheduleError(f"{entry.step} is not a step of this workflow (E7.6).")
            execution = rebuild(scope, step, entry.binding)
        elif execution.asked_after < 0:
            self._deactivate(execution)
        if entry.verdict:
            self.asked[key] = execution
            execution.asked_after = 0
        else:
            execution.asked_after = self._changes
            scope.held.append(execution)
        self._touched.add(scope)

    def _unhold(self, scope: Scope, key: AskKey) -> Execution | None:
        for index, held in enumerate(scope.held):
            if (held.step.name, scope.position, held.positions) == key:
                return scope.held.pop(index)
        return None

    _APPLY: ClassVar[Mapping[type, Callable[..., None]]] = {
        journal.EventPublished: _published,
        journal.ExecutionFinished: _landed,
        journal.ExecutionDue: _due_recorded,
        journal.ExecutionFailed: _landed,
        journal.PreconditionAnswered: _precondition_answered,
        journal.RunEnded: _run_ended,
    }
    """What each kind of entry does; the rules do not read the others."""

    # Events into cells ---------------------------------------------------------------------------------------------

    def _deliver(self, scope: Scope, seen: Seen) -> None:
        kind = seen.kind
        self._changes += 1
        self._touched.add(scope)
        if not kind.takers and not kind.watchers:
            if not kind.is_outcome and not kind.cls.leaves_run:
                self.untaken[type(seen.event).__name__] = None
            return
        for step, place in kind.takers:
            if step.is_direct:
                scope.direct.append((step, seen))
            else:
                lay_in(scope, step, step.parameters[place], seen)
                if scope.held or self.asked:
                    self._ask_again(scope, step)
        for step in kind.watchers:
            for watched in step.watched:
                if watched.own is None and kind.cls in watched.classes:
                    scope.latest.setdefault((step.index, watched.name), []).append(seen)
            self._ask_again(scope, step)

    def _ask_again(self, scope: Scope, step: StepPlan) -> None:
        for held in scope.held:
            if held.step is step:
                held.asked_after = 0
                scope.candidates |= step.bit
        for asked in self.asked.values():
            if asked.step is step and asked.scope is scope and asked.asked_after == BEING_ASKED:
                asked.asked_after = OVERTAKEN

    def begin_asking(self, execution: Execution) -> None:
        """The precondition of this binding reads what there is now."""
        execution.asked_after = BEING_ASKED

    def was_overtaken(self, execution: Execution) -> bool:
        """Whether an event came, since the asking began, after which a "no" would have to be asked again (E3.6)."""
        return execution.asked_after == OVERTAKEN

    def open_from_outside(self, request: Event) -> Scope:
        """Open a call as if the blueprint's own scope had returned its request; for exploring one scope alone."""
        self.position += 1
        root = self._root
        kind = root.plan.by_class[type(request)]
        self._open_call(root, Seen(self.position, request, kind, rounds=root.no_rounds()))
        return self._scopes[self.position]

    def left_over(self) -> tuple[str, ...]:
        """Classes of the events that no step has taken, sorted (E4.5)."""
        asked = list(self.asked.values())
        lying = (
            type(seen.event).__name__
            for scope in self._scopes.values()
            for seen in left_in(scope, asked)
            if not seen.kind.cls.from_outside  # nobody had to bring it, so nobody had to take it (E6.4)
        )
        return tuple(sorted({*self.untaken, *lying}))

    def open_scopes(self) -> list[Scope]:
        """The scopes that are open, the blueprint's own first."""
        return list(self._scopes.values())

    # Decisions out -------------------------------------------------------------------------------------------------

    @property
    def is_settled(self) -> bool:
        """Seen at a glance: to decide now would say nothing, as all that could follow waits for what still works.

        That is so after each of the thousands that a join waits for; False says nothing, `decide` looks closer.
        """
        if len(self._touched) != 1 or self.asked or not self.in_flight or self._fault is not None:
            return False
        (scope,) = self._touched
        if scope.direct or scope.candidates or scope.held or scope.parent is not None:
            return False
        return all(scope.plan.steps[index].awaited_steps & scope.working for index in scope.waiting)

    def decide(self) -> Decision:
        """Say what is due by the entries applied so far, and apply it."""
        decision = Decision()
        if self.stop is not None or self.ended:
            self._touched.clear()
            return decision
        while self._touched and self._fault is None:
            if len(self._touched) == 1:
                self._decide_scope(self._touched.pop(), decision)
            else:
                touched, self._touched = self._touched, set()
                for scope in sorted(touched, key=_deepest_first):
                    self._decide_scope(scope, decision)
            if not self._touched and not self.in_flight and not decision.asks and self._fault is None:
                self._look_for_stalls(decision)
        decision.fault = self._fault
        return decision

    def decide_all(self) -> Decision:
        """Decide after a fold: every scope is looked at anew."""
        for scope in self._scopes.values():
            for key, cell in scope.cells.items():
                if cell.new:
                    scope.candidates |= 1 << key[0]
            self._touched.add(scope)
        return self.decide()

    def _decide_scope(self, scope: Scope, decision: Decision) -> None:
        if scope.direct:
            direct, scope.direct = scope.direct, []
            for step, seen in direct:
                self._make_due(execution_of_one(scope, step, seen), decision)
        if self.asked:
            self._release_approved(scope, decision)
        if scope.candidates:
            if scope.held:
                self._ask_held(scope, decision)
            self._consider_candidates(scope, decision)
        while scope.waiting:
            ready, forced = ready_steps(scope)
            if not ready:
                break
            if forced:
                self.cycles.update({scope.plan.steps[index].name: None for index in ready})
            for index in ready:
                if index in scope.waiting:
                    step = scope.plan.steps[index]
                    self._start(scope, step, scope.end_waiting(step), decision, forced=forced)
            self._consider_candidates(scope, decision)
        if scope.held and scope.is_quiet:
            self._ask_held(scope, decision, changed_only=True)
        if scope.parent is not None:
            self._tell_caller(scope)

    def _release_approved(self, scope: Scope, decision: Decision) -> None:
        approved = [
            key for key, execution in self.asked.items() if execution.scope is scope and execution.asked_after >= 0
        ]
        for key in approved:
            self._make_due(self.asked.pop(key), decision)

    def _ask_held(self, scope: Scope, decision: Decision, *, changed_only: bool = False) -> None:
        for held in list(scope.held):
            if (held.asked_after < self._changes) if changed_only else (held.asked_after == 0):
                scope.held.remove(held)
                self._ask(held, decision)

    def _consider_candidates(self, scope: Scope, decision: Decision) -> None:
        while scope.candidates:
            candidates, scope.candidates = scope.candidates, 0
            for index in bits(candidates):
                self._consider(scope, scope.plan.steps[index], decision)

    def _consider(self, scope: Scope, step: StepPlan, decision: Decision) -> None:
        if step.tracked < 0 and step.index in scope.waiting and not step.may_repeat:
            return
        round_number = eligible_round(scope, step)
        if round_number is None:
            return
        if must_wait(scope, step, round_number):
            self._wait(scope, step, round_number)
        else:
            if scope.waiting.get(step.index) == round_number:
                scope.end_waiting(step)
            self._start(scope, step, round_number, decision)

    def _wait(self, scope: Scope, step: StepPlan, round_number: int) -> None:
        known = scope.waiting.get(step.index)
        rounds = rounds_waiting(scope, step, round_number)
        if known == round_number and scope.waiting_rounds[step.index] == rounds:
            return
        if known is not None:
            scope.end_waiting(step)
        scope.begin_waiting(step, round_number, rounds)

    # Bindings ------------------------------------------------------------------------------------------------------

    def _start(
        self,
        scope: Scope,
        step: StepPlan,
        round_number: int,
        decision: Decision,
        *,
        forced: bool = False,
    ) -> None:
        """Bind each new event at once (E3.5); what must settle first goes back to waiting."""
        first = True
        while True:
            latest = step.tracked < 0 or round_number == latest_complete(scope, step)
            if not is_eligible(scope, step, round_number, latest=latest):
                break
            if not forced and not first and must_settle_now(scope, step, round_number):
                self._wait(scope, step, round_number)
                return
            first = False
            execution = take(scope, step, round_number)
            if step.has_precondition:
                self._ask(execution, decision)
            else:
                self._make_due(execution, decision)
        if step.tracked >= 0 or scope.fresh.get(step.index):
            scope.candidates |= step.bit if eligible_round(scope, step) is not None else 0

    def _ask(self, execution: Execution, decision: Decision) -> None:
        execution.asked_after = BEING_ASKED
        self._activate(execution)
        self.asked[(execution.step.name, execution.scope.position, execution.positions)] = execution
        decision.asks.append(execution)

    def _make_due(self, execution: Execution, decision: Decision) -> None:
        self.position += 1
        execution.id = ExecutionId(str(self.position))
        self._record(execution)
        decision.due.append(execution)

    def _record(self, execution: Execution) -> None:
        scope, step = execution.scope, execution.step
        self._numbers += 1
        execution.number = self._numbers
        self.in_flight[execution.id] = execution
        scope.started |= step.bit
        if scope.empty_starts:
            scope.empty_starts &= ~step.bit
        scope.counts[step.index] += 1
        scope.working |= step.bit
        if scope.plan.tracked:
            scope.count_rounds(step, execution.rounds, _own_round(execution), 1)
        limit = step.spec.max_executions_per_run
        if limit is not None and self._is_limited:
            made = scope.made_due.get(step.index, 0) + 1
            scope.made_due[step.index] = made
            if made > limit:
                self._fault = self._fault or TooManyExecutions(execution, limit)

    def _activate(self, execution: Execution) -> None:
        execution.scope.activate(execution.step, execution.rounds, own_round=_own_round(execution))

    def _deactivate(self, execution: Execution) -> None:
        execution.scope.deactivate(execution.step, execution.rounds, own_round=_own_round(execution))

    def rename(self, execution: Execution, name: ExecutionId) -> None:
        """Call a due execution as a journal does that was recorded when executions had ids of their own."""
        del self.in_flight[execution.id]
        execution.id = name
        self.in_flight[name] = execution

    # Calls and stalls ----------------------------------------------------------------------------------------------

    def _in_caller(self, scope: Scope, outcomes: int) -> int:
        """Outcomes of a call as a mask of its caller's classes."""
        caller = scope.parent
        assert caller is not None
        found = 0
        for number in bits(outcomes):
            kind: ClassPlan | None = caller.plan.by_class.get(scope.plan.classes[number].cls)
            found |= kind.bit if kind is not None else 0
        return found

    def _tell_caller(self, scope: Scope) -> None:
        """The caller counts an open call by the outcomes its active work can still lead to (E5.2)."""
        caller, request = scope.parent, scope.request
        if caller is None or request is None:
            return
        possible = 0 if scope.answered else scope.plan.possible(scope.active, scope.arriving)
        if possible != scope.possible:
            gone, come = scope.possible & ~possible, possible & ~scope.possible
            scope.possible = possible
            if gone:
                caller.expect(self._in_caller(scope, gone), request.rounds, -1)
            if come:
                caller.expect(self._in_caller(scope, come), request.rounds, 1)
            self._touched.add(caller)
        if scope.is_quiet and not scope.open_calls:
            if not scope.answered and scope.plan.owes_outcome:
                self._fault = self._fault or call_stalled(scope)
            elif self._scopes.pop(scope.position, None) is not None:
                self.untaken.update(dict.fromkeys(type(seen.event).__name__ for seen in left_in(scope)))
                caller.open_calls -= 1
                self._touched.add(caller)

    def _look_for_stalls(self, decision: Decision) -> None:
        """Nothing is active, no step is due and no stop was reached: the run cannot go on (E4.5)."""
        if self.asked or self.requests or any(not scope.is_quiet for scope in self._scopes.values()):
            return
        for scope in self._scopes.values():
            self._ask_held(scope, decision, changed_only=True)
        if not decision.asks:
            self._fault = run_stalled(self._root, tuple(self._scopes.values()))


def _deepest_first(scope: Scope) -> tuple[int, int]:
    return -scope.depth, scope.position


def _own_round(execution: Execution) -> int:
    """The round of its own loop whose events it took: one less than the round of what it returns."""
    tracked = execution.step.tracked
    return execution.rounds[tracked] - 1 if tracked >= 0 else 0
