"""`/api/collections`, `/api/documents`, `/api/sources`: knowledge, and what came of what was brought (S2.5, C3).

What a person may not read looks like what does not exist, in lists, by id, and in what a question finds.
"""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from planwerk.access.actions import Action, Resource
from planwerk.access.authorize import allowed, authorize
from planwerk.access.errors import NotFound
from planwerk.access.principal import Principal
from planwerk.capabilities.knowledge.library import collection_resource
from planwerk.capabilities.knowledge.ports import Collection, Document, Found, Scope, State
from planwerk.capabilities.knowledge.shelf import retrieved
from planwerk.server.authentication import SignedIn
from planwerk.server.knowledge_shapes import (
    CollectionPatch,
    CollectionView,
    DocumentView,
    KnowledgeHits,
    KnowledgeList,
    KnowledgeQuestion,
    NewCollection,
    SourceView,
    collection_view,
    document_view,
    source_view,
)
from planwerk.server.parts import Installed, Parts, locale_of
from planwerk.server.routes.runs import CursorInvalid
from planwerk.server.shapes import Items
from planwerk.server.uploads import receive_files

router = APIRouter(tags=["knowledge"])

FORM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "name": {"type": "string", "description": "Names the file that follows."},
                        "file": {"type": "string", "format": "binary"},
                    },
                }
            }
        },
    }
}


@router.get("/api/collections", operation_id="list_collections")
async def list_collections(parts: Installed, principal: SignedIn) -> KnowledgeList:
    """The collections that the person may read."""
    tenant = Resource.of_tenant(principal.tenant)
    authorize(principal, Action.COLLECTION_READ, tenant)
    found = await _readable(parts, principal)
    return KnowledgeList(
        items=await _views(parts, principal, found),
        may_create=allowed(principal, Action.COLLECTION_CREATE, tenant),
        embedders=list(parts.library.embedders),
    )


@router.post("/api/collections", operation_id="create_collection", status_code=201)
async def create_collection(
    response: Response, parts: Installed, principal: SignedIn, given: NewCollection
) -> CollectionView:
    """Make a collection of one's own."""
    authorize(principal, Action.COLLECTION_CREATE, Resource.of_tenant(principal.tenant))
    made = await parts.library.create(
        principal.tenant,
        given.name,
        owner=principal.account,
        description=given.description,
        access=given.access,
        embedder=given.embedder,
    )
    response.headers["Location"] = f"/api/collections/{made.id}"
    return await _view(parts, principal, made)


@router.get("/api/collections/{collection}", operation_id="read_collection")
async def read_collection(parts: Installed, principal: SignedIn, collection: str) -> CollectionView:
    """One collection, with what is in it counted."""
    return await _view(parts, principal, await _find_collection(parts, principal, collection, Action.COLLECTION_READ))


@router.patch("/api/collections/{collection}", operation_id="change_collection")
async def change_collection(
    parts: Installed, principal: SignedIn, collection: str, given: CollectionPatch
) -> CollectionView:
    """Rename it, describe it, say who may read it, give it another embedder."""
    found = await _find_collection(parts, principal, collection, Action.COLLECTION_EDIT)
    changed = await parts.library.change(
        found,
        name=given.name,
        description=given.description,
        access=given.access,
        change_access="access" in given.model_fields_set,
        embedder=given.embedder,
        change_embedder="embedder" in given.model_fields_set,
        reembed=given.reembed,
    )
    return await _view(parts, principal, changed)


@router.delete("/api/collections/{collection}", operation_id="delete_collection", status_code=204)
async def delete_collection(parts: Installed, principal: SignedIn, collection: str) -> None:
    """Delete it with all its documents and their originals."""
    await parts.library.delete(await _find_collection(parts, principal, collection, Action.COLLECTION_EDIT))


