"""What users test their blueprints with (E10): runs in memory on virtual time, a model that plays a script, and
runs under faults.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from planwerk.models.played import Thought
    from planwerk.testing.runs import RunResult, run_workflow
    from planwerk.testing.scripted_model import ScriptedCall, ScriptedModel, Stream
    from planwerk.testing.simulation import SimulationFailed, SimulationReport, simulate
    from planwerk.testing.virtual_clock import virtual_time

_MODULES: Final = {
    "RunResult": "runs",
    "ScriptedCall": "scripted_model",
    "ScriptedModel": "scripted_model",
    "SimulationFailed": "simulation",
    "SimulationReport": "simulation",
    "Stream": "scripted_model",
    "Thought": "scripted_model",
    "run_workflow": "runs",
    "simulate": "simulation",
    "virtual_time": "virtual_clock",
}

__all__ = [
    "RunResult",
    "ScriptedCall",
    "ScriptedModel",
    "SimulationFailed",
    "SimulationReport",
    "Stream",
    "Thought",
    "run_workflow",
    "simulate",
    "virtual_time",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
