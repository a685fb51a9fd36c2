"""Runs profiles by their schedules (E8.3): `Schedules` decides and opens, `Scheduler` looks when it is time.

What is decided, and why an occurrence has at most one run, stands in `schedule_state.py`. The state of a schedule is
kept with the contexts, by the id of its profile.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Final, Self, TypeAlias

from planwerk.access.actors import SystemActor
from planwerk.access.ids import TenantId
from planwerk.locales import DEFAULT_LOCALE
from planwerk.runtime.closing import closing_entries, error_info, exception_event
from planwerk.runtime.errors import JournalError, RuntimeFault
from planwerk.runtime.occurrences import ScheduleInvalid, read_rule
from planwerk.runtime.opening import open_run
from planwerk.runtime.ports import Clock, ContextStore, Journal, RunRecord, RunRecords, WorkQueue
from planwerk.runtime.profiles import Profile, ProfileDirectory
from planwerk.runtime.projector import record_of
from planwerk.runtime.schedule_state import (
    SCHEDULE,
    Occurrence,
    ScheduleState,
    counting,
    decided,
    due,
    is_late,
    run_of,
)
from planwerk.runtime.schedules import ProfileSchedule, start_of
from planwerk.workflow import entries as journal
from planwerk.workflow.composition import compose
from planwerk.workflow.errors import PlanwerkError
from planwerk.workflow.events import StartEvent
from planwerk.workflow.ids import RunId, new_id
from planwerk.workspace.workspaces import Workspaces

log = logging.getLogger(__name__)

STATE: Final = "state"
CURSOR: Final = "scheduler"
MAX_TRIES: Final = 100
"""Of storing a decision beside others; far more than any number of processes causes."""
LONGEST_WAIT_SECONDS: Final = 60.0
"""How often the clock is compared with what is due: it may be set, and a machine may sleep."""
FIRST_RETRY_SECONDS: Final = 0.1
LONGEST_RETRY_SECONDS: Final = 10.0

_FirstEntries: TypeAlias = tuple[journal.RunOpened, *tuple[journal.Entry, ...]]


class ProfileHasNoSchedule(RuntimeFault):
    """The profile has no schedule."""

    code = "schedule_not_found"
    http_status = 404

    def __init__(self, profile: str) -> None:
        super().__init__(
            f"profile {profile!r} has no schedule (E8.3).",
            what_to_do="Give it one: planwerk profiles edit PROFILE --set schedule.cron=… --set schedule.message=….",
        )


class ScheduleStillRunning(RuntimeFault):
    """The run of an earlier occurrence has not ended, and the schedule lets one run at a time."""

    code = "schedule_still_running"
    http_status = 409

    def __init__(self, profile: str, run: str) -> None:
        super().__init__(
            f"run {run} of the schedule of {profile!r} has not ended (E8.3).",
            what_to_do='Wait for its end, or stop it; or let runs overlap with while_running: "start".',
        )
        self.run = run


@dataclass(frozen=True, slots=True)
class ScheduleStatus:
    """A profile's schedule with what became of its last occurrences."""

    profile: Profile
    schedule: ProfileSchedule
    state: ScheduleState
    records: dict[str, RunRecord]
    """Of the runs among them, by run."""

    @property
    def failures(self) -> list[Occurrence]:
        """Those whose run failed and that nobody has put away, the newest first."""
        return [
            each
            for each in self.state.recent
            if each.decided > self.state.dismissed
            and each.run in self.records
            and self.records[each.run].status == "failed"
        ]


