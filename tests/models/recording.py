"""A sink that writes down what it is told."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from planwerk.models.calls import PartKind


@dataclass
class RecordingSink:
    """Satisfies `ResponseSink`; `()` gives itself, so that it is its own factory."""

    parts: list[tuple[PartKind, str, bool]] = field(default_factory=list[tuple[PartKind, str, bool]])
    deltas: list[str] = field(default_factory=list[str])
    checkpoints: list[str] = field(default_factory=list[str])
    interruptions: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    grown: asyncio.Event = field(default_factory=asyncio.Event)

    async def after_deltas(self, count: int) -> None:
        """Wait until this many deltas have come."""
        while len(self.deltas) < count:
            self.grown.clear()
            await self.grown.wait()

    def __call__(self) -> RecordingSink:
        return self

    def part(self, kind: PartKind) -> int:
        self.parts.append((kind, "", False))
        return len(self.parts) - 1

    def delta(self, part: int, text: str) -> None:
        kind, so_far, ended = self.parts[part]
        assert not ended
        self.parts[part] = (kind, so_far + text, ended)
        self.deltas.append(text)
        self.grown.set()

    def end(self, part: int) -> None:
        kind, text, ended = self.parts[part]
        assert not ended
        self.parts[part] = (kind, text, True)

    def checkpoint(self, text: str) -> None:
        self.checkpoints.append(text)

    def interrupted(self, text: str, reason: str) -> None:
        self.interruptions.append((text, reason))
