"""A small task that fails or takes too long is given up with a warning: it never fails the turn."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from planwerk.models.errors import ModelError
from planwerk.runtime.locale_handler import LocaleHandler
from planwerk.workflow.events import StepWarningEvent

TASK_SECONDS: Final = 20.0
"""Nobody waits longer for a title, nor a turn for its gate."""

DegradingStep: TypeAlias = Literal["gate", "derive", "conclude", "end_turn"]
_TEXTS: Final[dict[DegradingStep, str]] = {
    "gate": "conversation.warnings.gate_failed",
    "derive": "conversation.warnings.condensing_failed",
    "conclude": "conversation.warnings.follow_ups_failed",
    "end_turn": "conversation.warnings.follow_ups_failed",
}


def degraded(step: DegradingStep, error: ModelError | TimeoutError, locale: LocaleHandler) -> StepWarningEvent:
    """What people are told of a task that was given up."""
    known = isinstance(error, ModelError)
    cause = error.message.rstrip(".") if known else locale.text("conversation.warnings.too_slow")
    return StepWarningEvent(
        step=f"Conversation.{step}",
        code=error.code if known else "timeout",
        message=locale.text(_TEXTS[step], cause=cause),
    )
