"""Memory: what is known about a person, and what an organisation keeps (C2)."""

from planwerk.capabilities.memory.capability import Memory
from planwerk.capabilities.memory.fields import MemoryFields

__all__ = ["Memory", "MemoryFields"]
