"""Memory: what is known about the person who asks and what the organisation keeps, and learning more (C2).

recall      search ─ what is remembered            (the outcome)
remember    hand_over ─ a run of the memory writer, which nobody waits for
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Sequence
from typing import ClassVar, Final, Literal

from pydantic import BaseModel

from planwerk.capabilities.memory.errors import NamespaceNotAllowed
from planwerk.capabilities.memory.events import (
    MemoryRecalledEvent,
    MemoryWritingStartEvent,
    RecallMemoryEvent,
    RememberExchangeEvent,
)
from planwerk.capabilities.memory.fields import MemoryFields
from planwerk.capabilities.memory.memories import Memories
from planwerk.capabilities.memory.ports import StoredMemory
from planwerk.capabilities.memory.writer import MemoryWriter
from planwerk.locales import texts
from planwerk.messages.blocks import Block
from planwerk.messages.events import LLMEvent
from planwerk.messages.prompts import visible_text
from planwerk.runtime.displayer import EventDisplayer
from planwerk.runtime.execution import ExecutionInfo
from planwerk.runtime.locale_handler import LocaleHandler
from planwerk.runtime.run_info import RunInfo
from planwerk.workflow.agents import Detached
from planwerk.workflow.capability import Capability
from planwerk.workflow.errors import PlanwerkError
from planwerk.workflow.events import StepWarningEvent
from planwerk.workflow.locale_string import LocaleString
from planwerk.workflow.steps import step

log = logging.getLogger(__name__)

RECALL_SECONDS: Final = 5.0
"""No answer waits longer for what is remembered."""

Scope = Literal["user", "organization"]


def _name(key: str) -> LocaleString:
    return LocaleString(**texts(key))


class Memory(Capability):
    """What is remembered about the person who asks, and what the organisation keeps."""

    config: ClassVar[type[BaseModel] | None] = MemoryFields

    RecallRequest = RecallMemoryEvent
    Recalled = MemoryRecalledEvent
    RememberRequest = RememberExchangeEvent

    @classmethod
    def recall(cls, query: str, literal: str | None = None, namespaces: Iterable[str] = ()) -> RecallMemoryEvent:
        """Look for what is remembered that helps with a question.

        Args:
            query: What to look for; blank searches nothing.
            literal: The person's own words, looked for as well where they differ.
            namespaces: Of the organisation's memory; without, all that the profile allows.
        """
        return cls.RecallRequest(query=query, literal=literal, namespaces=tuple(namespaces))

    @classmethod
    def remember(cls, query: str, answer: LLMEvent) -> RememberExchangeEvent:
        """Learn from a question and its answer; nobody waits for it."""
        return cls.RememberRequest(query=query, answer=visible_text(answer.text))

    @step(name=_name("memory.steps.search"), icon="memory")
    async def search(
        self,
        request: RecallMemoryEvent,
        config: MemoryFields,
        memories: Memories,
        locale: LocaleHandler,
        display: EventDisplayer,
    ) -> MemoryRecalledEvent:
        """Look in both scopes at once; one that fails or takes too long is left out with a warning (C2.1)."""
        foreign = set(request.namespaces) - set(config.namespaces)
        if foreign:
            raise NamespaceNotAllowed(foreign, config.namespaces)
        queries = [text for text in (request.query, request.literal) if text and text.strip()]
        most, namespaces = config.number_of_memories, request.namespaces or config.namespaces
        if not config.recall_memories or not request.query.strip() or memories.account is None:
            most = 0
        looking = Looking(locale, display)
        user, organization = await asyncio.gather(
            looking.within("user", memories.of_user(queries, limit=most)),
            looking.within("organization", memories.of_organization(namespaces, queries, limit=most)),
        )
        return MemoryRecalledEvent(
            user=_block("user", user, locale),
            organization=_block("organization", organization, locale),
            found=len(user) + len(organization),
        )

    @step(name=_name("memory.steps.hand_over"), icon="memory")
    async def hand_over(
        self,
        request: RememberExchangeEvent,
        config: MemoryFields,
        memories: Memories,
        info: RunInfo,
        execution: ExecutionInfo,
    ) -> Detached | None:
        """Start the writer, once for this call, after those that the person's earlier messages started (C2.2)."""
        if not config.store_memories or memories.account is None or not request.query.strip():
            return None
        return Detached(
            blueprint=MemoryWriter,
            start=MemoryWritingStartEvent(query=request.query, answer=request.answer),
            key=f"memory:{info.run}:{execution.id}",
            order_key=f"memory:{memories.account}",
        )


class Looking:
    """Searches that may fail without failing the turn."""

    def __init__(self, locale: LocaleHandler, display: EventDisplayer) -> None:
        self._locale = locale
        self._display = display

    async def within(self, scope: Scope, search: Awaitable[list[StoredMemory]]) -> list[StoredMemory]:
        """What the search finds; nothing, and a warning, where it fails or takes too long."""
        try:
            async with asyncio.timeout(RECALL_SECONDS):
                return await search
        except TimeoutError:
            code, cause = "timeout", self._locale.text("memory.warnings.too_slow")
        except PlanwerkError as error:
            code, cause = error.code, error.message.rstrip(".")
        except Exception:  # a store of any make: whatever it raises, the turn goes on
            log.exception("the memory of the %s could not be searched", scope)
            code, cause = "memory_failed", self._locale.text("memory.warnings.store_failed")
        message = self._locale.text(f"memory.warnings.{scope}_left_out", cause=cause)
        await self._display.show(StepWarningEvent(step="Memory.search", code=code, message=message))
        return []


def _block(scope: Scope, found: Sequence[StoredMemory], locale: LocaleHandler) -> Block:
    """The memories as data, one a line; lines of a longer text are indented."""
    lines = ("- " + memory.text.replace("\n", "\n  ") for memory in found)
    note = locale.text(f"memory.notes.{scope}") if found else ""
    return Block.data("\n".join(lines), title=locale.text(f"memory.titles.{scope}"), note=note)
