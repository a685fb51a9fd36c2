"""Journals in this process; entries are kept as objects, nothing is serialised."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

from planwerk.runtime.errors import StaleFence, StaleVersion
from planwerk.runtime.ports import FeedItem
from planwerk.workflow.entries import Entry, RunEnded
from planwerk.workflow.ids import RunId


class InMemoryJournal:
    """Port `Journal`, for tests, benchmarks and servers that keep nothing."""

    def __init__(self) -> None:
        self._runs: dict[RunId, list[Entry]] = {}
        self._fences: dict[RunId, int] = {}
        self._feed: list[tuple[RunId, int, int]] = []
        """Per append its run, and the run's version before and after; its place in the feed is its index + 1."""
        self._waiting: list[asyncio.Future[None]] = []

    async def append(self, run: RunId, entries: Sequence[Entry], *, expected_version: int, fence: int) -> int:
        kept = self._runs.get(run)
        if kept is None:
            kept = self._runs[run] = []
        current = self._fences.get(run, 0)
        if fence < current:
            raise StaleFence(run, carried=fence, current=current)
        if len(kept) != expected_version:
            raise StaleVersion(run, expected=expected_version, current=len(kept))
        if fence > current:
            self._fences[run] = fence
        kept.extend(entries)
        version = len(kept)
        self._feed.append((run, expected_version, version))
        if self._waiting:
            self._wake()
        return version

    async def read(self, run: RunId, after: int = 0) -> list[Entry]:
        return self._runs.get(run, [])[after:]

    async def forget(self, run: RunId) -> None:
        self._runs.pop(run, None)
        self._fences.pop(run, None)

    async def follow(self, run: RunId, after: int = 0) -> AsyncGenerator[tuple[int, Entry]]:
        while True:
            changed = self._change()
            kept = self._runs.get(run, [])
            while after < len(kept):
                entry = kept[after]
                after += 1
                yield after, entry
                if isinstance(entry, RunEnded):
                    return
            await changed

    async def feed(self, after: int, limit: int = 100) -> list[FeedItem]:
        found: list[FeedItem] = []
        for place in range(after, len(self._feed)):
            run, first, last = self._feed[place]
            kept = self._runs.get(run)
            if kept is not None:
                found.append(FeedItem(place + 1, run, first + 1, kept[first:last]))
                if len(found) == limit:
                    break
        return found

    async def changes(self) -> AsyncGenerator[None]:
        while True:
            changed = self._change()
            yield None
            await changed

    def _change(self) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        return future

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)
