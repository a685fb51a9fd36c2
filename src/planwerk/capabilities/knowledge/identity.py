"""What a passage is cited by (C3.3): made from where it stands and what it says, so a citation never changes words."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

from planwerk.capabilities.knowledge.ports import NewPassage
from planwerk.documents.splitting import Passage


def identified(collection: str, document: str, passages: Iterable[Passage]) -> list[NewPassage]:
    """The passages of a document with their identities; equal ones are told apart by which of them it is.

    Args:
        document: Its name in the collection.
    """
    seen: Counter[str] = Counter()
    found: list[NewPassage] = []
    for passage in passages:
        seen[passage.text] += 1
        said = "\0".join((collection, document, str(seen[passage.text]), passage.text))
        digest = hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:32]
        found.append(NewPassage(digest, passage.start, passage.end, passage.text, passage.headings))
    return found