class Schedules:
    """Decides on occurrences and opens their runs; several processes may do so at once."""

    def __init__(
        self,
        *,
        profiles: ProfileDirectory,
        store: Journal,
        queue: WorkQueue,
        contexts: ContextStore,
        records: RunRecords,
        clock: Clock,
    ) -> None:
        self._profiles = profiles
        self._journal = store
        self._queue = queue
        self._contexts = contexts
        self._records = records
        self._clock = clock

    async def look(self, tenant: TenantId, profile: Profile) -> int | None:
        """Do what is due of a profile's schedule, and say when to look next; None if nothing will be due."""
        schedule = profile.data.schedule
        rule = read_rule(schedule.cron, schedule.zone) if schedule is not None and schedule.enabled else None
        counts = f"{rule.cron} {rule.zone.key}" if rule is not None else None
        await self._open_claimed(tenant, profile)

        async def decide(state: ScheduleState) -> ScheduleState:
            now = self._clock()
            state = counting(state, counts, profile.updated_microseconds, now)
            found = due(state, rule, now) if rule is not None else None
            if found is None or schedule is None:
                return state
            at, passed_over = found
            is_free = schedule.while_running == "start" or await self._running(state) is None
            return decided(
                state,
                at,
                run_of(profile.artifact_id, at),
                now,
                passed_over=passed_over,
                catch_up_seconds=schedule.catch_up_seconds,
                is_free=is_free,
            )

        state = await self._change(profile, decide)
        await self._open_claimed(tenant, profile)
        return rule.next_after(max(state.through, self._clock())) if rule is not None else None

    async def run_now(self, tenant: TenantId, profile: Profile, *, by: str, run: RunId | None = None) -> RunId:
        """Start what the schedule starts, at once and as it does, also while it is paused; accepted once this returns.

        Args:
            by: Name of the person who asks, for the list of what became of the schedule.
            run: Id of the run; the same one again changes nothing.

        Raises:
            ProfileHasNoSchedule: There is nothing to start.
            ScheduleStillRunning: An earlier run has not ended, and the schedule lets one run at a time.
            ScheduleStartInvalid: The blueprint is not started by what the schedule says.
        """
        schedule = profile.data.schedule
        if schedule is None:
            raise ProfileHasNoSchedule(profile.slug)
        start_of(schedule, profile.blueprint)
        named = run or RunId(new_id())

        async def decide(state: ScheduleState) -> ScheduleState:
            if any(each.run == named for each in state.recent):
                return state
            running = await self._running(state)
            if running is not None and schedule.while_running == "skip":
                raise ScheduleStillRunning(profile.slug, running)
            now = self._clock()
            return state.noted(Occurrence(now, "claimed", now, named, by=by))

        await self._change(profile, decide)
        await self._open_claimed(tenant, profile)
        return named

    async def dismiss(self, profile: Profile, run: str) -> None:
        """Put the failure of this run away, and those before it; what fails later is shown again."""

        async def decide(state: ScheduleState) -> ScheduleState:
            seen = [each.decided for each in state.recent if each.run == run]
            return replace(state, dismissed=max([state.dismissed, *seen]))

        await self._change(profile, decide)

    async def status(self, profile: Profile) -> ScheduleStatus:
        """A profile's schedule, and what became of its last occurrences.

        Raises:
            ProfileHasNoSchedule: It has none.
        """
        schedule = profile.data.schedule
        if schedule is None:
            raise ProfileHasNoSchedule(profile.slug)
        state, _ = await self._state(profile)
        found = [await self._records.get(each.run) for each in state.recent if each.run is not None]
        return ScheduleStatus(profile, schedule, state, {record.run: record for record in found if record is not None})

    # What is kept -----------------------------------------------------------------------------------------------------

    async def _state(self, profile: Profile) -> tuple[ScheduleState, int]:
        kept = await self._contexts.get(SCHEDULE, profile.artifact_id, STATE)
        return ScheduleState.read(kept.value), kept.version

    async def _change(
        self, profile: Profile, decide: Callable[[ScheduleState], Awaitable[ScheduleState]]
    ) -> ScheduleState:
        """Store what is decided on the state as it is now; where somebody else was first, decide anew."""
        for _ in range(MAX_TRIES):
            before, version = await self._state(profile)
            after = await decide(before)
            if after == before or await self._contexts.set(
                SCHEDULE, profile.artifact_id, STATE, after.write(), expected_version=version
            ):
                return after
        raise RuntimeFault(
            f"the schedule of {profile.slug!r} was changed by others {MAX_TRIES} times in a row.",
            what_to_do="Look at what else uses this storage.",
        )

    async def _settle(self, profile: Profile, claimed: Occurrence, became: Occurrence) -> None:
        async def decide(state: ScheduleState) -> ScheduleState:
            return state.settled(claimed, became)

        await self._change(profile, decide)

    async def _running(self, state: ScheduleState) -> str | None:
        """A run of the schedule that has not ended; None if there is none."""
        for each in state.recent:
            if each.run is None:
                continue
            record = await self._records.get(each.run)
            if record is not None and record.ended_microseconds is not None:
                continue
            entries = await self._journal.read(RunId(each.run))
            if each.outcome == "claimed" or (entries and not isinstance(entries[-1], journal.RunEnded)):
                return each.run
        return None

    # Opening ----------------------------------------------------------------------------------------------------------

    async def _open_claimed(self, tenant: TenantId, profile: Profile) -> None:
        """Open the runs that were decided on and are not known to be open; repeating it changes nothing."""
        state, _ = await self._state(profile)
        for each in state.recent:
            if each.outcome == "claimed" and each.run is not None:
                await self._settle(profile, each, await self._opened(tenant, profile, each, RunId(each.run)))

    async def _opened(self, tenant: TenantId, profile: Profile, claimed: Occurrence, run: RunId) -> Occurrence:
        """What becomes of a claimed occurrence: one found too late, after a crash, is missed and not run."""
        found = await self._journal.read(run)
        if found:
            if not isinstance(found[-1], journal.RunEnded):
                await self._queue.enqueue(run)  # whoever opened it may have died before that
            return replace(claimed, outcome="started")
        schedule, now = profile.data.schedule, self._clock()
        if schedule is None or is_late(claimed.at, now, schedule.catch_up_seconds):
            await self._records.forget(run)
            return replace(claimed, outcome="missed", run=None, decided=now)
        entries = await self._first_entries(tenant, profile, schedule, claimed, run)
        if isinstance(entries[-1], journal.RunEnded):
            with contextlib.suppress(JournalError):  # somebody else has opened it
                await self._journal.append(run, entries, expected_version=0, fence=0)
        else:
            await self._records.put(record_of(entries[0]))
            await open_run(self._journal, self._queue, run, entries)
        log.info("run %s is due by the schedule of %s", run, profile.slug)
        return replace(claimed, outcome="started")

    async def _first_entries(
        self, tenant: TenantId, profile: Profile, schedule: ProfileSchedule, claimed: Occurrence, run: RunId
    ) -> _FirstEntries:
        """What the run's journal begins with; one that cannot be run is recorded as failed."""
        now = self._clock()
        locale = schedule.locale or DEFAULT_LOCALE
        opened = journal.RunOpened(
            run=run,
            at=now,
            blueprint=profile.data.blueprint,
            fingerprint="",
            config=dict(profile.data.config),
            actor=SystemActor(name=f"schedule of {profile.slug}").model_dump(mode="json"),
            tenant=tenant,
            workspace=await self._profiles.home(tenant),
            profile=profile.slug,
            profile_name=profile.data.name.text(locale),
            profile_version=profile.version,
            profile_description=profile.data.description.text(locale),
            locale=locale,
            scheduled=claimed.at,
        )
        try:
            if profile.problem is not None:
                raise profile.problem
            start = start_of(schedule, profile.blueprint)
        except PlanwerkError as error:
            first = (opened, journal.EventPublished(StartEvent(), journal.BY_POSITION, now))
            return (*first, *closing_entries(first, exception_event(error_info(error)), now))
        opened.fingerprint = compose(profile.blueprint, type(start)).fingerprint
        return opened, journal.EventPublished(start, journal.BY_POSITION, now)


