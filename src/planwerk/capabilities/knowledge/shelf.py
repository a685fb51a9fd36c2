"""The knowledge that a run may search: the library, narrowed to what its person may read (C3.2, S5.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from planwerk.access.actions import Action
from planwerk.capabilities.knowledge.events import Location, RetrievedDocument
from planwerk.capabilities.knowledge.library import Library, collection_resource
from planwerk.capabilities.knowledge.ports import Collection, Found, Reranker, Scope
from planwerk.documents.parsed import place_label
from planwerk.messages.events import KnowledgeReference
from planwerk.runtime.access_checker import AccessChecker
from planwerk.runtime.execution import ExecutionContext
from planwerk.workflow.injection import injectable


@dataclass(frozen=True, slots=True)
class Readable:
    """What of the references may be searched, and the labels of what may not."""

    scopes: tuple[Scope, ...]
    names: dict[str, str]
    """Of the collections, by their id."""
    refused: tuple[str, ...]


@injectable
@dataclass(frozen=True, slots=True)
class KnowledgeShelf:
    """A library in the hands of one execution; it shows nothing without an `AccessChecker`."""

    library: Library
    tenant: str
    reranker: Reranker | None = None

    async def readable(self, references: Sequence[KnowledgeReference], access: AccessChecker) -> Readable:
        """Sort references into what may be searched and what is refused: foreign and missing ones look the same."""
        collections = await self.collections(access)
        scopes: list[Scope] = []
        refused: list[str] = []
        for reference in references:
            found = _named(reference.collection, collections)
            if found is None or not await self._has(found, reference.document):
                refused.append(reference.label)
            else:
                scopes.append(Scope(found.id, reference.document))
        names = {collection.id: collection.name for collection in collections}
        return Readable(tuple(dict.fromkeys(scopes)), names, tuple(dict.fromkeys(refused)))

    async def collections(self, access: AccessChecker) -> list[Collection]:
        """Every collection that may be read, by name."""
        listed = await self.library.index.collections(self.tenant)
        return await access.readable(listed, Action.COLLECTION_READ, collection_resource)

    async def search(self, readable: Readable, queries: Sequence[str], *, limit: int) -> list[RetrievedDocument]:
        """The passages that fit best."""
        found = await self.library.search(self.tenant, readable.scopes, queries, limit=limit)
        return [retrieved(each, readable.names.get(each.passage.collection, "")) for each in found]

    async def _has(self, collection: Collection, document: str | None) -> bool:
        if document is None:
            return True
        found = await self.library.index.document(self.tenant, document)
        return found is not None and found.collection == collection.id


def retrieved(found: Found, collection_name: str) -> RetrievedDocument:
    """A passage as events carry it."""
    passage = found.passage
    place = place_label(passage.places)
    location = Location(kind=place[0], first=place[1], last=place[2], name=place[3]) if place is not None else None
    return RetrievedDocument(
        id=passage.id,
        collection=passage.collection,
        collection_name=collection_name,
        document=passage.document,
        name=passage.document_name,
        title=passage.title,
        text=passage.text,
        headings=passage.headings,
        location=location,
        start=passage.start,
        end=passage.end,
        score=round(found.score, 6),
    )


def _named(name: str, collections: Sequence[Collection]) -> Collection | None:
    """The collection of this id, else the one of this name."""
    by_id = next((each for each in collections if each.id == name), None)
    return by_id or next((each for each in collections if each.name.casefold() == name.strip().casefold()), None)


def shelf_from(library: Library, reranker: Reranker | None = None) -> Callable[[ExecutionContext], KnowledgeShelf]:
    """The provider of `KnowledgeShelf` over this library."""
    return lambda context: KnowledgeShelf(library, context.run.tenant, reranker)
