"""What users test their blueprints with (E10): runs in memory on virtual time, a model that plays a script, and
runs under faults.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from planwerk.models.played import Thought
    from planwerk.storage.in_memory.memories import InMemoryMemories
    from planwerk.testing.knowledge import knowledge_of
    from planwerk.testing.runs import RunResult, run_workflow
    from planwerk.testing.scripted_model import ScriptedCall, ScriptedModel, Stream
    from planwerk.testing.simulation import SimulationFailed, SimulationReport, simulate
    from planwerk.testing.virtual_clock import virtual_time

_MODULES: Final = {
    "InMemoryMemories": "planwerk.storage.in_memory.memories",
    "RunResult": "planwerk.testing.runs",
    "ScriptedCall": "planwerk.testing.scripted_model",
    "ScriptedModel": "planwerk.testing.scripted_model",
    "SimulationFailed": "planwerk.testing.simulation",
    "SimulationReport": "planwerk.testing.simulation",
    "Stream": "planwerk.testing.scripted_model",
    "Thought": "planwerk.models.played",
    "knowledge_of": "planwerk.testing.knowledge",
    "run_workflow": "planwerk.testing.runs",
    "simulate": "planwerk.testing.simulation",
    "virtual_time": "planwerk.testing.virtual_clock",
}

__all__ = [
    "InMemoryMemories",
    "RunResult",
    "ScriptedCall",
    "ScriptedModel",
    "SimulationFailed",
    "SimulationReport",
    "Stream",
    "Thought",
    "knowledge_of",
    "run_workflow",
    "simulate",
    "virtual_time",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
