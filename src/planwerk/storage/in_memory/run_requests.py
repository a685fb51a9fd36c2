"""Requests to people in this process."""

from __future__ import annotations

from collections.abc import Collection

from planwerk.runtime.ports import NEVER, RequestRecord


class InMemoryRunRequests:
    """Port `RunRequests`."""

    def __init__(self) -> None:
        self._records: dict[str, RequestRecord] = {}
        self._by_run: dict[str, dict[str, None]] = {}
        self._waiting: dict[str, dict[str, None]] = {}
        self._answered: dict[str, dict[str, None]] = {}

    async def put(self, record: RequestRecord) -> None:
        earlier = self._records.get(record.id)
        if earlier is not None:
            self._unlist(earlier)
        self._records[record.id] = record
        self._by_run.setdefault(record.run, {})[record.id] = None
        if record.waits_for is not None:
            self._waiting.setdefault(record.waits_for, {})[record.id] = None
        if record.answered_at is not None:
            self._answered.setdefault(record.answered_at, {})[record.id] = None

    async def get(self, request: str) -> RequestRecord | None:
        return self._records.get(request)

    async def of_run(self, run: str) -> list[RequestRecord]:
        found = (self._records[request] for request in self._by_run.get(run, {}))
        return sorted(found, key=lambda record: record.position)

    async def waiting(
        self,
        places: Collection[str],
        *,
        now_microseconds: int,
        after: tuple[int, str] | None = None,
        limit: int = 50,
    ) -> list[RequestRecord]:
        found = (self._records[request] for place in places for request in self._waiting.get(place, {}))
        upcoming = (record for record in found if due_of(record) > now_microseconds)
        listed = sorted(upcoming, key=lambda record: (due_of(record), record.id))
        return [record for record in listed if after is None or (due_of(record), record.id) > after][:limit]

    async def answered(
        self, places: Collection[str], *, before: tuple[int, str] | None = None, limit: int = 50
    ) -> list[RequestRecord]:
        found = (self._records[request] for place in places for request in self._answered.get(place, {}))
        listed = sorted(found, key=lambda record: (closed_of(record), record.id), reverse=True)
        return [record for record in listed if before is None or (closed_of(record), record.id) < before][:limit]

    async def forget(self, run: str) -> None:
        for request in self._by_run.pop(run, {}):
            self._unlist(self._records.pop(request))

    def _unlist(self, record: RequestRecord) -> None:
        if record.waits_for is not None:
            self._waiting.get(record.waits_for, {}).pop(record.id, None)
        if record.answered_at is not None:
            self._answered.get(record.answered_at, {}).pop(record.id, None)


def due_of(record: RequestRecord) -> int:
    """When it times out; far away where it never does."""
    return NEVER if record.expires_microseconds is None else record.expires_microseconds


def closed_of(record: RequestRecord) -> int:
    """When it was closed; the beginning of time where that is not known."""
    return record.closed_microseconds or 0
