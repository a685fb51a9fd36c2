"""What knowledge needs stored, and what it can use: an index, an embedder, a reranker (C3.1, C3.2)."""

from __future__ import annotations

from collections.abc import Collection as Some
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from planwerk.documents.parsed import DocumentKind, Place

Stage: TypeAlias = Literal["received", "parsed", "chunked", "embedded"]
"""How far a document has come; without an embedder, `chunked` is as far as it goes."""
State: TypeAlias = Literal["waiting", "working", "ready", "failed"]
Vector: TypeAlias = Sequence[float]
"""Of unit length, float32."""


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents that are searched together, and who may read them.

    Attributes:
        owner: The account whose it is; None of one that nobody made.
        access: `account:ID`, `group:NAME`, `role:NAME`, `profile:SLUG`; None is the whole tenant, empty the owner.
        embedder: By what its passages become vectors; None is full text alone.
    """

    id: str
    tenant: str
    name: str
    owner: str | None
    created_microseconds: int
    description: str = ""
    access: frozenset[str] | None = frozenset()
    embedder: str | None = None


@dataclass(frozen=True, slots=True)
class CollectionCounts:
    """What is in a collection.

    Attributes:
        updated_microseconds: When a document last changed; None of an empty one.
    """

    documents: int = 0
    passages: int = 0
    pending: int = 0
    failed: int = 0
    updated_microseconds: int | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a document could not be read, in words for people."""

    code: str
    message: str
    what_to_do: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """One file of a collection; its name is unique there and only a label.

    Attributes:
        file: Of its original, in the file store.
        content_hash: SHA-256 of the original, in hexadecimal.
        passages: How many there are to be searched; of an earlier version while a newer one is read or has failed.
    """

    id: str
    tenant: str
    collection: str
    name: str
    file: str
    size_bytes: int
    content_hash: str
    created_microseconds: int
    updated_microseconds: int
    title: str = ""
    kind: DocumentKind | None = None
    stage: Stage = "received"
    state: State = "waiting"
    failure: Failure | None = None
    passages: int = 0
    author: str | None = None
    """The account that brought it."""


@dataclass(frozen=True, slots=True)
class NewPassage:
    """A passage to be indexed.

    Attributes:
        identity: Hexadecimal digest that is the same whenever the same words stand in the same document (C3.3).
        start: Where it begins in the document's text, in characters.
    """

    identity: str
    start: int
    end: int
    text: str
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage as it is found: its words, and where they stand.

    Attributes:
        id: What it is cited by, `s3f9a1c`: made from its identity, unique in the tenant.
    """

    id: str
    collection: str
    document: str
    document_name: str
    title: str
    start: int
    end: int
    text: str
    headings: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    number: int = 0
    """Of its row, for vectors."""


@dataclass(frozen=True, slots=True)
class Found:
    """A passage and how well it fits; scores of different searches do not compare."""

    passage: Passage
    score: float


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to search: a collection, or one document of it."""

    collection: str
    document: str | None = None


@dataclass(frozen=True, slots=True)
class KnowledgeQuery:
    """What to look for: words, and what they mean as a vector by embedder."""

    text: str
    vectors: Mapping[str, Vector] | None = None


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The text that a document's passages are stretches of."""

    text: str
    places: tuple[Place, ...] = ()


DocumentPlace: TypeAlias = tuple[str, str]
"""A document's name and id, for the next page of a list."""


class KnowledgeIndex(Protocol):
    """Collections, their documents and passages. Every method takes the tenant, so no id reaches another one's."""

    async def create_collection(self, collection: Collection) -> None:
        """Keep a new one.

        Raises:
            CollectionNameTaken: Its owner has one of this name.
        """
        ...

    async def change_collection(self, collection: Collection) -> bool:
        """Change name, description, access and embedder; False if there is none.

        Raises:
            CollectionNameTaken: Its owner has another one of this name.
        """
        ...

    async def delete_collection(self, tenant: str, collection: str) -> list[str]:
        """Delete it with all that is in it; the files of its documents, which are the caller's to delete."""
        ...

    async def collection(self, tenant: str, collection: str) -> Collection | None: ...

    async def collections(self, tenant: str) -> list[Collection]:
        """All of a tenant, by name."""
        ...

    async def counts(self, tenant: str, collections: Some[str]) -> dict[str, CollectionCounts]:
        """What is in each."""
        ...

    async def put_document(self, document: Document) -> bool:
        """Keep a document, in place of the one of its id; False, and nothing kept, where its collection is gone.

        Its number of passages is kept by the index itself.
        """
        ...

    async def advance(self, document: Document) -> bool:
        """Keep how far a document has come; False, and nothing kept, where it is gone or has another file by now."""
        ...

    async def document(self, tenant: str, document: str) -> Document | None: ...

    async def document_named(self, tenant: str, collection: str, name: str) -> Document | None: ...

    async def documents(
        self,
        tenant: str,
        collection: str,
        *,
        after: DocumentPlace | None = None,
        limit: int = 50,
        state: State | None = None,
    ) -> list[Document]:
        """Those of a collection, by name."""
        ...

    async def unfinished(self, *, limit: int) -> list[Document]:
        """Documents of all tenants that wait or were being worked on, those that came first first."""
        ...

    async def delete_document(self, tenant: str, document: str) -> str | None:
        """Delete it with its passages; its file, which is the caller's to delete, or None if there was none."""
        ...

    async def keep_passages(self, document: Document, text: DocumentText, passages: Sequence[NewPassage]) -> bool:
        """Put these in the place of the document's passages, all or none, and keep the document as given.

        A passage of an identity that is known keeps the id it is cited by.

        Returns:
            False, and nothing is changed, where the document is gone or its content is another one by now.
        """
        ...

    async def without_vectors(self, tenant: str, document: str, *, limit: int) -> list[Passage]:
        """Passages that have no vector yet, in order."""
        ...

    async def keep_vectors(self, tenant: str, collection: str, vectors: Mapping[int, Vector]) -> None:
        """Keep vectors by the number of their passage."""
        ...

    async def forget_vectors(self, tenant: str, collection: str) -> None:
        """Drop all vectors of a collection, and have its ready documents embedded anew."""
        ...

    async def search(
        self, tenant: str, scopes: Sequence[Scope], queries: Sequence[KnowledgeQuery], *, limit: int
    ) -> list[Found]:
        """Passages of these scopes that fit any of the queries, the best first, each once.

        Words, parts of words and vectors are ranked each for itself and fused by rank. Only what belongs to the scopes
        is ranked, so what others have takes no place (CAP-11).
        """
        ...

    async def passage(self, tenant: str, passage: str) -> Passage | None:
        """By the id it is cited by."""
        ...

    async def text(self, tenant: str, document: str) -> DocumentText | None: ...


class Embedder(Protocol):
    """Turns texts into vectors that lie near each other where the texts mean the same."""

    @property
    def name(self) -> str:
        """Names the model and its version: vectors of different names are never compared."""
        ...

    async def embed(self, texts: Sequence[str], *, is_query: bool) -> Sequence[Vector]:
        """One vector of unit length for each text."""
        ...


class Reranker(Protocol):
    """Judges anew how well passages fit a question."""

    async def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """One score for each text, the higher the better."""
        ...
