"""Memories in this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planwerk.capabilities.memory.errors import MemoryFull
from planwerk.capabilities.memory.ports import (
    MOST_IN_SCOPE,
    MOST_SUPERSEDED,
    MemoryPlace,
    MemoryQuery,
    MemoryScope,
    StoredMemory,
)
from planwerk.storage.memory_search import Parts, fold, fused, query_words, words_in_common, words_of


class InMemoryMemories:
    """Port `MemoryStore`."""

    def __init__(self) -> None:
        self._memories: dict[MemoryScope, dict[str, StoredMemory]] = {}

    async def search(
        self, scopes: Sequence[MemoryScope], queries: Sequence[MemoryQuery], *, limit: int
    ) -> list[StoredMemory]:
        current = {memory.id: memory for scope in dict.fromkeys(scopes) for memory in self._current(scope)}
        folded = {identity: fold(memory.text) for identity, memory in current.items()}
        rankings: list[list[str]] = []
        for query in queries:
            wanted = query_words(query.text)
            parts = Parts(wanted)
            rankings += [
                sorted(filter(fits.get, fits), key=fits.__getitem__, reverse=True)
                for fits in (
                    {identity: words_in_common(wanted, words_of(text)) for identity, text in folded.items()},
                    {identity: parts.shared_with(text) for identity, text in folded.items()},
                )
            ]
        return [current[identity] for identity in fused(rankings)[:limit]]

    async def newest(
        self,
        scope: MemoryScope,
        *,
        before: MemoryPlace | None = None,
        limit: int = 50,
        with_superseded: bool = False,
    ) -> list[StoredMemory]:
        found = list(self._memories.get(scope, {}).values()) if with_superseded else self._current(scope)
        found.sort(key=lambda memory: memory.place, reverse=True)
        return [memory for memory in found if before is None or memory.place < before][:limit]

    async def get(self, scope: MemoryScope, memory: str) -> StoredMemory | None:
        return self._memories.get(scope, {}).get(memory)

    async def count(self, scope: MemoryScope) -> int:
        return len(self._current(scope))

    async def add(self, memory: StoredMemory) -> bool:
        if self._is_known(memory.id):
            return False
        if len(self._current(memory.scope)) >= MOST_IN_SCOPE:
            raise MemoryFull(MOST_IN_SCOPE)
        self._memories.setdefault(memory.scope, {})[memory.id] = memory
        return True

    async def supersede(self, memory: str, new: StoredMemory) -> bool:
        held = self._memories.get(new.scope, {})
        old = held.get(memory)
        if old is None or old.superseded_by is not None or self._is_known(new.id):
            return False
        held[memory] = replace(old, superseded_by=new.id)
        held[new.id] = new
        self._prune(new.scope)
        return True

    async def edit(self, scope: MemoryScope, memory: str, text: str, *, now_microseconds: int) -> StoredMemory | None:
        old = self._memories.get(scope, {}).get(memory)
        if old is None or old.superseded_by is not None:
            return None
        edited = replace(old, text=text, updated_microseconds=now_microseconds)
        self._memories[scope][memory] = edited
        return edited

    async def delete(self, scope: MemoryScope, memory: str) -> bool:
        held = self._memories.get(scope, {})
        if memory not in held:
            return False
        going = [memory]
        for identity in going:
            going += [other.id for other in held.values() if other.superseded_by == identity]
            del held[identity]
        return True

    async def clear(self, scope: MemoryScope) -> int:
        count = len(self._current(scope))
        self._memories.pop(scope, None)
        return count

    async def namespaces(self, tenant: str) -> dict[str, int]:
        found = {
            scope.owner: len(self._current(scope))
            for scope in self._memories
            if scope.tenant == tenant and scope.kind == "organization"
        }
        return {name: found[name] for name in sorted(found) if found[name]}

    def _current(self, scope: MemoryScope) -> list[StoredMemory]:
        """Those that nothing took the place of, changed last first."""
        found = [memory for memory in self._memories.get(scope, {}).values() if memory.superseded_by is None]
        return sorted(found, key=lambda memory: memory.place, reverse=True)

    def _is_known(self, memory: str) -> bool:
        return any(memory in held for held in self._memories.values())

    def _prune(self, scope: MemoryScope) -> None:
        held = self._memories[scope]
        superseded = sorted(
            (memory for memory in held.values() if memory.superseded_by is not None), key=lambda memory: memory.place
        )
        for memory in superseded[: max(0, len(superseded) - MOST_SUPERSEDED)]:
            del held[memory.id]
