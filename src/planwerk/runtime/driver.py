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
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Final, Literal, Protocol, cast

from planwerk.runtime.errors import RunLost, StaleFence, StaleVersion
from planwerk.runtime.execution import ExecutionContext
from planwerk.runtime.ports import Journal
from planwerk.runtime.program import Program, ReadyStep, ask
from planwerk.runtime.tally import Tally
from planwerk.workflow import entries as journal
from planwerk.workflow.blueprint import AgentConfig
from planwerk.workflow.errors import PlanwerkError, ScheduleError, WorkflowError
from planwerk.workflow.events import ControlEvent, DisplayEvent, Event, ExceptionEvent, StepWarningEvent, StopEvent
from planwerk.workflow.ids import EventId, ExecutionId, RunId, new_id
from planwerk.workflow.schedule import Decision, RunSchedule, entry_of
from planwerk.workflow.seen import Execution

log = logging.getLogger(__name__)

GRACE_SECONDS: Final = 5.0
"""How long steps that only display may go on after a stop (E4.2)."""
DEADLINE_SECONDS: Final = 3600.0
"""Activity a run may take in all (E4.6)."""
CANCEL_SECONDS: Final = 1.0
"""How long a cancelled step may take to end before it is abandoned (E4.6)."""
MAX_ATTEMPTS: Final = 3
"""Crashes of one execution after which the run ends with an error (E7.2)."""

RunEndStatus = Literal["completed", "failed", "stopped"]


class DeadlineExceeded(WorkflowError):
    """The run worked longer than it may (E4.6)."""

    code = "run_deadline_exceeded"
    http_status = 504


class StepTimedOut(WorkflowError):
    """A step took longer than its `timeout_seconds` (E4.4)."""

    code = "step_timed_out"
    http_status = 504


