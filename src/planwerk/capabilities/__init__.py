"""Sub-workflows that blueprints call with events, one folder each; names are resolved when first used (PEP 562)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from planwerk.capabilities.conversation import Conversation, ConversationFields
    from planwerk.capabilities.knowledge import Knowledge, KnowledgeFields
    from planwerk.capabilities.memory import Memory, MemoryFields
    from planwerk.messages.blocks import Block

__all__ = ["Block", "Conversation", "ConversationFields", "Knowledge", "KnowledgeFields", "Memory", "MemoryFields"]

_MODULES: Final = {
    "Block": "planwerk.messages.blocks",
    "Conversation": "planwerk.capabilities.conversation",
    "ConversationFields": "planwerk.capabilities.conversation",
    "Knowledge": "planwerk.capabilities.knowledge",
    "KnowledgeFields": "planwerk.capabilities.knowledge",
    "Memory": "planwerk.capabilities.memory",
    "MemoryFields": "planwerk.capabilities.memory",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