class Scheduler:
    """Looks at all schedules when one is due and when profiles change; one process at a time (`ownership.py`)."""

    cursor_name: str = CURSOR

    def __init__(
        self,
        schedules: Schedules,
        profiles: ProfileDirectory,
        workspaces: Workspaces,
        *,
        tenants: Sequence[TenantId],
        clock: Clock,
    ) -> None:
        self._schedules = schedules
        self._profiles = profiles
        self._workspaces = workspaces
        self._tenants = tenants
        self._clock = clock
        self._next: dict[str, tuple[int, int | None]] = {}
        """When to look next at a profile of this id, and at which of its versions that was found out."""

    def own(self, fence: int | None) -> None:
        """Look at everything anew: another process may have decided since. What is stored is guarded by itself."""
        self._next.clear()

    async def run(self) -> None:
        """Look until cancelled; an error is logged and tried again."""
        wait = FIRST_RETRY_SECONDS
        while True:
            try:
                async with aclosing(self._workspaces.changes()) as changes, _Noticing(changes) as noticing:
                    while True:
                        until = await self.look()
                        wait = FIRST_RETRY_SECONDS
                        due_in = LONGEST_WAIT_SECONDS if until is None else (until - self._clock()) / 1e6
                        await noticing.wait(min(max(due_in, 0), LONGEST_WAIT_SECONDS))
            except asyncio.CancelledError:
                raise
            except Exception:
                log.exception("schedules could not be looked at; trying again in %g s", wait)
                await asyncio.sleep(wait)
                wait = min(wait * 2, LONGEST_RETRY_SECONDS)

    async def look(self) -> int | None:
        """Do what is due of all profiles; when the next will be, None if none ever will."""
        before, self._next = self._next, {}
        for tenant in self._tenants:
            for profile in await self._profiles.all(tenant):
                version, until = before.get(profile.artifact_id, (0, None))
                if version != profile.version or (until is not None and until <= self._clock()):
                    until = await self._look_at(tenant, profile)
                self._next[profile.artifact_id] = profile.version, until
        return min((until for _, until in self._next.values() if until is not None), default=None)

    async def _look_at(self, tenant: TenantId, profile: Profile) -> int | None:
        """One that cannot be read holds up no other; its page says what is wrong."""
        try:
            return await self._schedules.look(tenant, profile)
        except ScheduleInvalid as error:
            log.warning("the schedule of profile %s is not kept: %s", profile.slug, error)
            return None


class _Noticing:
    """Waits for the next of some changes, or some time; what comes between two waits is not missed."""

    def __init__(self, changes: AsyncGenerator[None]) -> None:
        self._changes = changes
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._task = asyncio.get_running_loop().create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _watch(self) -> None:
        try:
            async for _ in self._changes:
                self._changed.set()
        finally:
            self._changed.set()

    async def wait(self, seconds: float) -> None:
        """Return after this time, or once something has changed since the last call.

        Raises:
            Exception: What ended the changes.
        """
        # Not `wait_for`: in Python 3.11 it swallows a cancellation that comes together with a change.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        self._changed.clear()
        if self._task.done():
            self._task.result()
            raise RuntimeError("nobody tells of changes any more")
