"""Rows of knowledge as values, and back."""

from __future__ import annotations

import json
from typing import Any, Final

from planwerk.capabilities.knowledge.ports import Collection, Document, Failure, Passage
from planwerk.documents.parsed import Place

COLLECTION: Final = "id, tenant, owner, name, created, data"
DOCUMENT: Final = "id, tenant, collection, name, state, passages, created, updated, data"
PASSAGE: Final = 'p.number, p.id, p.collection, p.document, d.name, d.data, p.start, p."end", p.text, p.data'


def collection_row(collection: Collection) -> tuple[Any, ...]:
    access = None if collection.access is None else sorted(collection.access)
    data = {"description": collection.description, "access": access, "embedder": collection.embedder}
    return (
        collection.id,
        collection.tenant,
        collection.owner,
        collection.name,
        collection.created_microseconds,
        json_text(data),
    )


def collection_of(row: tuple[Any, ...]) -> Collection:
    identity, tenant, owner, name, created, text = row
    data = json.loads(text)
    access = None if data["access"] is None else frozenset(data["access"])
    return Collection(identity, tenant, name, owner, created, data["description"], access, data["embedder"])


def document_row(document: Document) -> tuple[Any, ...]:
    """Without the number of passages, which the adapter counts."""
    failure = document.failure
    data = {
        "file": document.file,
        "size_bytes": document.size_bytes,
        "content_hash": document.content_hash,
        "title": document.title,
        "kind": document.kind,
        "stage": document.stage,
        "author": document.author,
        "failure": [failure.code, failure.message, failure.what_to_do] if failure is not None else None,
    }
    return (
        document.id,
        document.tenant,
        document.collection,
        document.name,
        document.state,
        document.created_microseconds,
        document.updated_microseconds,
        json_text(data),
    )


def document_of(row: tuple[Any, ...]) -> Document:
    identity, tenant, collection, name, state, passages, created, updated, text = row
    data: dict[str, Any] = json.loads(text)
    failure = Failure(*data.pop("failure")) if data["failure"] is not None else data.pop("failure")
    return Document(
        id=identity,
        tenant=tenant,
        collection=collection,
        name=name,
        state=state,
        passages=passages,
        created_microseconds=created,
        updated_microseconds=updated,
        failure=failure,
        **data,
    )


def passage_of(row: tuple[Any, ...]) -> Passage:
    number, identity, collection, document, name, about, start, end, text, data = row
    kept = json.loads(data)
    return Passage(
        id=identity,
        collection=collection,
        document=document,
        document_name=name,
        title=json.loads(about)["title"] or name,
        start=start,
        end=end,
        text=text,
        headings=tuple(kept["headings"]),
        places=tuple(Place(*place) for place in kept["places"]),
        number=number,
    )


def place_lists(places: tuple[Place, ...]) -> list[list[Any]]:
    return [[place.start, place.end, place.kind, place.number, place.name] for place in places]


def json_text(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
