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

    async def put(self, record: RequestRecord) -> None:
        earlier = self._records.get(record.id)
        if earlier is not None and earlier.waits_for is not None:
            self._waiting.get(earlier.waits_for, {}).pop(record.id, None)
        self._records[record.id] = record
        self._by_run.setdefault(record.run, {})[record.id] = None
        if record.waits_for is not None:
            self._waiting.setdefault(record.waits_for, {})[record.id] = None

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

    async def forget(self, run: str) -> None:
        for request in self._by_run.pop(run, {}):
            record = self._records.pop(request)
            if record.waits_for is not None:
                self._waiting.get(record.waits_for, {}).pop(request, None)


def due_of(record: RequestRecord) -> int:
    """When it times out; far away where it never does."""
    return NEVER if record.expires_microseconds is None else record.expires_microseconds
