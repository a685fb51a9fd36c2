"""Knowledge: passages of collections that help with a question, with the rights of the person who asks (C3).

search      find ─ what was found       (the outcome)
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from pydantic import BaseModel

from planwerk.capabilities.knowledge.events import KnowledgeSearchedEvent, RetrievedDocument, SearchKnowledgeEvent
from planwerk.capabilities.knowledge.fields import KnowledgeFields
from planwerk.capabilities.knowledge.ports import Reranker
from planwerk.capabilities.knowledge.prompts import PROMPTS
from planwerk.capabilities.knowledge.quoting import quoted
from planwerk.capabilities.knowledge.shelf import KnowledgeShelf, Readable
from planwerk.locales import texts
from planwerk.messages.blocks import Block
from planwerk.messages.events import KnowledgeReference
from planwerk.runtime.access_checker import AccessChecker
from planwerk.runtime.displayer import EventDisplayer
from planwerk.runtime.locale_handler import LocaleHandler
from planwerk.workflow.capability import Capability
from planwerk.workflow.events import StepWarningEvent
from planwerk.workflow.locale_string import LocaleString
from planwerk.workflow.steps import step

log = logging.getLogger(__name__)

RERANKED: Final = 4
"""How many times as many passages are judged anew as are wanted."""
RERANK_SECONDS: Final = 10.0


def _name(key: str) -> LocaleString:
    return LocaleString(**texts(key))


class Knowledge(Capability):
    """Documents of the organisation that help with a question."""

    config: ClassVar[type[BaseModel] | None] = KnowledgeFields

    SearchRequest = SearchKnowledgeEvent
    Searched = KnowledgeSearchedEvent

    @classmethod
    def search(
        cls,
        references: Iterable[KnowledgeReference],
        query: str,
        literal: str | None = None,
        cite_sources: bool = True,
    ) -> SearchKnowledgeEvent:
        """Look for passages that help with a question.

        Args:
            references: Collections, or documents of them; without any nothing is searched.
            query: What to look for; blank searches nothing.
            literal: The person's own words, looked for as well where they differ.
            cite_sources: Whether the model is told how to cite what it uses.
        """
        return cls.SearchRequest(references=tuple(references), query=query, literal=literal, cite_sources=cite_sources)

    @step(name=_name("knowledge.steps.find"), icon="search")
    async def find(
        self,
        request: SearchKnowledgeEvent,
        config: KnowledgeFields,
        shelf: KnowledgeShelf,
        access: AccessChecker,
        locale: LocaleHandler,
        display: EventDisplayer,
    ) -> KnowledgeSearchedEvent:
        """Search what the person may read; name what was refused, and say when nothing was found (C3.2)."""
        if not request.query.strip() or not request.references:
            return KnowledgeSearchedEvent(block=Block.data(""))
        readable = await shelf.readable(request.references, access)
        queries = [text for text in (request.query, request.literal) if text and text.strip()]
        wanted = config.number_of_passages
        judged = wanted * RERANKED if shelf.reranker is not None else wanted
        found = await shelf.search(readable, queries, limit=judged)
        if shelf.reranker is not None and found:
            found = await _reranked(shelf.reranker, request.query, found, locale, display)
        return _searched(request, readable, found[:wanted], locale)


async def _reranked(
    reranker: Reranker,
    query: str,
    found: list[RetrievedDocument],
    locale: LocaleHandler,
    display: EventDisplayer,
) -> list[RetrievedDocument]:
    """The passages in a new order; in the old one, and a warning, where that fails."""
    try:
        async with asyncio.timeout(RERANK_SECONDS):
            scores = await reranker.rerank(query, [document.text for document in found])
        ranked = sorted(zip(scores, found, strict=True), key=lambda item: -item[0])
    except Exception as error:  # a reranker of any make: whatever it raises, the turn goes on
        log.warning("a reranker failed: %s", type(error).__name__)
        message = locale.text("knowledge.warnings.rerank_failed")
        await display.show(StepWarningEvent(step="Knowledge.find", code="rerank_failed", message=message))
        return found
    return [document.model_copy(update={"score": round(score, 6)}) for score, document in ranked]


def _searched(
    request: SearchKnowledgeEvent, readable: Readable, found: Sequence[RetrievedDocument], locale: LocaleHandler
) -> KnowledgeSearchedEvent:
    refused = tuple(label or locale.text("knowledge.unnamed") for label in readable.refused)
    said = [quoted(found, locale)] if found else []
    if not found and readable.scopes:
        said.append(locale.text("knowledge.nothing_found"))
    if refused:
        said.append(locale.text("knowledge.refused", names=", ".join(f"“{name}”" for name in refused)))
    note = PROMPTS.text("cite" if request.cite_sources else "use", locale.locale) if found else ""
    block = Block.data("\n\n".join(said), title=locale.text("knowledge.title"), note=note)
    return KnowledgeSearchedEvent(block=block, documents=tuple(found), refused=refused)
