"""Ready-made agents, one short file each; names are resolved when first used (PEP 562)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from planwerk.blueprints.llm_wrapping_agent import LLMWrappingAgent

__all__ = ["LLMWrappingAgent"]

_MODULES: Final = {"LLMWrappingAgent": "planwerk.blueprints.llm_wrapping_agent"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
