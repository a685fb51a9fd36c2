"""Tells everybody who follows a store that something may have been committed (A6).

Commits of this process wake at once. Those of other processes are found by one poller for all followers, which runs
only while somebody follows.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Final

POLL_SECONDS: Final = 0.1


class WakeUps:
    """Followers of one store.

    Args:
        version: A number that differs after another process committed; None where there is no other process.
    """

    def __init__(self, version: Callable[[], int] | None = None, *, poll_seconds: float = POLL_SECONDS) -> None:
        self._version = version
        self._poll_seconds = poll_seconds
        self._followers: dict[str | None, set[asyncio.Event]] = {}
        self._poller: asyncio.Task[None] | None = None

    def wake(self, topic: str | None = None) -> None:
        """Something was committed; with a topic, only those who follow it or everything are woken."""
        topics = self._followers if topic is None else (topic, None)
        for name in topics:
            for follower in self._followers.get(name, ()):
                follower.set()

    async def follow(self, topic: str | None = None) -> AsyncGenerator[None]:
        """One item at once, and one whenever something may have been committed since the last.

        Args:
            topic: What to follow alone, such as one run; None is everything.
        """
        changed = asyncio.Event()
        changed.set()
        self._followers.setdefault(topic, set()).add(changed)
        self._poll_while_followed()
        try:
            while True:
                await changed.wait()
                changed.clear()
                yield
        finally:
            self._followers[topic].discard(changed)
            if not self._followers[topic]:
                del self._followers[topic]
            if not self._followers:
                self.close()

    def close(self) -> None:
        """End the polling; followers of this process are still woken by its own commits."""
        if self._poller is not None:
            self._poller.cancel()
            self._poller = None

    def _poll_while_followed(self) -> None:
        if self._version is not None and (self._poller is None or self._poller.done()):
            self._poller = asyncio.get_running_loop().create_task(self._poll(self._version, self._version()))

    async def _poll(self, version: Callable[[], int], seen: int) -> None:
        while True:
            await asyncio.sleep(self._poll_seconds)
            now = version()
            if now != seen:
                seen = now
                self.wake()
