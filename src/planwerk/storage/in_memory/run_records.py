"""Summaries of runs in this process."""

from __future__ import annotations

from planwerk.runtime.ports import ANY_RUN, RecordPlace, RunFilter, RunRecord


class InMemoryRunRecords:
    """Port `RunRecords`."""

    def __init__(self) -> None:
        self._records: dict[str, RunRecord] = {}

    async def put(self, record: RunRecord) -> None:
        known = self._records.get(record.run)
        if known is None or known.ended_microseconds is None or record.ended_microseconds is not None:
            self._records[record.run] = record

    async def get(self, run: str) -> RunRecord | None:
        return self._records.get(run)

    async def of_thread(self, tenant: str, thread: str) -> list[RunRecord]:
        found = [record for record in self._records.values() if (record.tenant, record.thread) == (tenant, thread)]
        return sorted(found, key=_started)

    async def expired(self, now_microseconds: int, limit: int = 100) -> list[str]:
        found = [
            record.run
            for record in self._records.values()
            if record.expires_microseconds is not None
            and record.expires_microseconds <= now_microseconds
            and record.ended_microseconds is not None
        ]
        return found[:limit]

    async def forget(self, run: str) -> None:
        self._records.pop(run, None)

    async def newest(
        self, tenant: str, wanted: RunFilter = ANY_RUN, *, before: RecordPlace | None = None, limit: int = 50
    ) -> list[RunRecord]:
        found = [
            record
            for record in self._records.values()
            if record.tenant == tenant and _fits(record, wanted) and (before is None or record.place < before)
        ]
        return sorted(found, key=_started, reverse=True)[:limit]


def _fits(record: RunRecord, wanted: RunFilter) -> bool:
    return (
        wanted.owner in {None, record.owner}
        and (wanted.statuses is None or record.status in wanted.statuses)
        and wanted.profile in {None, record.profile}
        and wanted.thread in {None, record.thread}
        and wanted.workspace in {None, record.workspace}
        and (not wanted.is_scheduled or (record.owner is None and record.scheduled_microseconds is not None))
    )


def _started(record: RunRecord) -> RecordPlace:
    return record.place
