"""What users test their blueprints with (E10): runs in memory on virtual time, and a model that plays a script."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from planwerk.testing.runs import RunResult, run_workflow
    from planwerk.testing.scripted_model import ScriptedCall, ScriptedModel, Stream
    from planwerk.testing.virtual_clock import virtual_time

_MODULES: Final = {
    "RunResult": "runs",
    "ScriptedCall": "scripted_model",
    "ScriptedModel": "scripted_model",
    "Stream": "scripted_model",
    "run_workflow": "runs",
    "virtual_time": "virtual_clock",
}

__all__ = ["RunResult", "ScriptedCall", "ScriptedModel", "Stream", "run_workflow", "virtual_time"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
