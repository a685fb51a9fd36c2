"""Run and thread contexts in this process."""

from __future__ import annotations

from typing import Any

from planwerk.runtime.ports import ContextValue


class InMemoryContexts:
    """Port `ContextStore`."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], dict[str, ContextValue]] = {}

    async def get(self, scope: str, owner: str, key: str) -> ContextValue:
        return self._values.get((scope, owner), {}).get(key, ContextValue(None, 0))

    async def set(self, scope: str, owner: str, key: str, value: Any, *, expected_version: int | None = None) -> bool:
        kept = self._values.setdefault((scope, owner), {})
        version = kept[key].version if key in kept else 0
        if expected_version is not None and expected_version != version:
            return False
        kept[key] = ContextValue(value, version + 1)
        return True

    async def forget(self, scope: str, owner: str) -> None:
        self._values.pop((scope, owner), None)
