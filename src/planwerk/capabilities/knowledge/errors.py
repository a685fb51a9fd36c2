"""What knowledge refuses.

PlanwerkError
└── KnowledgeRefused
    ├── CollectionNameInvalid      blank, too long, or not one line
    ├── CollectionNameTaken        the person has one of this name already
    ├── CollectionAccessInvalid    an entry of the access list names nobody
    ├── DocumentNameInvalid        a document's name is blank or too long
    ├── UnknownEmbedder            no embedder of this name is configured
    ├── EmbedderFixed              a collection's embedder changes only by embedding everything anew
    └── NothingToRetry             the document did not fail
"""

from __future__ import annotations

from collections.abc import Iterable

from planwerk.workflow.errors import PlanwerkError


class KnowledgeRefused(PlanwerkError):
    """Knowledge was not read or not changed."""

    code = "knowledge_refused"
    http_status = 422


class CollectionNameInvalid(KnowledgeRefused):
    """A collection's name is blank, too long, or has more than one line."""

    code = "collection_name_invalid"

    def __init__(self, name: str, most: int) -> None:
        super().__init__(
            f"{name[:60]!r} cannot name a collection (C3.1).",
            what_to_do=f"Take one line of 1 to {most} characters.",
        )


class CollectionNameTaken(KnowledgeRefused):
    """The person has a collection of this name; of others' names nothing is told."""

    code = "collection_name_taken"
    http_status = 409

    def __init__(self, name: str) -> None:
        super().__init__(f"You have a collection {name!r} already (C3.1).", what_to_do="Choose another name.")


class CollectionAccessInvalid(KnowledgeRefused):
    """An entry of an access list names nobody."""

    code = "collection_access_invalid"

    def __init__(self, entry: str) -> None:
        super().__init__(
            f"{entry[:60]!r} names nobody who could read a collection (C3.1).",
            what_to_do="Give account:ID, group:NAME, role:NAME or profile:SLUG; or no list for the whole tenant.",
        )


class DocumentNameInvalid(KnowledgeRefused):
    """A document's name is blank or too long."""

    code = "document_name_invalid"

    def __init__(self, most: int) -> None:
        super().__init__("A document has no name, or a very long one.", what_to_do=f"Take 1 to {most} characters.")


class UnknownEmbedder(KnowledgeRefused):
    """No embedder of this name is configured here."""

    code = "unknown_embedder"

    def __init__(self, name: str, known: Iterable[str]) -> None:
        listed = ", ".join(known) or "none is configured"
        super().__init__(
            f"there is no embedder {name[:60]!r} here (C3.1): {listed}.",
            what_to_do="Name one that is configured, or none: full text needs no embedder.",
        )


class EmbedderFixed(KnowledgeRefused):
    """A collection's embedder was to be changed without embedding everything anew."""

    code = "embedder_fixed"
    http_status = 409

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the vectors of the collection {name!r} come from its embedder, and those of two do not compare (C3.1).",
            what_to_do="Ask for it with `reembed`: every document is then embedded anew.",
        )


class NothingToRetry(KnowledgeRefused):
    """A document that did not fail was to be tried again."""

    code = "nothing_to_retry"
    http_status = 409

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} did not fail (C3.1).", what_to_do="Upload it anew to have it read again.")
