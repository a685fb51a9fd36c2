"""The handle of knowledge: collections and their documents, from the first upload to the answer's sources (C3.1).

It decides no access: who calls it has asked `authorize` for the collection, with `collection_resource`.
"""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from planwerk.access.actions import Resource
from planwerk.access.ids import AccountId, TenantId
from planwerk.capabilities.knowledge.errors import (
    CollectionAccessInvalid,
    CollectionNameInvalid,
    DocumentNameInvalid,
    EmbedderFixed,
    NothingToRetry,
    UnknownEmbedder,
)
from planwerk.capabilities.knowledge.ports import (
    Collection,
    Document,
    Embedder,
    Found,
    KnowledgeIndex,
    KnowledgeQuery,
    Scope,
    Vector,
)
from planwerk.documents.parsers.decoding import clean
from planwerk.workflow.ids import new_id
from planwerk.workspace.files import StoredFile
from planwerk.workspace.ports import FileStore

LONGEST_NAME: Final = 120
LONGEST_DOCUMENT_NAME: Final = 400
LONGEST_DESCRIPTION: Final = 2000
ACCESS_KINDS: Final = frozenset({"account", "group", "role", "profile"})


@dataclass(frozen=True, slots=True)
class Received:
    """A document that was brought; `changed` is False where it is there with the same content."""

    document: Document
    changed: bool


class Library:
    """Collections of an installation.

    Args:
        embedders: Those that collections may name.
        received: Called when a document waits to be read.
    """

    def __init__(
        self,
        index: KnowledgeIndex,
        files: FileStore,
        *,
        clock: Callable[[], int],
        embedders: Iterable[Embedder] = (),
        received: Callable[[], None] = lambda: None,
    ) -> None:
        self.index = index
        self.files = files
        self.embedders: Mapping[str, Embedder] = {embedder.name: embedder for embedder in embedders}
        self.clock = clock
        self.received = received

    async def create(
        self,
        tenant: str,
        name: str,
        *,
        owner: str | None,
        description: str = "",
        access: Iterable[str] | None = (),
        embedder: str | None = None,
    ) -> Collection:
        """Make a collection.

        Raises:
            KnowledgeRefused: A name or an entry of the access list is not acceptable; there is one of this name; there
                is no such embedder.
        """
        if embedder is not None:
            self._embedder(embedder)
        made = Collection(
            id=new_id(),
            tenant=tenant,
            name=clean_collection_name(name),
            owner=owner,
            created_microseconds=self.clock(),
            description=clean(description)[:LONGEST_DESCRIPTION].strip(),
            access=checked_access(access),
            embedder=embedder,
        )
        await self.index.create_collection(made)
        return made

    async def change(
        self,
        collection: Collection,
        *,
        name: str | None = None,
        description: str | None = None,
        access: Iterable[str] | None = None,
        change_access: bool = False,
        embedder: str | None = None,
        change_embedder: bool = False,
        reembed: bool = False,
    ) -> Collection:
        """Change what is given.

        Args:
            change_access: Whether `access` counts; None is then the whole tenant.
            change_embedder: Whether `embedder` counts; None is then full text alone.
            reembed: Whether everything may be embedded anew, which another embedder needs.

        Raises:
            KnowledgeRefused: As for `create`; or the embedder would change without `reembed`.
        """
        changed = collection
        if name is not None:
            changed = replace(changed, name=clean_collection_name(name))
        if description is not None:
            changed = replace(changed, description=clean(description)[:LONGEST_DESCRIPTION].strip())
        if change_access:
            changed = replace(changed, access=checked_access(access))
        if change_embedder and embedder != collection.embedder:
            if embedder is not None:
                self._embedder(embedder)
            if not reembed:
                raise EmbedderFixed(collection.name)
            changed = replace(changed, embedder=embedder)
        await self.index.change_collection(changed)
        if changed.embedder != collection.embedder:
            await self.index.forget_vectors(collection.tenant, collection.id)
            self.received()
        return changed

    async def delete(self, collection: Collection) -> None:
        """Delete a collection, its documents and their originals."""
        for file in await self.index.delete_collection(collection.tenant, collection.id):
            await self.files.delete(collection.tenant, file)

    async def receive(self, collection: Collection, name: str, file: StoredFile, *, author: str | None) -> Received:
        """Take a document in, to be read soon; one of the same name is replaced, the same content read only once.

        Raises:
            DocumentNameInvalid: The name is blank or too long; the file is deleted.
        """
        tenant = collection.tenant
        try:
            named = clean_document_name(name)
        except DocumentNameInvalid:
            await self.files.delete(tenant, file.id)
            raise
        known = await self.index.document_named(tenant, collection.id, named)
        if known is not None and known.content_hash == file.content_hash and known.state != "failed":
            await self.files.delete(tenant, file.id)
            return Received(known, changed=False)
        now = self.clock()
        document = Document(
            id=known.id if known is not None else new_id(),
            tenant=tenant,
            collection=collection.id,
            name=named,
            file=file.id,
            size_bytes=file.size_bytes,
            content_hash=file.content_hash,
            created_microseconds=known.created_microseconds if known is not None else now,
            updated_microseconds=now,
            passages=known.passages if known is not None else 0,
            author=author,
        )
        await self.index.put_document(document)
        if known is not None:
            await self.files.delete(tenant, known.file)
        self.received()
        return Received(document, changed=True)

    async def retry(self, document: Document) -> Document:
        """Read a document anew that failed.

        Raises:
            NothingToRetry: It did not.
        """
        if document.state != "failed":
            raise NothingToRetry(document.name)
        now = self.clock()
        again = replace(document, state="waiting", stage="received", failure=None, updated_microseconds=now)
        await self.index.put_document(again)
        self.received()
        return again

    async def remove(self, document: Document) -> None:
        """Delete a document with its passages and its original."""
        file = await self.index.delete_document(document.tenant, document.id)
        if file is not None:
            await self.files.delete(document.tenant, file)

    async def search(self, tenant: str, scopes: Sequence[Scope], queries: Sequence[str], *, limit: int) -> list[Found]:
        """Passages that fit any of the queries, the best first; vectors count where a collection has an embedder."""
        wanted = [query for query in dict.fromkeys(queries) if query.strip()]
        if not wanted or not scopes:
            return []
        vectors = await self._vectors(tenant, scopes, wanted)
        asked = [
            KnowledgeQuery(text, {name: found[n] for name, found in vectors.items()}) for n, text in enumerate(wanted)
        ]
        return await self.index.search(tenant, scopes, asked, limit=limit)

    async def _vectors(
        self, tenant: str, scopes: Sequence[Scope], queries: Sequence[str]
    ) -> dict[str, Sequence[Vector]]:
        if not self.embedders:
            return {}
        collections = [await self.index.collection(tenant, scope.collection) for scope in scopes]
        names = dict.fromkeys(found.embedder for found in collections if found is not None)
        usable = [self.embedders[name] for name in names if name is not None and name in self.embedders]
        found = await asyncio.gather(*(embedder.embed(queries, is_query=True) for embedder in usable))
        return {embedder.name: vectors for embedder, vectors in zip(usable, found, strict=True)}

    def _embedder(self, name: str) -> Embedder:
        if name not in self.embedders:
            raise UnknownEmbedder(name, self.embedders)
        return self.embedders[name]


