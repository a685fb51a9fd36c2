"""One process of an installation at a time runs the starter, and one the projector: a lease, with takeover (E7.9).

The others stand by and look about once a second. The lease has a fence, and the service moves its cursor under that
fence: one that was stopped for longer than its lease moves nothing any more when it wakes, whatever it believes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final, Protocol

from planwerk.runtime.ports import Clock
from planwerk.workspace.ports import CursorLease, Storage

log = logging.getLogger(__name__)

LEASE_SECONDS: Final = 15.0
"""How long a service stays with a process that has stopped answering; the lease is renewed after a third of that."""
STANDBY_SECONDS: Final = 1.0
"""How often a process that stands by looks whether it is needed."""


class Service(Protocol):
    """What only one process runs; `starter` and `projector` are such."""

    cursor_name: str

    def own(self, fence: int | None) -> None:
        """Move the cursor under this fence from now on; None is "no longer"."""
        ...

    async def run(self) -> None:
        """Work until cancelled."""
        ...


class SoleOwner:
    """Runs a service while this process owns it.

    Args:
        name: Names this process; see `worker.is_dead`.
        is_dead: Whether the process of that name is known to be gone, so that its lease need not lapse.
    """

    def __init__(
        self,
        service: Service,
        storage: Storage,
        *,
        name: str,
        clock: Clock,
        is_dead: Callable[[str], bool],
        lease_seconds: float = LEASE_SECONDS,
        standby_seconds: float = STANDBY_SECONDS,
    ) -> None:
        self._service = service
        self._storage = storage
        self._name = name
        self._clock = clock
        self._is_dead = is_dead
        self._lease_microseconds = int(lease_seconds * 1e6)
        self._standby_seconds = standby_seconds
        self.is_owner = False

    async def run(self) -> None:
        """Own the service whenever nobody else does, until cancelled."""
        while True:
            lease = await self._wait_for_lease()
            self._service.own(lease.fence)
            self.is_owner = True
            working = asyncio.get_running_loop().create_task(self._service.run())
            try:
                await self._keep(lease)
                log.warning("the %s has passed to another process", lease.name)
            finally:
                self.is_owner = False
                working.cancel()
                await asyncio.wait([working])
                await self._release(lease)
                self._service.own(None)

    async def _wait_for_lease(self) -> CursorLease:
        name, waited = self._service.cursor_name, False
        while True:
            try:
                holder = await self._storage.cursor_owner(name)
                heir_of = holder if holder is not None and self._is_dead(holder) else None
                lease = await self._storage.lease_cursor(
                    name,
                    self._name,
                    now_microseconds=self._clock(),
                    lease_microseconds=self._lease_microseconds,
                    heir_of=heir_of,
                )
                if lease is not None:
                    if waited:
                        log.info("the %s is taken over from %s", name, holder)
                    return lease
            except asyncio.CancelledError:
                raise
            except Exception:
                log.exception("the lease of the %s could not be asked for", name)
            waited = True
            await asyncio.sleep(self._standby_seconds)

    async def _keep(self, lease: CursorLease) -> None:
        """Renew the lease; returns once it has passed on, or may have."""
        kept: CursorLease | None = lease
        while kept is not None:
            await asyncio.sleep(self._lease_microseconds / 3e6)
            try:
                kept = await self._storage.renew_cursor(
                    kept, until_microseconds=self._clock() + self._lease_microseconds
                )
            except asyncio.CancelledError:
                raise
            except Exception:
                log.exception("the lease of the %s could not be renewed", lease.name)
                if self._clock() >= kept.until_microseconds:
                    return

    async def _release(self, lease: CursorLease) -> None:
        try:
            await self._storage.release_cursor(lease)
        except Exception:
            log.exception("the %s could not be given back; its lease lapses", lease.name)
