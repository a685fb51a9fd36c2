"""Planwerk: conversational agents as workflows of typed events, composed from capabilities.

The names below are stable; each is resolved when it is first used (PEP 562), so importing `planwerk` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from planwerk.access.identity import UserIdentity
    from planwerk.app import Planwerk
    from planwerk.messages.events import (
        LLMEvent,
        LLMStopEvent,
        RefusalReason,
        RefusalStopEvent,
        SteeringMessageEvent,
        UserMessageEvent,
    )
    from planwerk.runtime.access_checker import AccessChecker
    from planwerk.runtime.contexts import RunContext, ThreadContext
    from planwerk.runtime.displayer import EventDisplayer
    from planwerk.runtime.locale_handler import LocaleHandler
    from planwerk.runtime.requested_features import RequestedFeatures
    from planwerk.runtime.run_info import RunInfo
    from planwerk.workflow.agents import AgentInTheLoop, Detached
    from planwerk.workflow.blueprint import Agent, AgentConfig, ProfileTemplate, SecretRef, StepConfig
    from planwerk.workflow.capability import Capability
    from planwerk.workflow.errors import RunStalled, WorkflowError
    from planwerk.workflow.events import (
        ControlAndDisplayEvent,
        ControlEvent,
        DisplayEvent,
        Event,
        ExceptionEvent,
        StartEvent,
        StopEvent,
    )
    from planwerk.workflow.locale_string import LocaleString
    from planwerk.workflow.people import Choice, HumanInTheLoop
    from planwerk.workflow.steps import Retry, step
    from planwerk.workflow.timers import Timer

_NAMES: Final = {
    "planwerk.access.identity": ("UserIdentity",),
    "planwerk.messages.events": (
        *("LLMEvent", "LLMStopEvent", "RefusalReason", "RefusalStopEvent", "SteeringMessageEvent", "UserMessageEvent"),
    ),
    "planwerk.app": ("Planwerk",),
    "planwerk.runtime.contexts": ("RunContext", "ThreadContext"),
    "planwerk.runtime.displayer": ("EventDisplayer",),
    "planwerk.runtime.locale_handler": ("LocaleHandler",),
    "planwerk.runtime.access_checker": ("AccessChecker",),
    "planwerk.runtime.requested_features": ("RequestedFeatures",),
    "planwerk.runtime.run_info": ("RunInfo",),
    "planwerk.workflow.agents": ("AgentInTheLoop", "Detached"),
    "planwerk.workflow.blueprint": ("Agent", "AgentConfig", "ProfileTemplate", "SecretRef", "StepConfig"),
    "planwerk.workflow.capability": ("Capability",),
    "planwerk.workflow.errors": ("RunStalled", "WorkflowError"),
    "planwerk.workflow.events": (
        *("ControlAndDisplayEvent", "ControlEvent", "DisplayEvent", "Event", "ExceptionEvent", "StartEvent"),
        "StopEvent",
    ),
    "planwerk.workflow.locale_string": ("LocaleString",),
    "planwerk.workflow.people": ("Choice", "HumanInTheLoop"),
    "planwerk.workflow.steps": ("Retry", "step"),
    "planwerk.workflow.timers": ("Timer",),
}
_MODULES: Final = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "AccessChecker",
    "Agent",
    "AgentConfig",
    "AgentInTheLoop",
    "Capability",
    "Choice",
    "ControlAndDisplayEvent",
    "ControlEvent",
    "Detached",
    "DisplayEvent",
    "Event",
    "EventDisplayer",
    "ExceptionEvent",
    "HumanInTheLoop",
    "LLMEvent",
    "LLMStopEvent",
    "LocaleHandler",
    "LocaleString",
    "Planwerk",
    "ProfileTemplate",
    "RefusalReason",
    "RefusalStopEvent",
    "RequestedFeatures",
    "Retry",
    "RunContext",
    "RunInfo",
    "RunStalled",
    "SecretRef",
    "StartEvent",
    "SteeringMessageEvent",
    "StepConfig",
    "StopEvent",
    "ThreadContext",
    "Timer",
    "UserIdentity",
    "UserMessageEvent",
    "WorkflowError",
    "step",
]


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(module), name)
