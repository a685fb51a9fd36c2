"""Conversation: what every turn of a chat needs around its answer (C1)."""

from planwerk.capabilities.conversation.capability import Conversation
from planwerk.capabilities.conversation.fields import ConversationFields

__all__ = ["Conversation", "ConversationFields"]
