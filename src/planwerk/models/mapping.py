"""Other people's exceptions to our errors: one table for every provider (E4.4).

pydantic-ai sorts what providers and transports raise into categories; this turns a category into our error, with the
provider's words shortened and without anything that looks like a key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelRequestTimeout,
    ModelServerError,
    ModelUnavailableError,
    UnexpectedModelBehavior,
    UserError,
)

from planwerk.messages.sanitise import sanitise_text
from planwerk.models.errors import (
    ModelBrokeOff,
    ModelContextExceeded,
    ModelEmpty,
    ModelRateLimited,
    ModelRefused,
    ModelUnreachable,
)
from planwerk.workflow.errors import PlanwerkError

LONGEST_CAUSE: Final = 300
_KEY: Final = re.compile(r"\b(sk|pk|pw|gsk|key|xai|AIza|Bearer)[-_ ]?[A-Za-z0-9_*.\-]{8,}")
_WINDOW: Final = re.compile(
    r"context.?(length|window|size)|maximum context|prompt is too long|too many tokens|exceeds? the available context",
    re.IGNORECASE,
)
QUOTA: Final = "The account's quota or credit is used up: top it up, or choose another model."
NO_API: Final = "Check the base URL: an OpenAI-compatible one usually ends in `/v1`."


def model_error(error: Exception, *, model: str, streamed: bool = False, text: str = "") -> PlanwerkError:
    """Our error for what a model call raised; an error of ours is itself.

    Args:
        model: The name the model was asked under.
        streamed: Whether the answer had begun; then whatever happened, it broke off.
        text: What had been streamed by then.
    """
    if isinstance(error, PlanwerkError):
        return error
    cause = shortened_cause(error)
    if streamed:
        return ModelBrokeOff(model, cause, text=text)
    match error:
        case ModelContextWindowExceededError():
            return ModelContextExceeded(model, cause)
        case ModelRequestRejectedError() if _WINDOW.search(cause):
            return ModelContextExceeded(model, cause)
        case ModelQuotaExceededError():
            return ModelRefused(model, cause, what_to_do=QUOTA)
        case ModelRateLimitError():
            return ModelRateLimited(model, cause, retry_after_seconds=error.retry_after)
        case ModelRequestRejectedError() | ContentFilterError() | UserError():
            return ModelRefused(model, cause)
        case ModelConnectionError() | ModelRequestTimeout() | ModelUnavailableError() | ModelServerError():
            return ModelUnreachable(model, cause)
        case UnexpectedModelBehavior() if "ended without content" in cause:
            return ModelEmpty(model)
        case UnexpectedModelBehavior():
            return ModelUnreachable(model, cause, what_to_do=NO_API)
        case _:
            return ModelBrokeOff(model, cause, text=text)


def shortened_cause(error: Exception) -> str:
    """What the provider said, in one line of at most 300 characters, without keys."""
    status = f"{error.status_code} " if isinstance(error, ModelHTTPError) else ""
    said = _said(error.body) if isinstance(error, ModelAPIError) else ""
    if not said and not status:
        said = str(error) or type(error).__name__
        root = error.__cause__.__cause__ if error.__cause__ is not None else None
        said = f"{said} ({root})" if root is not None and str(root) and str(root) not in said else said
    line = " ".join(sanitise_text(f"{status}{said}").split())
    line = _KEY.sub(lambda match: f"{match.group(1)}-…", line)
    return line if len(line) <= LONGEST_CAUSE else f"{line[: LONGEST_CAUSE - 1]}…"


def _said(body: object) -> str:
    """The provider's message, wherever its error body holds it."""
    if isinstance(body, str):
        return "" if body.lstrip().startswith("<") else body
    if not isinstance(body, Mapping):
        return ""
    fields = cast("Mapping[str, Any]", body)
    for key in ("message", "error", "detail", "msg"):
        value = fields.get(key)
        if isinstance(value, Mapping):
            return _said(cast("object", value))
        if isinstance(value, str) and value:
            return value
    return ""
