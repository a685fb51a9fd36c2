"""`/api/me/memories`: what is remembered of oneself; `/api/organization/memories`: what an organisation keeps (C2.3).

A person's memories are hers alone: no role reads them. What the organisation keeps is for its admins to write.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from planwerk.access.actions import Action, Resource
from planwerk.access.authorize import authorize
from planwerk.access.errors import NotFound
from planwerk.access.principal import Principal
from planwerk.capabilities.memory.ports import (
    MOST_IN_SCOPE,
    MOST_SUPERSEDED,
    MemoryPlace,
    MemoryQuery,
    MemoryScope,
    StoredMemory,
)
from planwerk.runtime.wire import wire_time
from planwerk.server.authentication import SignedIn
from planwerk.server.memory_views import (
    MemoriesDeleted,
    MemoryExport,
    MemoryGiven,
    MemoryList,
    MemorySources,
    MemoryView,
    NamespaceView,
    NewMemoryGiven,
    exported,
)
from planwerk.server.parts import Installed, Parts
from planwerk.server.routes.runs import CursorInvalid
from planwerk.server.shapes import Items
from planwerk.workflow.ids import EventId, new_id, parse_id

router = APIRouter(tags=["memories"])

Cursor = Annotated[str | None, Query(max_length=200)]
Limit = Annotated[int, Query(ge=1, le=200)]


@router.get("/api/me/memories", operation_id="list_memories")
async def list_memories(
    parts: Installed,
    principal: SignedIn,
    query: Annotated[
        str | None, Query(max_length=500, description="Only those that fit these words, best first.")
    ] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> MemoryList:
    """What is remembered of the person, what changed last first."""
    scope = _own(principal, Action.MEMORY_READ)
    if query is not None and query.strip():
        found = await parts.memories.search([scope], [MemoryQuery(query)], limit=limit)
        return await _page(parts, principal, scope, found, None)
    return await _listed(parts, principal, scope, cursor, limit)


@router.get("/api/me/memories/export", operation_id="export_memories")
async def export_memories(parts: Installed, principal: SignedIn, response: Response) -> MemoryExport:
    """All that is remembered of the person as a file, with what later statements took the place of."""
    scope = _own(principal, Action.MEMORY_READ)
    found = await parts.memories.newest(scope, limit=MOST_IN_SCOPE + MOST_SUPERSEDED, with_superseded=True)
    response.headers["Content-Disposition"] = 'attachment; filename="memories.json"'
    return MemoryExport(
        account=principal.account,
        exported=wire_time(parts.clock()),
        memories=[exported(memory) for memory in found],
    )


@router.patch("/api/me/memories/{memory}", operation_id="change_memory")
async def change_memory(parts: Installed, principal: SignedIn, memory: str, given: MemoryGiven) -> MemoryView:
    """Put something remembered of the person in other words."""
    scope = _own(principal, Action.MEMORY_EDIT)
    edited = await parts.memories.edit(scope, memory, given.text, now_microseconds=parts.clock())
    if edited is None:
        raise _missing(memory)
    return await MemorySources(parts, principal).view(edited)


@router.delete("/api/me/memories/{memory}", operation_id="delete_memory", status_code=204)
async def delete_memory(parts: Installed, principal: SignedIn, memory: str) -> Response:
    """Forget one thing for good, and what it took the place of."""
    if not await parts.memories.delete(_own(principal, Action.MEMORY_EDIT), memory):
        raise _missing(memory)
    return Response(status_code=204)


@router.delete("/api/me/memories", operation_id="delete_memories")
async def delete_memories(parts: Installed, principal: SignedIn) -> MemoriesDeleted:
    """Forget all that is remembered of the person, for good."""
    return MemoriesDeleted(deleted=await parts.memories.clear(_own(principal, Action.MEMORY_EDIT)))


@router.get("/api/organization/memories", operation_id="list_namespaces")
async def list_namespaces(parts: Installed, principal: SignedIn) -> Items[NamespaceView]:
    """The names under which the organisation keeps something."""
    authorize(principal, Action.MEMORY_READ, Resource.of_tenant(principal.tenant))
    counted = await parts.memories.namespaces(principal.tenant)
    return Items(items=[NamespaceView(namespace=name, memories=count) for name, count in counted.items()])


@router.get("/api/organization/memories/{namespace}", operation_id="list_organization_memories")
async def list_organization_memories(
    parts: Installed, principal: SignedIn, namespace: str, cursor: Cursor = None, limit: Limit = 50
) -> MemoryList:
    """What the organisation keeps under a name, what changed last first."""
    return await _listed(parts, principal, _of_organization(principal, namespace, Action.MEMORY_READ), cursor, limit)


@router.post("/api/organization/memories/{namespace}", operation_id="add_organization_memory", status_code=201)
async def add_organization_memory(
    parts: Installed, principal: SignedIn, namespace: str, given: NewMemoryGiven
) -> MemoryView:
    """Keep a text under a name, word for word; profiles that allow the name recall it."""
    scope = _of_organization(principal, namespace, Action.MEMORY_EDIT)
    identity = parse_id(given.id, EventId) if given.id is not None else new_id()
    now = parts.clock()
    new = StoredMemory(identity, scope, given.text, now, now, author=principal.account)
    if not await parts.memories.add(new):
        known = await parts.memories.get(scope, identity)
        if known is None or known.text != given.text:
            raise _missing(identity)
        new = known
    return await MemorySources(parts, principal).view(new)


@router.delete(
    "/api/organization/memories/{namespace}/{memory}", operation_id="delete_organization_memory", status_code=204
)
async def delete_organization_memory(parts: Installed, principal: SignedIn, namespace: str, memory: str) -> Response:
    """Delete a text from what the organisation keeps."""
    scope = _of_organization(principal, namespace, Action.MEMORY_EDIT)
    if not await parts.memories.delete(scope, memory):
        raise _missing(memory)
    return Response(status_code=204)


def _own(principal: Principal, action: Action) -> MemoryScope:
    """The person's memories; what somebody else has is in no scope of hers."""
    resource = Resource("memory", principal.account, principal.tenant, owner=principal.account)
    authorize(principal, action, resource)
    return MemoryScope.of_user(principal.tenant, principal.account)


def _of_organization(principal: Principal, namespace: str, action: Action) -> MemoryScope:
    authorize(principal, action, Resource("namespace", namespace, principal.tenant))
    return MemoryScope.of_organization(principal.tenant, namespace)


def _missing(memory: str) -> NotFound:
    return NotFound("memory", memory)


async def _listed(parts: Parts, principal: Principal, scope: MemoryScope, cursor: str | None, limit: int) -> MemoryList:
    found = await parts.memories.newest(scope, before=_place(cursor), limit=limit + 1)
    following = "{}.{}".format(*found[limit - 1].place) if len(found) > limit else None
    return await _page(parts, principal, scope, found[:limit], following)


async def _page(
    parts: Parts, principal: Principal, scope: MemoryScope, found: list[StoredMemory], following: str | None
) -> MemoryList:
    sources = MemorySources(parts, principal)
    return MemoryList(
        items=[await sources.view(memory) for memory in found],
        next=following,
        total=await parts.memories.count(scope),
        most=MOST_IN_SCOPE,
    )


def _place(cursor: str | None) -> MemoryPlace | None:
    """The place that a cursor of the list names.

    Raises:
        CursorInvalid: It is none of ours.
    """
    if cursor is None:
        return None
    updated, _, memory = cursor.partition(".")
    if not updated.isascii() or not updated.isdecimal() or len(updated) > 18 or not memory:
        raise CursorInvalid
    return int(updated), memory