def collection_resource(collection: Collection) -> Resource:
    """A collection as `authorize` knows it."""
    owner = AccountId(collection.owner) if collection.owner is not None else None
    return Resource("collection", collection.id, TenantId(collection.tenant), owner=owner, access=collection.access)


def clean_collection_name(name: str) -> str:
    """The name as it is shown: one line.

    Raises:
        CollectionNameInvalid: Blank, too long, or with control characters.
    """
    shown = unicodedata.normalize("NFC", clean(name)).strip()
    if not 0 < len(shown) <= LONGEST_NAME or any(unicodedata.category(letter) == "Cc" for letter in shown):
        raise CollectionNameInvalid(name, LONGEST_NAME)
    return shown


def clean_document_name(name: str) -> str:
    """A label of one line; it is no path here, whatever it looks like (SRV-19).

    Raises:
        DocumentNameInvalid: Blank, or too long.
    """
    shown = unicodedata.normalize("NFC", clean(name))
    shown = "".join(" " if unicodedata.category(letter) == "Cc" else letter for letter in shown).strip()
    if not 0 < len(shown) <= LONGEST_DOCUMENT_NAME:
        raise DocumentNameInvalid(LONGEST_DOCUMENT_NAME)
    return shown


def checked_access(access: Iterable[str] | None) -> frozenset[str] | None:
    """An access list whose entries name somebody.

    Raises:
        CollectionAccessInvalid: One does not.
    """
    if access is None:
        return None
    entries = frozenset(access)
    for entry in sorted(entries):
        kind, _, name = entry.partition(":")
        if kind not in ACCESS_KINDS or not name.strip() or len(entry) > LONGEST_NAME:
            raise CollectionAccessInvalid(entry)
    return entries
