"""The open requests of one run by the time at which they are answered by themselves, and the alarm for the first."""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from planwerk.runtime.errors import RunLost
from planwerk.runtime.ports import Clock
from planwerk.workflow.requests import OutsideRequest
from planwerk.workflow.schedule import RunSchedule

Answer = Callable[[], Awaitable[None]]

log = logging.getLogger(__name__)

CLOCK_MICROSECONDS: Final = 1_000
"""How much earlier than the clock a timer of the loop may go off."""
LOOK_AGAIN_SECONDS: Final = 1.0
"""Before requests are answered after all, where it could not be seen whether an answer was on its way."""


class DueRequests:
    """Rings when a request is due.

    Args:
        schedule: Knows which requests are open.
    """

    def __init__(self, schedule: RunSchedule, clock: Clock) -> None:
        self._schedule = schedule
        self._clock = clock
        self._times: list[tuple[int, int]] = []
        self._handle: asyncio.TimerHandle | None = None
        self._set_for: int | None = None
        self._cancelled = False
        self.task: asyncio.Task[None] | None = None
        """What answers just now."""

    def note(self, position: int) -> None:
        """A request was opened at this position, or is found open."""
        opened = self._schedule.requests.get(position)
        if opened is not None and isinstance(opened.entry.event, OutsideRequest):
            due = opened.entry.event.due_microseconds(opened.entry.at)
            if due is not None:
                heapq.heappush(self._times, (due, position))

    @property
    def next_due(self) -> int | None:
        """When the first of the open requests is due, in microseconds since the epoch; None if never."""
        while self._times and self._times[0][1] not in self._schedule.requests:
            heapq.heappop(self._times)
        return self._times[0][0] if self._times else None

    def overdue(self) -> int | None:
        """Position of the open request that has been due for longest; None if none is due yet."""
        due = self.next_due
        return self._times[0][1] if due is not None and due <= self._clock() + CLOCK_MICROSECONDS else None

    def set_alarm(self, answer: Answer) -> None:
        """Ring at the time of the first, if that is not what the alarm is set for.

        Args:
            answer: Answers what is due then; called in a task of its own, and again soon if it raises.
        """
        due = self.next_due
        if due == self._set_for or self.task is not None or self._cancelled:
            return
        self._unset()
        if due is not None:
            self._set_for = due
            self._handle = asyncio.get_running_loop().call_later(max(due - self._clock(), 0) / 1e6, self._ring, answer)

    def cancel(self) -> None:
        """Never ring again; what answers just now is the caller's to cancel."""
        self._cancelled = True
        self._unset()

    def _unset(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._handle = self._set_for = None

    def _ring(self, answer: Answer) -> None:
        self._handle = self._set_for = None
        self.task = asyncio.get_running_loop().create_task(self._ringing(answer))

    async def _ringing(self, answer: Answer) -> None:
        try:
            await answer()
        except RunLost:
            self.task = None
        except Exception:
            log.exception("what a run waits for could not be looked at; looking again soon")
            self.task = None
            if not self._cancelled:
                self._handle = asyncio.get_running_loop().call_later(LOOK_AGAIN_SECONDS, self._ring, answer)
        else:
            self.task = None
            self.set_alarm(answer)
