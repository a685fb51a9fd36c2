"""Ids are UUIDv7 text in lower case, one `NewType` per kind (E1.7).

Whoever creates a thing makes its id: clients for messages and commands, drivers for the rest. The rules never make
one; they get ids as arguments.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable
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


class IdSource:
    """Makes UUIDv7s that grow strictly within one process (RFC 9562, §6.2, method 1).

    The last 48 bits are drawn anew for each millisecond, so ids of other processes never meet ours; the 26 bits
    before them count within it.
    """

    def __init__(
        self,
        clock_ns: Callable[[], int] = time.time_ns,
        entropy: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._clock_ns = clock_ns
        self._entropy = entropy
        self._lock = threading.Lock()
        self._millisecond = 0
        self._count = 0
        self._left = 0
        self._block = 0
        self._head = ""
        self._tail = ""

    def __call__(self) -> str:
        with self._lock:
            millisecond = self._clock_ns() // 1_000_000
            if millisecond > self._millisecond or not self._left:
                self._begin(max(millisecond, self._millisecond))
            self._left -= 1
            self._count += 1
            return f"{self._head}{self._count:04x}{self._tail}"

    def _begin(self, millisecond: int) -> None:
        """A new millisecond, or the next 16,384 ids of the same one."""
        if millisecond == self._millisecond:
            self._block += 1
            if self._block > 0xFFF:
                millisecond += 1  # more than 67 million in one millisecond: borrow from the next
        if millisecond > self._millisecond:
            self._block = 0
            self._millisecond = millisecond
            self._tail = f"-{self._entropy(6).hex()}"
        text = f"{millisecond:012x}"
        self._head = f"{text[:8]}-{text[8:]}-7{self._block:03x}-"
        first = int.from_bytes(self._entropy(2)) & 0x1FFF if not self._block else 0
        self._count = 0x8000 + first - 1
        self._left = 0x4000 - first


new_id: Final = IdSource()
