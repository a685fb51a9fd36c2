"""The names outsiders rely on: stable from the first release, resolved when first used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import planwerk

PUBLIC = [
    *(
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
    ),
    *(
        "EventDisplayer",
        "ExceptionEvent",
        "HumanInTheLoop",
        "LLMEvent",
        "LLMStopEvent",
        "LocaleHandler",
        "LocaleString",
    ),
    *(
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
    ),
    *(
        "StartEvent",
        "SteeringMessageEvent",
        "StepConfig",
        "StopEvent",
        "ThreadContext",
        "Timer",
        "UserIdentity",
        "UserMessageEvent",
    ),
    *("WorkflowError", "step"),
]


def test_the_public_names_are_these() -> None:
    assert planwerk.__all__ == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(planwerk, name).__name__ == name


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Telepathy"):
        getattr(planwerk, "Telepathy")  # noqa: B009 - it is not there, so a plain attribute would not type-check


def test_importing_planwerk_imports_nothing_else_of_it() -> None:
    code = "import sys, planwerk; print([name for name in sys.modules if name.startswith('planwerk.')])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
