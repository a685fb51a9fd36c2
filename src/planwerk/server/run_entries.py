"""A run's entries as the asking person may see them (S2.4, C1.2)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Final, cast

from planwerk.access.principal import Principal
from planwerk.capabilities.conversation.events import PromptComposedEvent
from planwerk.capabilities.conversation.visibility import without_head
from planwerk.messages.events import LLMEvent
from planwerk.runtime.ports import RunRecord
from planwerk.runtime.wire import Envelope, RunWire
from planwerk.server.parts import Parts, may_inspect
from planwerk.workflow import entries as journal
from planwerk.workflow.agents import AgentUsage
from planwerk.workflow.ids import RunId

ANSWER: Final = frozenset(LLMEvent.model_fields)
"""By these fields an answer of a model is known, wherever in an event it stands."""
USED: Final = frozenset(AgentUsage.model_fields)
"""And by these, what another run has used."""


class EntryReader:
    """Turns a run's journal into envelopes for one reader: prompts masked and costs left out without the right."""

    def __init__(self, parts: Parts, principal: Principal, record: RunRecord, locale: str) -> None:
        self._parts = parts
        self._run = RunId(record.run)
        self._locale = locale
        self._inspects = may_inspect(principal, record)

    async def read(self, after: int = 0) -> list[Envelope]:
        """The envelopes that are there now, after a position."""
        wire = RunWire(self._parts.blueprints, self._locale)
        envelopes = [self._shown(wire, entry) for entry in await self._parts.host.entries(self._run)]
        return envelopes[after:]

    async def follow(self, after: int = 0) -> AsyncGenerator[Envelope]:
        """The envelopes after a position, then what comes, to the run's last."""
        wire = RunWire(self._parts.blueprints, self._locale)
        async with aclosing(self._parts.host.follow(self._run)) as entries:
            async for position, entry in entries:
                envelope = self._shown(wire, entry)
                if position > after:
                    yield envelope

    def _shown(self, wire: RunWire, entry: journal.Entry) -> Envelope:
        if self._inspects:
            envelope = wire.convert(entry)
            if isinstance(entry, journal.RunOpened):
                envelope["data"]["config"] = entry.config
            return envelope
        if isinstance(entry, journal.EventPublished) and isinstance(entry.event, PromptComposedEvent):
            entry = replace(entry, event=without_head(entry.event, self._locale))
        envelope = wire.convert(entry)
        data: dict[str, Any] = envelope["data"]
        if isinstance(entry, journal.ModelCalled | journal.RunEnded):
            return {**envelope, "data": {**data, "cost": None}}
        return {**envelope, "data": without_costs(data)}


def without_costs(value: Any) -> Any:
    """JSON data with the cost of each model's answer, and of other runs, left out."""
    if isinstance(value, list):
        return [without_costs(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, Any]", value)
    kept = {name: without_costs(item) for name, item in fields.items()}
    return {**kept, "cost": None} if fields.keys() >= ANSWER or fields.keys() == USED else kept
