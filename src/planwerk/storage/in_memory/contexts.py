"""Run and thread contexts in this process."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

from planwerk.runtime.ports import ContextValue
from planwerk.storage.wakeups import WakeUps


class InMemoryContexts:
    """Port `ContextStore`."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], dict[str, tuple[str, int]]] = {}
        """As JSON text, so that nobody changes a stored value by its object."""

    async def get(self, scope: str, owner: str, key: str) -> ContextValue:
        text, version = self._values.get((scope, owner), {}).get(key, ("null", 0))
        return ContextValue(json.loads(text), version)

    async def set(self, scope: str, owner: str, key: str, value: Any, *, expected_version: int | None = None) -> bool:
        text = json.dumps(value, ensure_ascii=False)
        kept = self._values.setdefault((scope, owner), {})
        version = kept[key][1] if key in kept else 0
        if expected_version is not None and expected_version != version:
            return False
        kept[key] = (text, version + 1)
        return True

    async def forget(self, scope: str, owner: str) -> None:
        self._values.pop((scope, owner), None)

    async def owners(self, scope: str, key: str) -> dict[str, Any]:
        kept = {owner: values for (named, owner), values in self._values.items() if named == scope}
        return {owner: json.loads(values[key][0]) for owner, values in kept.items() if key in values}

    def foreign_changes(self) -> AsyncGenerator[None]:
        return WakeUps().follow()  # there is no other process: after the first item nothing comes
