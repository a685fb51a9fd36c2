"""Counters and flags of a run and of a thread (E9). Data flows between steps by events; these are for the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from planwerk.runtime.errors import RuntimeFault
from planwerk.runtime.ports import ContextStore
from planwerk.workflow.injection import injectable

MAX_TRIES: Final = 100


class NotANumber(RuntimeFault):
    """A counter holds something that is no number (E9.1)."""

    code = "context_not_a_number"
    http_status = 409

    def __init__(self, key: str, value: object) -> None:
        super().__init__(
            f"the context value {key!r} is {value!r}, which cannot be incremented (E9.1).",
            what_to_do="Use another key for the counter, or set it to a number first.",
        )


class ContentionTooHigh(RuntimeFault):
    """A context value changed under each of many tries to change it."""

    code = "context_contention"
    http_status = 503


class _Context:
    """JSON values by key, changed by compare-and-set."""

    _scope: str

    def __init__(self, store: ContextStore, owner: str) -> None:
        self._store = store
        self._owner = owner

    async def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or the default if none is set."""
        found = await self._store.get(self._scope, self._owner, key)
        return found.value if found.version else default

    async def set(self, key: str, value: Any) -> None:
        """Set a key to a JSON value."""
        await self._store.set(self._scope, self._owner, key, value)

    async def increment(self, key: str, by: int = 1) -> int:
        """Add to a counter, from 0 if it is not set, and return it.

        Raises:
            NotANumber: The key holds something else.
        """

        def add(value: Any) -> int:
            if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
                raise NotANumber(key, value)
            return (value or 0) + by

        return await self.update(key, add)

    async def update(self, key: str, change: Callable[[Any], Any]) -> Any:
        """Replace a value by what `change` makes of it (None if it is not set), and return that.

        `change` is called again when somebody else was faster, so it must have no effects.
        """
        for _ in range(MAX_TRIES):
            found = await self._store.get(self._scope, self._owner, key)
            changed = change(found.value if found.version else None)
            if await self._store.set(self._scope, self._owner, key, changed, expected_version=found.version):
                return changed
        raise ContentionTooHigh(
            f"the context value {key!r} changed under each of {MAX_TRIES} tries (E9.1).",
            what_to_do="Let fewer steps write the same key.",
        )


def thread_owner(run: str, thread: str | None) -> str:
    """Whose thread context a run has: its thread's, or one of its own, so that steps need not tell the cases apart."""
    return thread or f"run:{run}"


@injectable
class RunContext(_Context):
    """Values of one run; they end with it."""

    _scope = "run"


@injectable
class ThreadContext(_Context):
    """Values of one thread; they live as long as it does."""

    _scope = "thread"
