"""What the tests of knowledge share: an embedder without a model, and collections with their documents."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from planwerk.capabilities.knowledge.identity import identified
from planwerk.capabilities.knowledge.ports import (
    Collection,
    Document,
    DocumentText,
    KnowledgeIndex,
    KnowledgeQuery,
    Scope,
    Vector,
)
from planwerk.documents.splitting import split
from planwerk.storage.memory_search import fold, query_words

TENANT: Final = "default"
SIZE: Final = 64
SYNONYMS: Final = {"auto": "wagen", "fahrzeug": "wagen", "car": "wagen", "ferien": "urlaub", "holiday": "urlaub"}


class HashEmbedder:
    """Texts as counts of hashed words, those of one meaning alike: deterministic, and no model."""

    def __init__(self, name: str = "hash:1") -> None:
        self.name = name
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str], *, is_query: bool) -> Sequence[Vector]:
        self.asked += texts
        return [self.vector(text) for text in texts]

    def vector(self, text: str) -> Vector:
        counts = np.zeros(SIZE, np.float32)
        for word in query_words(fold(text)):
            meant = SYNONYMS.get(word, word)
            counts[int(hashlib.md5(meant.encode(), usedforsecurity=False).hexdigest(), 16) % SIZE] += 1
        length = float(np.linalg.norm(counts)) or 1.0
        return [float(count) / length for count in counts]


def collection(identity: str, *, tenant: str = TENANT, owner: str | None = None, name: str = "") -> Collection:
    return Collection(identity, tenant, name or identity, owner, 0, access=None)


def document(identity: str, of: str, *, tenant: str = TENANT, file: str = "", name: str = "") -> Document:
    named = name or f"{identity}.md"
    return Document(identity, tenant, of, named, file or f"file-{identity}", 1, "hash", 0, 0, kind="markdown")


async def fill(index: KnowledgeIndex, collections: Mapping[str, Mapping[str, str]], *, tenant: str = TENANT) -> None:
    """Collections by id with their documents by id and Markdown, ready."""
    for named, documents in collections.items():
        await index.create_collection(collection(named, tenant=tenant))
        for identity, text in documents.items():
            await keep(index, document(identity, named, tenant=tenant), text)


async def keep(index: KnowledgeIndex, kept: Document, text: str) -> None:
    await index.put_document(kept)
    passages = identified(kept.collection, kept.name, split(text))
    assert await index.keep_passages(kept, DocumentText(text), passages)


async def found(
    index: KnowledgeIndex, query: str, *scopes: str | Scope, tenant: str = TENANT, limit: int = 10
) -> list[str]:
    """The ids of the documents that are found, the best first."""
    wanted = [scope if isinstance(scope, Scope) else Scope(scope) for scope in scopes]
    hits = await index.search(tenant, wanted, [KnowledgeQuery(query)], limit=limit)
    return list(dict.fromkeys(hit.passage.document for hit in hits))
