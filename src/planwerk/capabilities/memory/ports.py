"""What the memory needs stored: `storage` has an adapter in memory and one on SQLite (C2.4)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, Self

from planwerk.capabilities.memory.errors import MemoryScopeInvalid, MemoryTextInvalid

MOST_CHARACTERS: Final = 2_000
MOST_IN_SCOPE: Final = 500
"""Memories of one person; an organisation's namespace holds as many."""
MOST_SUPERSEDED: Final = 200
"""Of those a person has, how many that were replaced are kept; the oldest give way."""
NAMESPACE: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"

ScopeKind = Literal["user", "organization"]


@dataclass(frozen=True, slots=True)
class MemoryScope:
    """Whose memories: one person's, or one namespace of an organisation. Nothing reaches across scopes.

    Attributes:
        owner: The account's id, or the namespace.

    Raises:
        MemoryScopeInvalid: It names nobody, or is meant for everybody.
    """

    tenant: str
    kind: ScopeKind
    owner: str

    def __post_init__(self) -> None:
        named = self.owner if isinstance(self.owner, str) else ""  # pyright: ignore[reportUnnecessaryIsInstance] - CAP-13: a caller that lost its user
        is_named = re.fullmatch(NAMESPACE, named) is not None if self.kind == "organization" else _is_one(named)
        if not is_named or not _is_one(self.tenant):
            raise MemoryScopeInvalid(self.kind, self.owner)

    @classmethod
    def of_user(cls, tenant: str, account: str) -> Self:
        """What is remembered about a person; only she reads it."""
        return cls(tenant, "user", account)

    @classmethod
    def of_organization(cls, tenant: str, namespace: str) -> Self:
        """What an organisation keeps under a name."""
        return cls(tenant, "organization", namespace)


def _is_one(name: str) -> bool:
    return bool(name.strip()) and "*" not in name and "%" not in name


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """One thing that is remembered."""

    id: str
    scope: MemoryScope
    text: str
    created_microseconds: int
    updated_microseconds: int
    source_run: str | None = None
    """The run in which it was said."""
    author: str | None = None
    """The account that wrote it down; None where it was inferred from a conversation."""
    superseded_by: str | None = None
    """The memory that took its place: it is kept, and neither recalled nor listed (CAP-15)."""

    @property
    def place(self) -> MemoryPlace:
        """Where it stands among those of its scope."""
        return self.updated_microseconds, self.id


MemoryPlace = tuple[int, str]


def checked_text(text: str, *, most: int = MOST_CHARACTERS) -> str:
    """The text without blanks around it.

    Raises:
        MemoryTextInvalid: It is blank, or longer than `most` characters.
    """
    bare = text.strip()
    if not bare or len(bare) > most:
        raise MemoryTextInvalid(len(bare), most)
    return bare


@dataclass(frozen=True, slots=True)
class MemoryQuery:
    """What to look for: words, and where an embedder is configured what they mean as a vector."""

    text: str
    vector: Sequence[float] | None = None
    """Unit length, float32; an adapter without vectors leaves it out of account."""


class MemoryStore(Protocol):
    """Memories by scope. Every method takes the scope, so that no id reaches what is somebody else's."""

    async def search(
        self, scopes: Sequence[MemoryScope], queries: Sequence[MemoryQuery], *, limit: int
    ) -> list[StoredMemory]:
        """Current memories of these scopes that fit any of the queries, the best first.

        What words, parts of words and vectors find for each query is fused by rank. Only what belongs to the scopes is
        ranked, so others' memories take no place (CAP-11).
        """
        ...

    async def newest(
        self,
        scope: MemoryScope,
        *,
        before: MemoryPlace | None = None,
        limit: int = 50,
        with_superseded: bool = False,
    ) -> list[StoredMemory]:
        """Memories of a scope, those changed last first.

        Args:
            before: Only what stands before this place, which is left out.
            with_superseded: Those too that others took the place of.
        """
        ...

    async def get(self, scope: MemoryScope, memory: str) -> StoredMemory | None:
        """One of this scope, also a superseded one."""
        ...

    async def count(self, scope: MemoryScope) -> int:
        """How many current ones there are."""
        ...

    async def add(self, memory: StoredMemory) -> bool:
        """Keep a new one; False, and nothing is changed, where its id is known.

        Raises:
            MemoryFull: Its scope holds `MOST_IN_SCOPE`; nothing was added.
        """
        ...

    async def supersede(self, memory: str, new: StoredMemory) -> bool:
        """Keep a new one in the place of another of its scope, which stays as superseded.

        Returns:
            False, and nothing is changed, where the new one's id is known or the other is not current.
        """
        ...

    async def edit(self, scope: MemoryScope, memory: str, text: str, *, now_microseconds: int) -> StoredMemory | None:
        """Change the words of a current one; None if there is none."""
        ...

    async def delete(self, scope: MemoryScope, memory: str) -> bool:
        """Delete one for good, with those whose place it took; False if there is none."""
        ...

    async def clear(self, scope: MemoryScope) -> int:
        """Delete all of a scope for good and return how many current ones there were."""
        ...

    async def namespaces(self, tenant: str) -> dict[str, int]:
        """How many memories each namespace of an organisation has, in order of their names."""
        ...
