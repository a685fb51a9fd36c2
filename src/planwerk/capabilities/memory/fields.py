"""The settings a profile gets from the memory (C2)."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from planwerk.capabilities.memory.ports import NAMESPACE
from planwerk.locales.form_fields import form_field

Namespace = Annotated[str, Field(pattern=rf"^{NAMESPACE}$")]


class MemoryFields(BaseModel):
    """Mixin for the config of a blueprint that calls `Memory`.

    Attributes:
        recall_memories: Whether what is remembered reaches the model.
        store_memories: Whether something is learned from conversations.
        number_of_memories: Most memories of a person, and of the organisation, in one prompt.
        namespaces: Names in the organisation's memory that runs of the profile may read.
    """

    recall_memories: bool = form_field(True, "memory.fields.recall_memories", "switch")
    store_memories: bool = form_field(True, "memory.fields.store_memories", "switch")
    number_of_memories: int = form_field(10, "memory.fields.number_of_memories", "number", least=1)
    namespaces: tuple[Namespace, ...] = form_field((), "memory.fields.namespaces", "list")