class PoisonStep(WorkflowError):
    """A step was in flight each time the process died (E7.2)."""

    code = "poison_step"


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
        self.version = 0
        """Entries in the journal."""
        self.tally = Tally()
        self._store = store
        self._fence = fence
        self._worker = worker
        self._make_context = make_context
        self._show_ephemeral = show_ephemeral
        self._clock = clock
        self._make_id = make_id
        self._grace_seconds = grace_seconds
        self._pending: list[journal.Entry] = []
        self._starting: list[tuple[Execution, int]] = []
        self._asking: list[Execution] = []
        self._responses = 0
        self._flushing = False
        self._flush_task: asyncio.Task[None] | None = None
        self._tasks: dict[ExecutionId, asyncio.Task[None]] = {}
        self._ask_tasks: set[asyncio.Task[None]] = set()
        self._closing = False
        self._status: RunEndStatus = "completed"
        self._error: journal.ErrorInfo | None = None
        self._end_task: asyncio.Task[None] | None = None
        self._ended: asyncio.Future[journal.RunEnded] = asyncio.get_running_loop().create_future()
        self._deadline_seconds = deadline_seconds
        self._deadline: asyncio.TimerHandle | None = None

    # Beginning --------------------------------------------------------------------------------------------------------

    async def open(self, opened: journal.RunOpened, start: Event) -> None:
        """Write the run's first entries and begin; returns when they are durable."""
        self.opened, self.start = opened, start
        self.tally.count(opened)
        self._record(opened)
        self._record(journal.EventPublished(start, EventId(self._make_id()), self._clock()))
        self._arm_deadline()
        self._decide()
        await self._flush()

    async def resume(self, found: list[journal.Entry]) -> None:
        """Take the run over: fold its journal and go on (E7.2, E7.5).

        Args:
            found: The whole journal, as read under this driver's lease.
        """
        opened, first = found[0], found[1]
        assert isinstance(opened, journal.RunOpened)
        assert isinstance(first, journal.EventPublished)
        self.opened, self.start = opened, first.event
        attempts = self._fold(found)
        if self.schedule.ended:
            last = found[-1]
            assert isinstance(last, journal.RunEnded)
            self._ended.set_result(last)
            return
        now = self._clock()
        self._record(journal.OwnershipTaken(self._fence, now, self._worker))
        if self.schedule.stop is not None:
            self._begin_closing()
        else:
            self._arm_deadline()
            for execution in list(self.schedule.in_flight.values()):
                self._start_again(execution, attempts.get(execution.id, 1) + 1, now)
            self._follow(self.schedule.decide_all(self._make_id))
        await self._flush()

    def next_response(self) -> int:
        """Number of the next streamed answer of this run, from 1."""
        self._responses += 1
        return self._responses

    @property
    def run(self) -> RunId:
        """The run's id."""
        assert self.opened is not None
        return self.opened.run

    def _fold(self, found: list[journal.Entry]) -> dict[ExecutionId, int]:
        attempts: dict[ExecutionId, int] = {}
        for entry in found:
            self.schedule.apply(entry)
            self.tally.count(entry)
            match entry:
                case journal.ExecutionStarted(execution, attempt) | journal.AttemptFailed(execution, attempt):
                    attempts[execution] = max(attempt, attempts.get(execution, 1))
                case journal.EventPublished(event) if isinstance(event, StopEvent):
                    self._status, self._error = _outcome(event)
                case _:
                    pass
        self.version = len(found)
        return attempts

    def _start_again(self, execution: Execution, attempt: int, now: int) -> None:
        if attempt > MAX_ATTEMPTS:
            self._fail_run(
                PoisonStep(
                    f"step {execution.step.name} was in flight at {attempt - 1} crashes of a worker (E7.2).",
                    what_to_do="Look at what the step does to its process; then fork the run.",
                ),
                execution,
            )
            return
        self._record(journal.ExecutionStarted(execution.id, attempt, now))
        self._starting.append((execution, attempt))

    def _arm_deadline(self) -> None:
        loop = asyncio.get_running_loop()
        left = self._deadline_seconds - self.tally.active_microseconds / 1e6
        self._deadline = loop.call_later(max(left, 0.0), self._deadline_passed)

    def _deadline_passed(self) -> None:
        if not self._closing:
            self._fail_run(
                DeadlineExceeded(
                    f"the run worked longer than {self._deadline_seconds:g} s (E4.6).",
                    what_to_do="Raise the profile's limit if the work is meant to take that long.",
                )
            )
            self._flush_soon()

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
        """The same, without waiting for what still works to end: returns when the stop is durable."""
        if not self._closing:
            self._publish_stop(stopped_by(who), "stopped")
            await self._flush()

    async def answer(self, request: int, event: Event) -> None:
        """Answer the open request at this position (E8.1); returns when the answer is durable.

        Raises:
            ScheduleError: There is no such open request: it was answered, or the run has stopped.
        """
        if self._closing or request not in self.schedule.requests:
            raise ScheduleError(
                f"no open request at position {request} of run {self.run} (E8.1).",
                what_to_do="Look at the run: it was answered before, timed out, or the run has stopped.",
            )
        self._record(journal.EventPublished(event, EventId(self._make_id()), self._clock(), answers=request))
        self._decide()
        await self._flush()

    async def release(self) -> None:
        """Let the run go without ending it: its journal is whole, and another owner goes on from it (E7.5)."""
        self._closing = True
        if self._deadline is not None:
            self._deadline.cancel()
        await _cancel([*self._tasks.values(), *self._ask_tasks])
        if not self._ended.done():
            self._ended.set_exception(RunLost(str(self.run), "it was handed over"))
            self._ended.exception()

    # Executions -------------------------------------------------------------------------------------------------------

    async def _execute(self, execution: Execution, attempt: int) -> None:
        ready = self.program.steps[execution.step.name]
        try:
            if ready.is_plain and not ready.is_generator and ready.timeout_seconds is None:
                outputs = _checked(ready, await ready.call(execution, None))
            else:
                outputs = await self._call(ready, execution, attempt)
        except asyncio.CancelledError:
            if not self._closing:
                self._land_failed(execution, attempt, _cancelled())
                await self._flush()
            return
        except Exception as error:
            await self._attempt_failed(ready, execution, attempt, error)
            return
        self._tasks.pop(execution.id, None)
        self._land(execution, attempt, outputs)
        if self._flushing:
            return
        await self._flush()

    async def _call(self, ready: ReadyStep, execution: Execution, attempt: int) -> list[Event]:
        context = self._make_context(self, execution, attempt)
        work = ready.call(execution, context)
        if ready.is_generator:
            work = self._drain_generator(ready, execution, work)
        if ready.timeout_seconds is None:
            returned = await work
        else:
            returned = await self._within(ready.timeout_seconds, work, ready.name)
        return _checked(ready, returned)

    async def _within(self, seconds: float, work: Coroutine[Any, Any, Any], step: str) -> Any:
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                return await work
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise StepTimedOut(
                f"step {step} took longer than {seconds:g} s (E4.4).",
                what_to_do="Raise its timeout_seconds, or make it do less.",
            ) from error

    async def _drain_generator(
        self, ready: ReadyStep, execution: Execution, events: AsyncIterator[Event]
    ) -> list[Event]:
        """Display events are shown as they come; control events are published together at the end (E2.3)."""
        returned: list[Event] = []
        async for output in events:
            event = ready.checked(output)
            if isinstance(event, ControlEvent):
                returned.append(event)
            else:
                self.displayed(execution, cast("DisplayEvent", event))
        return returned

    def displayed(self, execution: Execution, event: DisplayEvent) -> None:
        """A step shows an event now: a live frame only if its class is ephemeral, else journaled at once."""
        if event.ephemeral:
            if self._show_ephemeral is not None:
                self._show_ephemeral(self, event)
            return
        if self.schedule.ended or self._ended.done():
            return
        self._record(journal.EventPublished(event, EventId(self._make_id()), self._clock(), execution.id, shown=True))
        self._flush_soon()

    def model_called(self, call: journal.ModelCalled) -> None:
        """A model was called; counted for the run and journaled with the next append."""
        if not self.schedule.ended:
            self.tally.count(call)
            self._record(call)

    def _land(self, execution: Execution, attempt: int, outputs: list[Event]) -> None:
        """An execution ended well: its events, its end and what they make due are one append (E4.1)."""
        now = self._clock()
        discard = self.schedule.stop is not None
        positions: list[int] = []
        for event in outputs:
            if isinstance(event, ControlEvent):
                entry = journal.EventPublished(event, EventId(self._make_id()), now, execution.id, discarded=discard)
                self._record(entry)
                positions.append(self.schedule.position)
            elif event.ephemeral and self._show_ephemeral is not None:
                self._show_ephemeral(self, cast("DisplayEvent", event))
            else:
                self._record(journal.EventPublished(event, EventId(self._make_id()), now, execution.id))
        self._record(journal.ExecutionFinished(execution.id, now, attempt, tuple(positions)))
        self._after_landing()

    def _land_failed(self, execution: Execution, attempt: int, error: journal.ErrorInfo) -> None:
        self._tasks.pop(execution.id, None)
        if execution.id in self.schedule.in_flight:
            self._record(journal.ExecutionFailed(execution.id, self._clock(), error, attempt))
            self._after_landing()

    def _after_landing(self) -> None:
        stop = self.schedule.stop
        if stop is None:
            self._decide()
        elif not self._closing:
            self._status, self._error = _outcome(stop)
            self._record(journal.StopReached(self._stop_position(), self._clock()))
            self._begin_closing()

    async def _attempt_failed(self, ready: ReadyStep, execution: Execution, attempt: int, error: Exception) -> None:
        info = error_info(error)
        if attempt <= ready.retry.times and not self._closing and not isinstance(error, WorkflowError):
            await self._retry(ready, execution, attempt, info)
            return
        if self._closing or not ready.stop_on_error:
            self._warn(ready, execution, info)
            self._land_failed(execution, attempt, info)
        else:
            log.info("step %s failed", ready.name, exc_info=error)
            self._tasks.pop(execution.id, None)
            self._record(journal.ExecutionFailed(execution.id, self._clock(), info, attempt))
            self._publish_stop(_exception_event(info, ready.name), "failed")
        await self._flush()

    async def _retry(self, ready: ReadyStep, execution: Execution, attempt: int, info: journal.ErrorInfo) -> None:
        wait = ready.retry.backoff_seconds * 2 ** (attempt - 1)
        now = self._clock()
        self._record(journal.AttemptFailed(execution.id, attempt, now, info, now + int(wait * 1e6)))
        await self._flush()
        try:
            await asyncio.sleep(wait)
        except asyncio.CancelledError:
            self._land_failed(execution, attempt, _cancelled())
            return
        await self._execute(execution, attempt + 1)

    def _warn(self, ready: ReadyStep, execution: Execution, info: journal.ErrorInfo) -> None:
        warning = StepWarningEvent(step=ready.name, code=info.code, message=info.message)
        self._record(journal.EventPublished(warning, EventId(self._make_id()), self._clock(), execution.id, shown=True))

    async def _ask(self, execution: Execution) -> None:
        """Ask a precondition; its verdict is an entry like any other (E3.6)."""
        ready = self.program.steps[execution.step.name]
        try:
            verdict = await ask(ready, execution, self._make_context(self, execution, 1))
        except asyncio.CancelledError:
            return
        except Exception as error:
            log.info("precondition of %s failed", ready.name, exc_info=error)
            if not self._closing:
                self._publish_stop(_exception_event(error_info(error), ready.name), "failed")
                await self._flush()
            return
        if self._closing:
            return
        scope, step = execution.scope.position, execution.step.name
        self._record(journal.PreconditionAnswered(step, scope, execution.positions, verdict, self._clock()))
        self._decide()
        await self._flush()

    # The journal ------------------------------------------------------------------------------------------------------

    def _record(self, entry: journal.Entry) -> None:
        self.schedule.apply(entry)
        self._pending.append(entry)

    def _decide(self) -> None:
        self._follow(self.schedule.decide(self._make_id))

    def _follow(self, decision: Decision) -> None:
        if decision.due:
            now = self._clock()
            for execution in decision.due:
                self._pending.append(entry_of(execution, now))
                self._starting.append((execution, 1))
            self.tally.executions += len(decision.due)
        if decision.asks:
            self._asking.extend(decision.asks)
        if decision.fault is not None and not self._closing:
            self._fail_run(decision.fault)

    def _flush_soon(self) -> None:
        if not self._flushing and self._flush_task is None:
            self._flush_task = asyncio.get_running_loop().create_task(self._flush_now())

    async def _flush_now(self) -> None:
        self._flush_task = None
        await self._flush()

    async def _flush(self) -> None:
        """Append what is pending, then start what that made due; whoever comes meanwhile adds to the next append."""
        if self._flushing:
            return
        self._flushing = True
        try:
            while self._pending:
                entries, self._pending = self._pending, []
                starting, self._starting = self._starting, []
                asking, self._asking = self._asking, []
                self.version = await self._store.append(
                    self.run, entries, expected_version=self.version, fence=self._fence
                )
                if starting or asking:
                    self._launch(starting, asking)
                self._tell_if_ended(entries)
        except (StaleFence, StaleVersion) as lost:
            self._lose(lost)
        except Exception as error:
            log.exception("the journal of run %s could not be written", self.run)
            self._lose(error)
        finally:
            self._flushing = False
        if self._closing:
            self._end_if_drained()

    def _launch(self, starting: list[tuple[Execution, int]], asking: list[Execution]) -> None:
        if self._closing:
            return
        create_task = asyncio.get_running_loop().create_task
        tasks = self._tasks
        for execution, attempt in starting:
            tasks[execution.id] = create_task(self._execute(execution, attempt))
        for execution in asking:
            task = create_task(self._ask(execution))
            self._ask_tasks.add(task)
            task.add_done_callback(self._ask_tasks.discard)

    def _lose(self, error: Exception) -> None:
        """Another worker owns the run, or the store is gone: let it go, nothing more is written."""
        self._closing = True
        self._pending.clear()
        if self._deadline is not None:
            self._deadline.cancel()
        current = asyncio.current_task()
        for task in [*self._tasks.values(), *self._ask_tasks]:
            if task is not current:
                task.cancel()
        if not self._ended.done():
            lost = RunLost(str(self.run), str(error))
            lost.__cause__ = error
            self._ended.set_exception(lost)
            self._ended.exception()

    # Stops ------------------------------------------------------------------------------------------------------------

    def _fail_run(self, error: PlanwerkError, execution: Execution | None = None) -> None:
        step = execution.step.name if execution is not None else getattr(error, "step", None)
        self._publish_stop(_exception_event(error_info(error), step), "failed")

    def _publish_stop(self, stop: StopEvent, status: RunEndStatus) -> None:
        if self._closing:
            return
        now = self._clock()
        self._record(journal.EventPublished(stop, EventId(self._make_id()), now))
        self._status, self._error = status, _outcome(stop)[1]
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
        if self._deadline is not None:
            self._deadline.cancel()
        if not self._tasks and not self._ask_tasks:
            return
        self._end_task = asyncio.get_running_loop().create_task(self._drain())

    async def _drain(self) -> None:
        graced: list[asyncio.Task[None]] = []
        cancelled: list[asyncio.Task[None]] = list(self._ask_tasks)
        for identity, task in list(self._tasks.items()):
            execution = self.schedule.in_flight.get(identity)
            ready = self.program.steps[execution.step.name] if execution is not None else None
            may_finish = ready is not None and not ready.stop_on_error and ready.only_displays
            (graced if may_finish and self._status == "completed" else cancelled).append(task)
        await _cancel(cancelled)
        if graced:
            _, late = await asyncio.wait(graced, timeout=self._grace_seconds)
            await _cancel(list(late))
        self._end_task = None
        await self._flush()

    def _end_if_drained(self) -> None:
        """The last entry, once nothing is in flight here any more (E4.2)."""
        if not self._closing or self._end_task is not None or self.schedule.ended or self._ended.done():
            return
        if self.schedule.stop is None or self._pending:
            return
        now = self._clock()
        for execution in list(self.schedule.in_flight.values()):
            self._record(journal.ExecutionFailed(execution.id, now, _cancelled()))
        self._tasks.clear()
        ended = journal.RunEnded(self._status, now, self._error, tuple(self.schedule.untaken), self.tally.summary())
        self.tally.count(ended)
        self._record(ended)
        self._flush_soon()

    def _tell_if_ended(self, entries: list[journal.Entry]) -> None:
        last = entries[-1]
        if type(last) is journal.RunEnded and not self._ended.done():
            self._ended.set_result(last)


