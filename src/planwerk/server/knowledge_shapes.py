"""What knowledge looks like over REST: collections, documents, hits, and a source with what stands around it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from pydantic import BaseModel, Field

from planwerk.capabilities.knowledge.events import Location, RetrievedDocument
from planwerk.capabilities.knowledge.ports import (
    Collection,
    CollectionCounts,
    Document,
    DocumentText,
    Failure,
    Passage,
    Stage,
    State,
)
from planwerk.documents.parsed import DocumentKind
from planwerk.locales import DEFAULT_LOCALE, catalogue, text
from planwerk.server.shapes import Given

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
AROUND_CHARACTERS: Final = 20_000
"""Of the document's text before a passage, and behind it."""


class CollectionView(BaseModel):
    """A collection that the person may read.

    Attributes:
        access: Who may read it beside its owner: `account:ID`, `group:NAME`, `role:NAME`, `profile:SLUG`; null is the
            whole tenant. Told only to who may change it.
        is_open: Whether the whole tenant may read it.
        updated: When a document of it last changed; null where it is empty.
    """

    id: str
    name: str
    description: str
    owner: str | None
    access: list[str] | None
    is_open: bool
    embedder: str | None
    created: datetime
    updated: datetime | None
    documents: int
    passages: int
    pending: int
    failed: int
    may_edit: bool


class KnowledgeList(BaseModel):
    """The collections that the person may read, by name.

    Attributes:
        may_create: Whether the person may make collections.
        embedders: What a collection may be made vectors by; without any it is searched by words.
    """

    items: list[CollectionView]
    may_create: bool
    embedders: list[str]


class NewCollection(Given):
    """A collection to make.

    Attributes:
        access: Who may read it beside oneself; null is the whole tenant.
    """

    name: str
    description: str = ""
    access: list[str] | None = Field(default_factory=list[str])
    embedder: str | None = None


class CollectionPatch(Given):
    """What is to become of a collection; what is left out stays.

    Attributes:
        reembed: Whether everything may be embedded anew, as another embedder needs.
    """

    name: str | None = None
    description: str | None = None
    access: list[str] | None = None
    embedder: str | None = None
    reembed: bool = False


class FailureView(BaseModel):
    """Why a document could not be read."""

    code: str
    message: str
    what_to_do: str


class DocumentView(BaseModel):
    """A document and how far it has come.

    Attributes:
        stage: The last stage it has reached: received, parsed, chunked, embedded.
        state: Whether it waits, is being read, is ready, or failed.
        passages: How many there are to be found, of an earlier version while a newer one is read or has failed.
        changed: After an upload: false where it was there with the same content.
    """

    id: str
    collection: str
    name: str
    title: str
    kind: DocumentKind | None
    size_bytes: int
    stage: Stage
    state: State
    failure: FailureView | None
    passages: int
    created: datetime
    updated: datetime
    changed: bool | None = None


class KnowledgeQuestion(Given):
    """A question to try.

    Attributes:
        collections: Where to look; all that one may read if missing.
    """

    query: Annotated[str, Field(max_length=4000)]
    collections: Annotated[list[str] | None, Field(max_length=100)] = None
    limit: Annotated[int, Field(ge=1, le=50)] = 10


class KnowledgeHits(BaseModel):
    """The passages that fit best, the best first; no model took part."""

    items: list[RetrievedDocument]


class SourceView(BaseModel):
    """A passage in its document, for the source panel.

    Attributes:
        text: The passage; `before` and `after` are what stands around it in the document, cut where it is long.
    """

    id: str
    collection: str
    collection_name: str
    document: str
    name: str
    title: str
    kind: DocumentKind | None
    location: Location | None
    headings: list[str]
    before: str
    text: str
    after: str
    updated: datetime


def collection_view(collection: Collection, counts: CollectionCounts, *, may_edit: bool) -> CollectionView:
    access = sorted(collection.access) if collection.access is not None and may_edit else None
    return CollectionView(
        id=collection.id,
        name=collection.name,
        description=collection.description,
        owner=collection.owner,
        access=access,
        is_open=collection.access is None,
        embedder=collection.embedder,
        created=_time(collection.created_microseconds),
        updated=_time(counts.updated_microseconds) if counts.updated_microseconds is not None else None,
        documents=counts.documents,
        passages=counts.passages,
        pending=counts.pending,
        failed=counts.failed,
        may_edit=may_edit,
    )


def document_view(document: Document, locale: str, *, changed: bool | None = None) -> DocumentView:
    return DocumentView(
        id=document.id,
        collection=document.collection,
        name=document.name,
        title=document.title,
        kind=document.kind,
        size_bytes=document.size_bytes,
        stage=document.stage,
        state=document.state,
        failure=_failure_view(document.failure, locale) if document.failure is not None else None,
        passages=document.passages,
        created=_time(document.created_microseconds),
        updated=_time(document.updated_microseconds),
        changed=changed,
    )


def _failure_view(failure: Failure, locale: str) -> FailureView:
    """In English as exactly as it was told, otherwise in the reader's words for what kind of failure it is."""
    key = f"knowledge.failures.{failure.code}"
    if locale == DEFAULT_LOCALE or key not in catalogue(locale):
        return FailureView(code=failure.code, message=failure.message, what_to_do=failure.what_to_do)
    return FailureView(code=failure.code, message=text(key, locale), what_to_do="")


def source_view(
    passage: Passage, location: Location | None, collection: Collection, document: Document, whole: DocumentText
) -> SourceView:
    begin, end = max(0, passage.start - AROUND_CHARACTERS), passage.end + AROUND_CHARACTERS
    return SourceView(
        id=passage.id,
        collection=collection.id,
        collection_name=collection.name,
        document=document.id,
        name=document.name,
        title=passage.title,
        kind=document.kind,
        location=location,
        headings=list(passage.headings),
        before=whole.text[begin : passage.start],
        text=passage.text,
        after=whole.text[passage.end : end],
        updated=_time(document.updated_microseconds),
    )


def _time(microseconds: int) -> datetime:
    return EPOCH + timedelta(microseconds=microseconds)