@router.get("/api/collections/{collection}/documents", operation_id="list_documents")
async def list_documents(
    request: Request,
    parts: Installed,
    principal: SignedIn,
    collection: str,
    state: State | None = None,
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Items[DocumentView]:
    """Its documents by name, each with how far it has come and why it failed."""
    found = await _find_collection(parts, principal, collection, Action.COLLECTION_READ)
    after = await _after(parts, found, cursor) if cursor is not None else None
    listed = await parts.library.index.documents(principal.tenant, found.id, after=after, limit=limit + 1, state=state)
    page = listed[:limit]
    return Items(
        items=[document_view(document, locale_of(request, principal)) for document in page],
        next=page[-1].id if len(listed) > limit else None,
    )


async def _after(parts: Parts, collection: Collection, cursor: str) -> tuple[str, str]:
    last = await parts.library.index.document(collection.tenant, cursor)
    if last is None or last.collection != collection.id:
        raise CursorInvalid
    return last.name, last.id


@router.post(
    "/api/collections/{collection}/documents", operation_id="upload_documents", status_code=202, openapi_extra=FORM
)
async def upload_documents(
    request: Request, response: Response, parts: Installed, principal: SignedIn, collection: str
) -> Items[DocumentView]:
    """Bring documents, as a form with files; they are read afterwards (202).

    A document of the same name is replaced; one that is there with the same content is left as it is.
    """
    found = await _find_collection(parts, principal, collection, Action.COLLECTION_EDIT)
    library = parts.library
    uploads = await receive_files(request, library.files, principal.tenant, most_bytes=parts.file_bytes)
    received = [await library.receive(found, upload.name, upload.file, author=principal.account) for upload in uploads]
    response.headers["Location"] = f"/api/collections/{found.id}/documents"
    locale = locale_of(request, principal)
    return Items(items=[document_view(each.document, locale, changed=each.changed) for each in received])


@router.get("/api/documents/{document}", operation_id="read_document")
async def read_document(request: Request, parts: Installed, principal: SignedIn, document: str) -> DocumentView:
    """One document and how far it has come."""
    found = await _find_document(parts, principal, document, Action.COLLECTION_READ)
    return document_view(found, locale_of(request, principal))


@router.get(
    "/api/documents/{document}/original",
    operation_id="read_original",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/octet-stream": {}}, "description": "The file as it was brought."}},
)
async def read_original(parts: Installed, principal: SignedIn, document: str) -> StreamingResponse:
    """The file as it was brought, to be saved: it is never shown as a page of ours."""
    found = await _find_document(parts, principal, document, Action.COLLECTION_READ)
    name = quote(found.name.replace("\\", "/").rpartition("/")[2] or "document", safe="")
    return StreamingResponse(
        parts.library.files.read(principal.tenant, found.file),
        media_type="application/octet-stream",
        headers={
            "Content-Disposition": f"attachment; filename*=UTF-8''{name}",
            "Content-Length": str(found.size_bytes),
        },
    )


@router.post("/api/documents/{document}/retry", operation_id="retry_document", status_code=202)
async def retry_document(request: Request, parts: Installed, principal: SignedIn, document: str) -> DocumentView:
    """Read a document anew that failed."""
    found = await _find_document(parts, principal, document, Action.COLLECTION_EDIT)
    return document_view(await parts.library.retry(found), locale_of(request, principal))


@router.delete("/api/documents/{document}", operation_id="delete_document", status_code=204)
async def delete_document(parts: Installed, principal: SignedIn, document: str) -> None:
    """Delete a document with its passages and its original."""
    await parts.library.remove(await _find_document(parts, principal, document, Action.COLLECTION_EDIT))


@router.post("/api/knowledge/search", operation_id="search_knowledge")
async def search_knowledge(parts: Installed, principal: SignedIn, given: KnowledgeQuestion) -> KnowledgeHits:
    """Try a question: the passages that an agent would get, with their scores, and no model."""
    authorize(principal, Action.COLLECTION_READ, Resource.of_tenant(principal.tenant))
    if given.collections is None:
        where = await _readable(parts, principal)
    else:
        where = [await _find_collection(parts, principal, name, Action.COLLECTION_READ) for name in given.collections]
    scopes = [Scope(collection.id) for collection in where]
    found = await parts.library.search(principal.tenant, scopes, [given.query], limit=given.limit)
    names = {collection.id: collection.name for collection in where}
    return KnowledgeHits(items=[retrieved(each, names[each.passage.collection]) for each in found])


@router.get("/api/sources/{source}", operation_id="read_source")
async def read_source(parts: Installed, principal: SignedIn, source: str) -> SourceView:
    """A passage by what it is cited by, in its document: for who opens a citation."""
    passage = await parts.library.index.passage(principal.tenant, source)
    if passage is None:
        authorize(principal, Action.COLLECTION_READ, Resource.missing("collection", source))
        raise NotFound("source", source)
    try:
        document = await _find_document(parts, principal, passage.document, Action.COLLECTION_READ)
        collection = await _find_collection(parts, principal, passage.collection, Action.COLLECTION_READ)
        text = await parts.library.index.text(principal.tenant, passage.document)
    except NotFound:
        raise NotFound("collection", source) from None
    if text is None:
        raise NotFound("source", source)
    location = retrieved(Found(passage, 0.0), collection.name).location
    return source_view(passage, location, collection, document, text)


async def _readable(parts: Parts, principal: Principal) -> list[Collection]:
    return [
        collection
        for collection in await parts.library.index.collections(principal.tenant)
        if allowed(principal, Action.COLLECTION_READ, collection_resource(collection))
    ]


async def _find_collection(parts: Parts, principal: Principal, collection: str, action: Action) -> Collection:
    """A collection by its id.

    Raises:
        NotFound: There is none, or it is not hers to read.
    """
    found = await parts.library.index.collection(principal.tenant, collection)
    missing = Resource.missing("collection", collection)
    authorize(principal, action, collection_resource(found) if found is not None else missing)
    assert found is not None
    return found


async def _find_document(parts: Parts, principal: Principal, document: str, action: Action) -> Document:
    """A document by its id; who may do what with it is who may with its collection.

    Raises:
        NotFound: There is none, or its collection is not hers to read.
    """
    found = await parts.library.index.document(principal.tenant, document)
    if found is None:
        authorize(principal, action, Resource.missing("collection", document))
        raise NotFound("collection", document)
    try:
        await _find_collection(parts, principal, found.collection, action)
    except NotFound:
        raise NotFound("collection", document) from None
    return found


async def _view(parts: Parts, principal: Principal, collection: Collection) -> CollectionView:
    return (await _views(parts, principal, [collection]))[0]


async def _views(parts: Parts, principal: Principal, found: list[Collection]) -> list[CollectionView]:
    counts = await parts.library.index.counts(principal.tenant, [collection.id for collection in found])
    return [
        collection_view(
            collection,
            counts[collection.id],
            may_edit=allowed(principal, Action.COLLECTION_EDIT, collection_resource(collection)),
        )
        for collection in found
    ]