def stopped_by(who: str) -> ExceptionEvent:
    """The stop of a run that somebody stopped."""
    return ExceptionEvent(code="run_stopped", message=f"The run was stopped by {who}.", http_status=409)


def _checked(ready: ReadyStep, returned: Any) -> list[Event]:
    """What a step returned, as the events of its annotation."""
    if type(returned) in ready.outputs:
        return [returned]
    if returned is None:
        return []
    if isinstance(returned, list | tuple):
        return [ready.checked(output) for output in cast("list[object]", returned)]
    return [ready.checked(returned)]


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    """Cancel tasks and wait for them; one that does not end in time is abandoned."""
    pending = [task for task in tasks if not task.done()]
    for task in pending:
        task.cancel()
    if pending:
        _, abandoned = await asyncio.wait(pending, timeout=CANCEL_SECONDS)
        for task in abandoned:
            log.warning("a cancelled step did not end within %g s and is abandoned: %r", CANCEL_SECONDS, task)


def _cancelled() -> journal.ErrorInfo:
    return journal.ErrorInfo("cancelled", "The step was cancelled.", error_type="CancelledError", http_status=409)


def _outcome(stop: Event) -> tuple[RunEndStatus, journal.ErrorInfo | None]:
    if not isinstance(stop, ExceptionEvent):
        return "completed", None
    info = journal.ErrorInfo(stop.code, stop.message, stop.what_to_do, stop.error_type, stop.http_status)
    return ("stopped" if stop.code == "run_stopped" else "failed"), info


def _exception_event(info: journal.ErrorInfo, step: str | None) -> ExceptionEvent:
    return ExceptionEvent(
        code=info.code,
        message=info.message,
        what_to_do=info.what_to_do,
        step=step,
        error_type=info.error_type,
        http_status=info.http_status,
    )


def error_info(error: Exception) -> journal.ErrorInfo:
    """What is journaled of an error: our own with their code, others as `step_failed`."""
    if isinstance(error, PlanwerkError):
        return journal.ErrorInfo(error.code, error.message, error.what_to_do, type(error).__name__, error.http_status)
    text = str(error) or type(error).__name__
    return journal.ErrorInfo("step_failed", text[:2000], "", type(error).__name__, 500)
