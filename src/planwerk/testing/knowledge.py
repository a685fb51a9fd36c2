"""Knowledge for tests: a library in memory, made of texts (E10.1)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from planwerk.access.actions import Role
from planwerk.access.identity import UserIdentity
from planwerk.access.ids import DEFAULT_TENANT, AccountId
from planwerk.access.principal import Principal
from planwerk.capabilities.knowledge.identity import identified
from planwerk.capabilities.knowledge.library import Library
from planwerk.capabilities.knowledge.ports import Document, DocumentText
from planwerk.documents.splitting import split
from planwerk.runtime.access_checker import AccessChecker
from planwerk.runtime.local import system_clock
from planwerk.storage.folder_files import TemporaryFiles
from planwerk.storage.in_memory.knowledge import InMemoryKnowledge
from planwerk.workflow.ids import new_id


def empty_library() -> Library:
    """A library without collections."""
    return Library(InMemoryKnowledge(), TemporaryFiles(), clock=system_clock)


async def knowledge_of(
    collections: Mapping[str, Mapping[str, str]], *, access: Iterable[str] | None = None, owner: str | None = None
) -> Library:
    """A library with these collections, ready to be searched.

    Args:
        collections: By name the documents, by name their Markdown.
        access: Who may read them (`account:ID`, `role:NAME`, …); None is everybody in the test.
        owner: The account whose they are.
    """
    library = empty_library()
    for name, documents in collections.items():
        collection = await library.create(DEFAULT_TENANT, name, owner=owner, access=access)
        for label, text in documents.items():
            document = Document(
                id=new_id(),
                tenant=DEFAULT_TENANT,
                collection=collection.id,
                name=label,
                file=new_id(),
                size_bytes=len(text.encode()),
                content_hash=hashlib.sha256(text.encode()).hexdigest(),
                created_microseconds=system_clock(),
                updated_microseconds=system_clock(),
                kind="markdown",
                stage="chunked",
                state="ready",
            )
            await library.index.put_document(document)
            passages = identified(collection.id, label, split(text))
            await library.index.keep_passages(document, DocumentText(text), passages)
    return library


def checker_of(user: UserIdentity | None) -> AccessChecker:
    """What a member of the tenant may read; the user, if there is one."""
    account, name = (user.id, user.name) if user is not None else ("tester", "Tester")
    return AccessChecker.of(Principal(DEFAULT_TENANT, AccountId(account), name, Role.MEMBER, via="local"))
