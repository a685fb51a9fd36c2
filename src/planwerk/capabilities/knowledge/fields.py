"""The settings a profile gets from knowledge (C3)."""

from __future__ import annotations

from pydantic import BaseModel

from planwerk.locales.form_fields import form_field
from planwerk.messages.events import KnowledgeReference


class KnowledgeFields(BaseModel):
    """Mixin for the config of a blueprint that calls `Knowledge`.

    Attributes:
        collections: Names or ids of collections that the blueprint searches beside what a message refers to; of each
            run only those that the asking person may read.
        number_of_passages: Most passages in one prompt.
    """

    collections: tuple[str, ...] = form_field((), "knowledge.fields.collections", "list")
    number_of_passages: int = form_field(8, "knowledge.fields.number_of_passages", "number", least=1)

    def knowledge_references(self) -> tuple[KnowledgeReference, ...]:
        """The collections of the profile, as `Knowledge.search` takes them."""
        return tuple(KnowledgeReference(collection=name, label=name) for name in self.collections)
