"""Drives one run: starts due executions as asyncio tasks, journals what they return, and does as the schedule says.

The schedule decides, the journal is written before anything depends on it, and only then are new executions started.
The task of an execution that ends writes for all: while its append is under way, others add to the next one, so
concurrent executions share appends. A run of one chain has one task at a time and one append per step.

Owning a run means holding its fence. An append refused by a newer fence drops the run here; its new owner goes on from
the journal.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol, cast

from planwerk.runtime.agent_requests import AgentRequests
from planwerk.runtime.appending import Appends
from planwerk.runtime.attempts import MAX_CRASHES, Attempt, attempts_of, wait_seconds
from planwerk.runtime.calling import StepTimedOut, call_step, checked
from planwerk.runtime.closing import (
    DeadlineExceeded,
    PoisonStep,
    RunEndStatus,
    cancel_all,
    cancelled,
    closing_entries,
    error_info,
    exception_event,
    find_unwritable,
    outcome_of,
    stopped_by,
)
from planwerk.runtime.due_requests import DueRequests
from planwerk.runtime.errors import RunLost
from planwerk.runtime.execution import ExecutionContext
from planwerk.runtime.log_context import STEP
from planwerk.runtime.ports import Journal
from planwerk.runtime.program import Program, ReadyStep, ask
from planwerk.runtime.tally import Tally
from planwerk.workflow import entries as journal
from planwerk.workflow.blueprint import AgentConfig
from planwerk.workflow.errors import PlanwerkError, ScheduleError, WorkflowError
from planwerk.workflow.events import ControlEvent, DisplayEvent, Event, StepWarningEvent, StopEvent
from planwerk.workflow.fitting import changed_fingerprint, refuse_misfit
from planwerk.workflow.ids import EventId, ExecutionId, RunId, id_in_run, new_id
from planwerk.workflow.requests import OutsideRequest
from planwerk.workflow.schedule import Decision, RunSchedule, entry_of
from planwerk.workflow.seen import Execution

log = logging.getLogger(__name__)

GRACE_SECONDS: Final = 5.0
"""How long steps that only display may go on after a stop (E4.2)."""
DEADLINE_SECONDS: Final = 3600.0
"""Activity a run may take in all (E4.6)."""


Due = tuple[list[tuple[Execution, int]], list[Execution]]
"""Executions to start with their attempts, and preconditions to ask."""


class Ephemeral(Protocol):
    """Takes display events that are never journaled."""

    def __call__(self, driver: RunDriver, event: DisplayEvent) -> None: ...


class RunDriver:
    """One run, owned here.

    Args:
        program: The workflow, bound to its config class and providers.
        store: The journal.
        config: The profile's settings, given to steps.
        fence: Token of the lease; 0 where nobody else can own the run.
        make_context: Makes what providers see, for each execution.
        show_ephemeral: Where display events go that are live frames only.
        clock: Microseconds since the epoch.
    """

    def __init__(
        self,
        program: Program,
        store: Journal,
        *,
        config: AgentConfig,
        fence: int = 0,
        make_context: Callable[[RunDriver, Execution, int], ExecutionContext],
        show_ephemeral: Ephemeral | None = None,
        clock: Callable[[], int],
        make_id: Callable[[], str] = new_id,
        deadline_seconds: float = DEADLINE_SECONDS,
        grace_seconds: float = GRACE_SECONDS,
        worker: str = "",
    ) -> None:
        self.program = program
        self.config = config
        self.schedule = RunSchedule(program.composition)
        self.opened: journal.RunOpened | None = None
        self.start: Event | None = None
        self.tally = Tally()
        self._store = store
        self._fence = fence
        self._worker = worker
        self._make_context = make_context
        self._show_ephemeral = show_ephemeral
        self._clock = clock
        self._make_id = make_id
        self._grace_seconds = grace_seconds
        self._appends = Appends[Due](store, fence)
        self._pending = self._appends.pending
        self._starting: list[tuple[Execution, int]] = []
        self._asking: list[Execution] = []
        self._responses = 0
        self._brought: set[EventId] = set()
        """What was brought in from outside, by id."""
        self._tasks: dict[ExecutionId, asyncio.Task[None]] = {}
        self._ask_tasks: set[asyncio.Task[None]] = set()
        self._failures: dict[ExecutionId, int] = {}
        """Failed attempts of executions that will be tried again."""
        self._closing = False
        """Nothing more is started."""
        self._stopped = False
        """The stop is recorded."""
        self._releasing = False
        self._let_go = False
        """The run is no longer ours: nothing more is written."""
        self._status: RunEndStatus = "completed"
        self._error: journal.ErrorInfo | None = None
        self._end_task: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[journal.RunEnded] = self._loop.create_future()
        self._deadline_seconds = deadline_seconds
        self._deadline: asyncio.TimerHandle | None = None
        self.is_waiting = False
        """Nothing works, and requests to people or timers are open (E1.8)."""
        self.when_waiting: Callable[[RunDriver], None] | None = None
        """Told when the run begins to wait."""
        self.fetch_answers: Callable[[RunDriver], Awaitable[None]] | None = None
        """Asked before a request times out: an answer that was accepted before counts, wherever it is on its way."""
        self._due_requests = DueRequests(self.schedule, clock)
        self.agents = AgentRequests(self.schedule)
        self.carry_agents: Callable[[RunDriver], None] | None = None
        """Told when runs that were asked for are to be opened or stopped."""
        self._context = contextvars.copy_context()
        """What each step's task begins with, so that no step sees context variables of another."""

    # Beginning --------------------------------------------------------------------------------------------------------

    async def open(self, opened: journal.RunOpened, start: Event) -> None:
        """Write the run's first entries and begin; returns when they are durable."""
        self.opened, self.start = opened, start
        self._appends.run = opened.run
        self.tally.count(opened)
        now = self._clock()
        self._record(opened)
        self._record(journal.EventPublished(start, journal.BY_POSITION, now))
        self._arm_deadline()
        self._decide(now)
        await self._appends.flush(self)

    async def resume(self, found: list[journal.Entry]) -> None:
        """Take the run over: fold its journal and go on (E7.2, E7.5).

        Args:
            found: The whole journal, as read under this driver's lease.

        Raises:
            RunLost: The driver was released before.
            CodeChanged: The code has changed, and the journal does not fit it any more (E7.6).
        """
        if self._let_go:
            raise RunLost("", "it was handed over before it was resumed")
        opened, first = found[0], found[1]
        assert isinstance(opened, journal.RunOpened)
        assert isinstance(first, journal.EventPublished)
        self.opened, self.start = opened, first.event
        self._appends.run = opened.run
        changed = changed_fingerprint(found, self.program.composition)
        if changed is not None:
            refuse_misfit(found, self.program.composition)
        attempts = self._fold(found)
        if self.schedule.ended:
            last = found[-1]
            assert isinstance(last, journal.RunEnded)
            self._closing = True
            self._ended.set_result(last)
            return
        now = self._clock()
        taken = journal.OwnershipTaken(self._fence, now, self._worker, changed)
        self.tally.count(taken)
        self._record(taken)
        if self.schedule.stop is not None:
            self._stopped = True
            self._status, self._error = outcome_of(self.schedule.stop)
            self._begin_closing()
        else:
            self._arm_deadline()
            for execution in list(self.schedule.in_flight.values()):
                self._start_again(execution, attempts[execution.id], now)
            self._follow(self.schedule.decide_all(), now)
        await self._appends.flush(self)

    @property
    def version(self) -> int:
        """Entries in the journal."""
        return self._appends.version

    def next_response(self) -> int:
        """Number of the next streamed answer of this run, from 1."""
        self._responses += 1
        return self._responses

    @property
    def run(self) -> RunId:
        """The run's id."""
        assert self.opened is not None
        return self.opened.run

    @property
    def is_over(self) -> bool:
        """The run has ended, or is no longer driven here: what its steps still show is dropped."""
        return self.schedule.ended or self._let_go

    def _fold(self, found: list[journal.Entry]) -> dict[ExecutionId, Attempt]:
        for entry in found:
            self.schedule.apply(entry)
            self.tally.count(entry)
            if type(entry) is journal.EventPublished and entry.event.from_outside and entry.execution is None:
                self._brought.add(entry.id)
        self._appends.version = len(found)
        for position in self.schedule.requests:
            self._due_requests.note(position)
        self.agents.read_back(found)
        return attempts_of(found)

    def _start_again(self, execution: Execution, last: Attempt, now: int) -> None:
        if last.crashes >= MAX_CRASHES:
            self._fail_run(PoisonStep(execution.step.name, last.crashes))
            return
        if last.failures:
            self._failures[execution.id] = last.failures
        if last.retry_at > now:
            again = self._try_again(execution, last.number + 1, (last.retry_at - now) / 1e6)
            self._tasks[execution.id] = asyncio.get_running_loop().create_task(again, context=self._context.copy())
            return
        self._record(journal.ExecutionStarted(execution.id, last.number + 1, now))
        self._starting.append((execution, last.number + 1))

    def _arm_deadline(self) -> None:
        left = self._deadline_seconds - self.tally.active_microseconds / 1e6
        self._disarm()
        self._deadline = self._loop.call_later(max(left, 0.0), self._deadline_passed)

    def _deadline_passed(self) -> None:
        if not self._closing:
            self._fail_run(DeadlineExceeded(self._deadline_seconds))
            self._appends.flush_soon(self)

    # Ends -------------------------------------------------------------------------------------------------------------

    async def wait_ended(self) -> journal.RunEnded:
        """The run's last entry, once it is durable.

        Raises:
            RunLost: The run has passed to another worker.
        """
        return await asyncio.shield(self._ended)

    async def stop(self, who: str) -> None:
        """Stop the run: cancel its steps and end it as `stopped` (E4.6); returns when its end is durable."""
        await self.request_stop(who)
        with contextlib.suppress(RunLost):
            await self.wait_ended()

    async def request_stop(self, who: str) -> None:
        """The same, without waiting for what still works to end: returns when the stop is durable.

        Raises:
            RunLost: The run has passed to another worker before.
        """
        if not self._closing:
            self._publish_stop(stopped_by(who), "stopped")
        await self._appends.written(self)

    async def answer(self, request: int, event: Event, actor: dict[str, Any] | None = None) -> None:
        """Answer the open request at this position (E8.1); returns when the answer is durable.

        Args:
            actor: Who gave the answer, as journaled.

        Raises:
            ScheduleError: There is no such open request: it was answered, or the run has stopped.
            RunLost: The run has passed to another worker; the answer is not durable.
        """
        self._refuse_while_handed_over()
        if self._closing or request not in self.schedule.requests:
            raise ScheduleError(
                f"no open request at position {request} of run {self.run} (E8.1).",
                what_to_do="Look at the run: it was answered before, timed out, or the run has stopped.",
            )
        now = self._record_answer(request, event, actor)
        self._decide(now)
        await self._appends.written(self)

    async def bring(self, identity: EventId, event: Event, actor: dict[str, Any] | None = None) -> bool:
        """Bring an event into the run from outside, once (S2.3); returns when it is durable.

        Args:
            identity: Of the event; one that the run has changes nothing.
            actor: Who sent it, as journaled.

        Returns:
            Whether the run has it; one that came to its stop takes none.

        Raises:
            RunLost: The run has passed to another worker; the event is not durable.
        """
        if identity not in self._brought:
            self._refuse_while_handed_over()
            if self._closing:
                return False
            now = self._clock()
            self._brought.add(identity)
            self._record(journal.EventPublished(event, identity, now, actor=actor))
            self._decide(now)
        await self._appends.written(self)
        return True

    def _refuse_while_handed_over(self) -> None:
        """What comes now is for the next owner, who finds it kept where this one did (E7.5)."""
        if self._releasing and self.schedule.stop is None:
            raise RunLost(str(self.run), "it is being handed over")

    async def release(self) -> None:
        """Let the run go without ending it: its journal is whole, and another owner goes on from it (E7.5).

        What steps have returned is written before; what still works is cancelled and will be executed again. A run
        that has reached its stop is ended.
        """
        if self._releasing or self._ended.done():
            with contextlib.suppress(RunLost):
                await self.wait_ended()
            return
        self._releasing = self._closing = True
        self._disarm()
        self._due_requests.cancel()
        if self._end_task is not None:
            self._end_task.cancel()
            self._end_task = None
        await cancel_all([*self._tasks.values(), *self._ask_tasks])
        if self.opened is not None and not self.schedule.ended and not self._let_go:
            if self.schedule.stop is None:
                self._record(journal.OwnershipReleased(self._fence, self._clock()))
            await self._written_before_release()
        self.lose(RunLost(str(self.opened.run if self.opened else ""), "it was handed over"))

    async def _written_before_release(self) -> None:
        """Write all there is; a store that is gone must not keep us: then the journal ends where it was."""
        with contextlib.suppress(RunLost):
            await self._appends.written(self)
            if self.schedule.stop is not None:
                self._end_if_drained()
                await self._appends.written(self)

    # Executions -------------------------------------------------------------------------------------------------------

    async def _execute(self, execution: Execution, attempt: int) -> None:
        ready = self.program.steps[execution.step.name]
        STEP.set(ready.name)
        try:
            if ready.is_simple:
                returned = await ready.function(ready.owner(), *execution.arguments())
                outputs = [returned] if type(returned) in ready.alone else checked(ready, returned)
            else:
                context = self._make_context(self, execution, attempt)
                outputs = await call_step(ready, execution, context, lambda event: self.displayed(execution, event))
        except asyncio.CancelledError as error:
            await self._was_cancelled(ready, execution, attempt, error)
            return
        except Exception as error:
            await self._attempt_failed(ready, execution, attempt, error)
            return
        if self._tasks.pop(execution.id, None) is None:
            self._dropped(execution)
            return
        try:
            self._land(execution, attempt, outputs)
        except Exception as error:
            log.exception("the rules of the run refused what step %s returned", ready.name)
            await self._break_off(error, ready.name)
            return
        if self._tasks:
            self._appends.flush_soon(self)  # who else ends in this iteration of the loop shares the append
        elif not self._appends.is_flushing:
            await self._appends.flush(self)

    async def _was_cancelled(
        self, ready: ReadyStep, execution: Execution, attempt: int, error: asyncio.CancelledError
    ) -> None:
        if self._closing:
            return
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            # Not by us: the loop is being torn down. The run goes on from its journal.
            self.lose(error)
            raise error
        await self._attempt_failed(ready, execution, attempt, error)  # the step awaited something that was cancelled

    def _dropped(self, execution: Execution) -> None:
        log.info("step %s ended after its run; its result is dropped", execution.step.name)

    def displayed(self, execution: Execution, event: DisplayEvent) -> None:
        """A step shows an event now: a live frame only if its class is ephemeral, else journaled at once."""
        if self.is_over:
            return
        if event.ephemeral:
            if self._show_ephemeral is not None:
                self._show_ephemeral(self, event)
            return
        self._record(journal.EventPublished(event, journal.BY_POSITION, self._clock(), execution.id, shown=True))
        self._appends.flush_soon(self)

    def model_called(self, call: journal.ModelCalled) -> None:
        """A model was called; counted for the run and journaled with the next append."""
        if not self.is_over:
            self.tally.model_called(call)
            self._record(call)

    def _land(self, execution: Execution, attempt: int, outputs: list[Event]) -> None:
        """An execution ended well: its events, its end and what they make due are one append (E4.1)."""
        now = self._clock()
        schedule = self.schedule
        positions: list[int] = []
        for event in outputs:
            if isinstance(event, ControlEvent):
                published = journal.EventPublished(event, journal.BY_POSITION, now, execution.id)
                if event.answered_by or event.leaves_run or schedule.stop is not None:
                    self._record_special(published)
                else:
                    self._record(published)
                positions.append(schedule.position)
            elif cast("DisplayEvent", event).ephemeral:
                if self._show_ephemeral is not None:
                    self._show_ephemeral(self, cast("DisplayEvent", event))
            else:
                self._record(journal.EventPublished(event, journal.BY_POSITION, now, execution.id))
        self._record(journal.ExecutionFinished(execution.id, now, attempt, tuple(positions)))
        self._after_landing(now)

    def _record_special(self, published: journal.EventPublished) -> None:
        """One that something outside will name, or that comes after the stop."""
        event = published.event
        published.discarded = self.schedule.stop is not None and not event.leaves_run
        if event.answered_by or event.leaves_run:
            published.id = EventId(self._make_id())
        self._record(published)
        if event.answered_by and not published.discarded:
            self._due_requests.note(self.schedule.position)
            self.agents.note(self.schedule.position)

    def _land_failed(self, execution: Execution, attempt: int, error: journal.ErrorInfo) -> None:
        if execution.id in self.schedule.in_flight:
            now = self._clock()
            self._record(journal.ExecutionFailed(execution.id, now, error, attempt))
            self._after_landing(now)

    def _after_landing(self, now: int) -> None:
        stop = self.schedule.stop
        if stop is None:
            if not self.schedule.is_settled:
                self._decide(now)
        elif not self._stopped:
            self._stopped = True
            self._status, self._error = outcome_of(stop)
            self._record(journal.StopReached(self._stop_position(), now))
            self._begin_closing()
            self._end_if_drained()

    async def _attempt_failed(self, ready: ReadyStep, execution: Execution, attempt: int, error: BaseException) -> None:
        if self._releasing:
            return  # it failed because it was cancelled: the next owner executes it again
        info = error_info(error)
        failures = self._failures.get(execution.id, 0) + 1
        may_help = isinstance(error, StepTimedOut) or not isinstance(error, WorkflowError)
        if failures <= ready.retry.times and may_help and not self._closing:
            self._failures[execution.id] = failures
            wait = wait_seconds(ready.retry, failures, id_in_run(self.run, execution.id))
            now = self._clock()
            self._record(journal.AttemptFailed(execution.id, attempt, now, info, now + int(wait * 1e6)))
            await self._try_again(execution, attempt + 1, wait)
            return
        if self._tasks.pop(execution.id, None) is None:
            self._dropped(execution)
            return
        if self._closing or not ready.stop_on_error:
            self._warn(ready, execution, info)
            self._land_failed(execution, attempt, info)
        else:
            log.info("step %s failed", ready.name, exc_info=error)
            self._record(journal.ExecutionFailed(execution.id, self._clock(), info, attempt))
            self._publish_stop(exception_event(info, ready.name), "failed")
        await self._appends.flush(self)

    async def _try_again(self, execution: Execution, attempt: int, wait: float) -> None:
        try:
            await self._appends.written(self)
            await asyncio.sleep(wait)
            if self._closing:
                return
            self._record(journal.ExecutionStarted(execution.id, attempt, self._clock()))
            await self._appends.written(self)
        except RunLost:
            return
        except asyncio.CancelledError as error:
            if not self._closing:
                self.lose(error)
            raise
        await self._execute(execution, attempt)

    def _warn(self, ready: ReadyStep, execution: Execution, info: journal.ErrorInfo) -> None:
        warning = StepWarningEvent(step=ready.name, code=info.code, message=info.message)
        self._record(journal.EventPublished(warning, journal.BY_POSITION, self._clock(), execution.id, shown=True))

    async def _ask(self, execution: Execution) -> None:
        """Ask a precondition; its verdict is an entry like any other (E3.6)."""
        ready = self.program.steps[execution.step.name]
        STEP.set(ready.name)
        try:
            while True:
                self.schedule.begin_asking(execution)
                verdict = await ask(ready, execution, self._make_context(self, execution, 1))
                if verdict or self._closing or not self.schedule.was_overtaken(execution):
                    break  # a "no" that an event has overtaken is none: it would hold the binding past its wake-up
        except asyncio.CancelledError:
            return
        except Exception as error:
            log.info("precondition of %s failed", ready.name, exc_info=error)
            if not self._closing:
                self._publish_stop(exception_event(error_info(error), ready.name), "failed")
                self._appends.flush_soon(self)
            return
        if self._closing:
            return
        scope, step = execution.scope.position, execution.step.name
        now = self._clock()
        self._record(journal.PreconditionAnswered(step, scope, execution.positions, verdict, now))
        self._decide(now)
        self._appends.flush_soon(self)  # in a task of its own: this one may be cancelled, and an append must not be

    # The journal ------------------------------------------------------------------------------------------------------

    def _record(self, entry: journal.Entry) -> None:
        self.schedule.apply(entry)
        self._pending.append(entry)

    def _decide(self, now: int) -> None:
        self._follow(self.schedule.decide(), now)

    def _follow(self, decision: Decision, now: int) -> None:
        if decision.due:
            for execution in decision.due:
                self._pending.append(entry_of(execution, now))
                self._starting.append((execution, 1))
            self.tally.executions += len(decision.due)
        if decision.asks:
            self._asking.extend(decision.asks)
        if decision.fault is not None and not self._closing:
            self._fail_run(decision.fault)

    def take_due(self) -> Due:
        """What the pending entries made due."""
        due = self._starting, self._asking
        self._starting, self._asking = [], []
        return due

    def appended(self, entries: list[journal.Entry], due: Due) -> None:
        """The entries are durable: what they made due starts."""
        if due[0] or due[1]:
            self._launch(*due)
        last = entries[-1]
        if type(last) is journal.RunEnded and not self._ended.done():
            self._ended.set_result(last)

    def all_appended(self) -> None:
        """Nothing is pending: a run that closes may be over."""
        if self._closing:
            self._end_if_drained()
            return
        if self.agents.any:
            self.agents.are_durable()
            if self.carry_agents is not None:
                self.carry_agents(self)
        if self.schedule.requests:
            self._look_at_requests()

    async def not_appended(self, entries: list[journal.Entry], error: Exception) -> None:
        """An append failed: by an event that cannot be written the run ends, else it is let go and taken again."""
        unwritable = find_unwritable(entries)
        if unwritable is None:
            log.error("the journal of run %s could not be written", self.run, exc_info=error)
            self.lose(error)
        else:
            log.error("run %s ends: %s", self.run, unwritable)
            await self._break_off(unwritable, None)

    async def _break_off(self, error: Exception, step: str | None) -> None:
        """End the run by its journal, because what is known of it here cannot be written."""
        stop = exception_event(error_info(error), step)
        try:
            found = await self._store.read(self.run)
            ending = closing_entries(found, stop, self._clock())
            await self._store.append(self.run, ending, expected_version=len(found), fence=self._fence)
        except Exception as another:
            self.lose(another)
            return
        self.schedule.stop, self.schedule.ended = stop, True
        self.appended(ending, ([], []))
        self.lose(error)

    def _launch(self, starting: list[tuple[Execution, int]], asking: list[Execution]) -> None:
        if self._closing:
            return
        if self.is_waiting:
            self._go_on()
            self._arm_deadline()
        create_task, tasks, context = self._loop.create_task, self._tasks, self._context
        for execution, attempt in starting:
            tasks[execution.id] = create_task(
                self._execute(execution, attempt), name=execution.step.name, context=context.copy()
            )
        for execution in asking:
            task = create_task(self._ask(execution), context=context.copy())
            self._ask_tasks.add(task)
            task.add_done_callback(self._ask_tasks.discard)

    def lose(self, error: BaseException) -> None:
        """Another worker owns the run, or the store is gone: let it go, nothing more is written."""
        self._closing = self._let_go = True
        self._appends.give_up()
        self._disarm()
        self._due_requests.cancel()
        current = asyncio.current_task()
        others = (self._end_task, self._due_requests.task, self.agents.task)
        for task in [*self._tasks.values(), *self._ask_tasks, *others]:
            if task is not None and task is not current:
                task.cancel()
        self._tasks.clear()
        if not self._ended.done():
            lost = error if isinstance(error, RunLost) else RunLost(str(self.run), str(error) or "it was cancelled")
            if lost is not error:
                lost.__cause__ = error
            self._ended.set_exception(lost)
            self._ended.exception()

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    # Waiting ----------------------------------------------------------------------------------------------------------

    @property
    def next_due(self) -> int | None:
        """When the next open request is answered by itself, in microseconds since the epoch; None if never."""
        return self._due_requests.next_due

    def park(self) -> bool:
        """Let go of a run that only waits; whoever takes it next goes on from its journal (E7.4).

        Returns:
            Whether it was let go; one that has something to do again is not.
        """
        if not self.is_waiting or self._closing or self._due_requests.task is not None or self.agents.is_busy:
            return False
        if self._appends.pending or self._appends.is_flushing:
            return False
        self.lose(RunLost(str(self.run), "it waits outside memory"))
        return True

    def _look_at_requests(self) -> None:
        """Requests are open: set the alarm for the first that is due; if nothing works, the run waits."""
        if not self.is_waiting and not self._tasks and not self._ask_tasks and not self._appends.pending:
            self.is_waiting = True
            self.tally.until(self._clock())
            self._disarm()
            if self.when_waiting is not None:
                self.when_waiting(self)
        self._due_requests.set_alarm(self._answer_overdue)

    def _go_on(self) -> None:
        """What was waited for has come: from here on the time counts again (E4.6)."""
        self.is_waiting = False
        self.tally.go_on(self._clock())

    async def _answer_overdue(self) -> None:
        """Answer what is overdue by itself; an answer that was accepted before its time was over goes first."""
        if self._closing:
            return
        if self.fetch_answers is not None:
            await self.fetch_answers(self)
        while not self._closing and (position := self._due_requests.overdue()) is not None:
            request = self.schedule.requests[position].entry
            self._record_answer(position, cast("OutsideRequest", request.event).overdue_answer())
            self.agents.timed_out(request)
        if not self._closing:
            self._decide(self._clock())
            self._appends.flush_soon(self)

    def _record_answer(self, request: int, event: Event, actor: dict[str, Any] | None = None) -> int:
        now = self._clock()
        self._record(journal.EventPublished(event, journal.BY_POSITION, now, answers=request, actor=actor))
        self.tally.agent_used(event)
        return now

    # Stops ------------------------------------------------------------------------------------------------------------

    def _fail_run(self, error: PlanwerkError) -> None:
        self._publish_stop(exception_event(error_info(error), getattr(error, "step", None)), "failed")

    def _publish_stop(self, stop: StopEvent, status: RunEndStatus) -> None:
        if self._closing or self._stopped:
            return
        now = self._clock()
        self._record(journal.EventPublished(stop, journal.BY_POSITION, now))
        self._stopped = True
        self._status, self._error = status, outcome_of(stop)[1]
        self._record(journal.StopReached(self.schedule.position, now))
        self._begin_closing()

    def _stop_position(self) -> int:
        stop = self.schedule.stop
        for back, entry in enumerate(reversed(self._pending)):
            if isinstance(entry, journal.EventPublished) and entry.event is stop:
                return self.schedule.position - back
        return self.schedule.position

    def _begin_closing(self) -> None:
        """Nothing new becomes due; what only displays gets a grace, all else is cancelled (E4.2)."""
        self._closing = True
        self._disarm()
        self._due_requests.cancel()
        if self.is_waiting:
            self._go_on()
        if (self._tasks or self._ask_tasks) and not self._releasing:
            self._end_task = self._loop.create_task(self._drain())

    async def _drain(self) -> None:
        graced: dict[ExecutionId, asyncio.Task[None]] = {}
        hurried: list[asyncio.Task[None]] = list(self._ask_tasks)
        for identity, task in self._tasks.items():
            execution = self.schedule.in_flight.get(identity)
            ready = self.program.steps[execution.step.name] if execution is not None else None
            if ready is not None and not ready.stop_on_error and ready.only_displays and self._status == "completed":
                graced[identity] = task
            else:
                hurried.append(task)
        await cancel_all(hurried)
        if graced:
            await asyncio.wait(graced.values(), timeout=self._grace_seconds)
            # One that has left `_tasks` is about to write its result: that must not be cancelled.
            await cancel_all(task for identity, task in graced.items() if identity in self._tasks)
        self._end_task = None
        await self._appends.flush(self)

    def _end_if_drained(self) -> None:
        """The last entry, once nothing is in flight here any more (E4.2)."""
        if self._end_task is not None or self.schedule.stop is None or self.is_over or self._ended.done():
            return
        now = self._clock()
        for execution in list(self.schedule.in_flight.values()):
            self._record(journal.ExecutionFailed(execution.id, now, cancelled()))
        self._tasks.clear()
        self.tally.until(now)
        ended = journal.RunEnded(self._status, now, self._error, self.schedule.left_over(), self.tally.summary())
        self._record(ended)
