"""What one run asks other agents for: whose runs are still to be opened, and whose are to be stopped (E8.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from planwerk.workflow import entries as journal
from planwerk.workflow.agents import AgentInTheLoop
from planwerk.workflow.schedule import RunSchedule


class AgentRequests:
    """Kept by the run's driver; worked off, once it is durable, by `Children` or by a test runner."""

    def __init__(self, schedule: RunSchedule) -> None:
        self._schedule = schedule
        self._noted: list[int] = []
        self._timed_out: list[journal.EventPublished] = []
        """Both not durable yet."""
        self.asked: list[int] = []
        """Positions of requests whose runs are to be opened."""
        self.overdue: list[journal.EventPublished] = []
        """Requests that were waited for too long: their runs are to be stopped."""
        self.found: set[int] = set()
        """Positions of requests that this owner has found open: their runs may be there already."""
        self.any = False
        """Whether the run has asked an agent for anything."""
        self.task: asyncio.Task[None] | None = None
        """What opens and stops runs just now."""

    def note(self, position: int) -> None:
        """A request was recorded at this position."""
        opened = self._schedule.requests.get(position)
        if opened is not None and isinstance(opened.entry.event, AgentInTheLoop):
            self.any = True
            self._noted.append(position)

    def read_back(self, found: Sequence[journal.Entry]) -> None:
        """A new owner has folded this journal: what its predecessor had to do may be done, or not."""
        for position in self._schedule.requests:
            self.note(position)
        self.found.update(self._noted)
        still_open = {self._schedule.requests[position].entry.id for position in self._noted}
        left = [request for request in requests_left(found) if request.id not in still_open]
        self.any = self.any or bool(left)
        self._timed_out += left

    def timed_out(self, request: journal.EventPublished) -> None:
        """The request is answered by its time being over."""
        if isinstance(request.event, AgentInTheLoop):
            self._timed_out.append(request)

    def are_durable(self) -> None:
        """All that was recorded so far is durable."""
        self.asked += self._noted
        self.overdue += self._timed_out
        self._noted.clear()
        self._timed_out.clear()

    @property
    def has_work(self) -> bool:
        """Whether runs are to be opened or stopped."""
        return bool(self.asked or self.overdue)

    @property
    def is_busy(self) -> bool:
        """Whether the run may not leave memory yet: another owner would not know what is still to be done."""
        return bool(self._noted or self._timed_out or self.has_work) or self.task is not None

    def left(self) -> list[journal.EventPublished]:
        """Requests whose runs may still be there: those that are open, and those waited for too long."""
        unanswered = [opened.entry for opened in self._schedule.requests.values()]
        return [
            *(request for request in unanswered if isinstance(request.event, AgentInTheLoop)),
            *self._timed_out,
            *self.overdue,
        ]


def requests_left(found: Sequence[journal.Entry]) -> list[journal.EventPublished]:
    """Requests of a journal whose runs may still be there: those without an answer, and those that timed out."""
    asked: dict[int, journal.EventPublished] = {}
    for position, entry in enumerate(found, 1):
        if not isinstance(entry, journal.EventPublished) or entry.discarded:
            continue
        if isinstance(entry.event, AgentInTheLoop):
            asked[position] = entry
        elif entry.answers is not None and entry.answers in asked:
            request = asked[entry.answers].event
            if not isinstance(request, AgentInTheLoop) or type(entry.event) is not request.timed_out():
                del asked[entry.answers]
    return list(asked.values())
