"""The memories that a run may use: those of the person it works for, and those of the organisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from planwerk.capabilities.memory.ports import MemoryQuery, MemoryScope, MemoryStore, StoredMemory
from planwerk.runtime.agents import asker_of
from planwerk.runtime.execution import ExecutionContext
from planwerk.runtime.ports import Clock
from planwerk.workflow.injection import injectable


@injectable
@dataclass(frozen=True, slots=True)
class Memories:
    """A store in the hands of one execution.

    Attributes:
        account: Of the person with whose rights the run works; None where nobody is identified. What a start event
            says of its user does not count: a client can write that.
        origin_run: The run in which was said what is remembered: this one, or the one that started it.
    """

    store: MemoryStore
    tenant: str
    account: str | None
    origin_run: str
    clock: Clock

    @property
    def user(self) -> MemoryScope | None:
        """The person's memories; None where nobody is identified."""
        return MemoryScope.of_user(self.tenant, self.account) if self.account is not None else None

    async def of_user(self, queries: Sequence[str], *, limit: int) -> list[StoredMemory]:
        """Of the person's memories those that fit best, then those changed last, as many as may be.

        A few facts about a person are worth their place even where no word is in common: who asks how to *commute* is
        helped by knowing that she never *drives*.
        """
        scope = self.user
        if scope is None:
            return []
        found = await self.store.search([scope], _queries(queries), limit=limit)
        known = {memory.id for memory in found}
        newest = await self.store.newest(scope, limit=limit)
        return [*found, *(memory for memory in newest if memory.id not in known)][:limit]

    async def of_organization(
        self, namespaces: Sequence[str], queries: Sequence[str], *, limit: int
    ) -> list[StoredMemory]:
        """What the organisation keeps under these names and fits best."""
        scopes = [MemoryScope.of_organization(self.tenant, namespace) for namespace in namespaces]
        return await self.store.search(scopes, _queries(queries), limit=limit)


def _queries(texts: Sequence[str]) -> list[MemoryQuery]:
    return [MemoryQuery(text) for text in dict.fromkeys(texts)]


def memories_from(store: MemoryStore, clock: Clock) -> Callable[[ExecutionContext], Memories]:
    """The provider of `Memories` over this store."""

    def provide(context: ExecutionContext) -> Memories:
        opened = context.run
        asker = asker_of(opened)
        account = str(asker["id"]) if asker.get("kind") == "user" else None
        return Memories(store, opened.tenant, account, opened.parent or opened.run, clock)

    return provide
