"""Ids are UUIDv7 text in lower case, one `NewType` per kind (E1.7).

Whoever creates a thing makes its id: clients for messages and commands, drivers for the rest. The rules never make
one; they get ids as arguments.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NewType, TypeVar

from planwerk.workflow.errors import MalformedId

RunId = NewType("RunId", str)
EventId = NewType("EventId", str)
ExecutionId = NewType("ExecutionId", str)
CallId = NewType("CallId", str)
RequestId = NewType("RequestId", str)
ThreadId = NewType("ThreadId", str)
MessageId = NewType("MessageId", str)
WorkspaceId = NewType("WorkspaceId", str)
ArtifactId = NewType("ArtifactId", str)
ProposalId = NewType("ProposalId", str)
CommandId = NewType("CommandId", str)

IdT = TypeVar("IdT", bound=str)

UUID7: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def parse_id(text: object, kind: Callable[[str], IdT]) -> IdT:
    """Return `text` as an id of this kind.

    Raises:
        MalformedId: The text is not a UUIDv7 in lower case.
    """
    if not isinstance(text, str) or UUID7.fullmatch(text) is None:
        raise MalformedId(str(text), getattr(kind, "__name__", "id").removesuffix("Id").lower())
    return kind(text)


def derived_id(base: str, *parts: str) -> str:
    """The id of what follows from others, always the same: a UUIDv7 of the time of `base`, the rest a digest of all.

    Whoever makes the thing twice, after a crash or in two processes, gives it one id.
    """
    digest = hashlib.sha256("\0".join((base, *parts)).encode()).hexdigest()
    time_text = base[:13] if UUID7.fullmatch(base) else f"{digest[:8]}-{digest[8:12]}"
    variant = "89ab"[int(digest[12], 16) & 3]
    return f"{time_text}-7{digest[13:16]}-{variant}{digest[16:19]}-{digest[19:31]}"


def id_in_run(run: str, name: str) -> str:
    """The id of an execution or an event that the run's journal names by its position there (E1.7)."""
    return name if UUID7.fullmatch(name) else derived_id(run, name)


class IdSource:
    """Makes UUIDv7s that grow strictly within one process (RFC 9562, §6.2, method 1).

    The last 48 bits are drawn anew for each millisecond, so ids of other processes never meet ours; the 26 bits
    before them count within it. Threads share a source without a lock, which is taken for a new millisecond only.
    """

    def __init__(
        self,
        clock_ns: Callable[[], int] = time.time_ns,
        entropy: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._clock_ns = clock_ns
        self._entropy = entropy
        self._lock = threading.Lock()
        self._block = _Block(0, "", "", range(0))
        self._number = 0
        """Of the block within its millisecond."""

    def __call__(self) -> str:
        block = self._block
        if self._clock_ns() < block.until_ns:
            for count in block.counts:
                return f"{block.head}{count:04x}{block.tail}"
        return self._of_next_block(block)

    def _of_next_block(self, used: _Block) -> str:
        with self._lock:
            if self._block is used:
                self._block = self._make_block(used)
        return self()

    def _make_block(self, used: _Block) -> _Block:
        """For a new millisecond, or the next 16,384 ids of the same one."""
        before = used.until_ns // 1_000_000 - 1
        millisecond = max(self._clock_ns() // 1_000_000, before)
        tail = used.tail
        self._number += 1
        if millisecond == before and self._number > 0xFFF:
            millisecond += 1  # more than 67 million in one millisecond: borrow from the next
        if millisecond > before:
            self._number = 0
            tail = f"-{self._entropy(6).hex()}"
        text = f"{millisecond:012x}"
        first = int.from_bytes(self._entropy(2)) & 0x1FFF if not self._number else 0
        counts = range(0x8000 + first, 0xC000)
        return _Block((millisecond + 1) * 1_000_000, f"{text[:8]}-{text[8:]}-7{self._number:03x}-", tail, counts)


class _Block:
    """Ids that differ in four digits."""

    __slots__ = ("counts", "head", "tail", "until_ns")

    def __init__(self, until_ns: int, head: str, tail: str, counts: Iterable[int]) -> None:
        self.until_ns = until_ns
        """When its millisecond is over."""
        self.head = head
        self.tail = tail
        self.counts: Iterator[int] = iter(counts)


new_id: Final = IdSource()
