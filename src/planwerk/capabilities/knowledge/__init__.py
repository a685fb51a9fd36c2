"""Knowledge: collections of documents, searched with the rights of the person who asks (C3)."""

from planwerk.capabilities.knowledge.capability import Knowledge
from planwerk.capabilities.knowledge.fields import KnowledgeFields

__all__ = ["Knowledge", "KnowledgeFields"]
