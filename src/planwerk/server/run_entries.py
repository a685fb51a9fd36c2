"""A run's entries as the asking person may see them (S2.4, C1.2)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from planwerk.access.principal import Principal
from planwerk.capabilities.conversation.events import PromptComposedEvent
from planwerk.capabilities.conversation.visibility import without_head
from planwerk.runtime.ports import RunRecord
from planwerk.runtime.wire import RunWire
from planwerk.server.parts import Parts, may_inspect
from planwerk.workflow import entries as journal
from planwerk.workflow.ids import RunId


class EntryReader:
    """Turns a run's journal into envelopes for one reader: prompts masked and costs left out without the right."""

    def __init__(self, parts: Parts, principal: Principal, record: RunRecord, locale: str) -> None:
        self._parts = parts
        self._record = record
        self._locale = locale
        self._inspects = may_inspect(principal, record)

    async def read(self, after: int = 0) -> list[dict[str, Any]]:
        """The envelopes that are there now, after a position."""
        wire = RunWire(self._parts.blueprints, self._locale)
        found = await self._parts.host.entries(RunId(self._record.run))
        return wire.convert_all([self._shown(entry) for entry in found], after)

    async def follow(self, after: int = 0) -> AsyncGenerator[dict[str, Any]]:
        """The envelopes after a position, then what comes, to the run's last."""
        wire = RunWire(self._parts.blueprints, self._locale)
        async with aclosing(self._parts.host.follow(RunId(self._record.run))) as entries:
            async for position, entry in entries:
                envelope = wire.convert(self._shown(entry))
                if position > after:
                    yield envelope

    def _shown(self, entry: journal.Entry) -> journal.Entry:
        if self._inspects:
            return entry
        match entry:
            case journal.EventPublished(event=PromptComposedEvent() as event):
                shown = without_head(event, self._locale)
                return journal.EventPublished(
                    shown, entry.id, entry.at, entry.execution, entry.answers, entry.shown, entry.discarded
                )
            case journal.ModelCalled():
                return journal.ModelCalled(
                    entry.execution,
                    entry.at,
                    entry.model,
                    entry.usage,
                    None,
                    entry.duration_microseconds,
                    entry.purpose,
                )
            case journal.RunEnded():
                summary = {name: value for name, value in entry.summary.items() if name != "cost"}
                return journal.RunEnded(entry.status, entry.at, entry.error, entry.untaken, summary)
            case _:
                return entry
