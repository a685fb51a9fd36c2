"""Errors in the form that OpenAI's clients read (W1)."""

from __future__ import annotations

from typing import Any, Final

from fastapi.responses import JSONResponse

from planwerk.server.authentication import refusal_headers
from planwerk.workflow.errors import PlanwerkError

TYPES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "invalid_request_error",
    409: "invalid_request_error",
    413: "invalid_request_error",
    422: "invalid_request_error",
    429: "rate_limit_error",
}
CODES: Final = {
    "key_refused": "invalid_api_key",
    "not_signed_in": "invalid_api_key",
    "profile_not_found": "model_not_found",
}


class BadRequest(PlanwerkError):
    """The request is not one of this protocol; `param` names what is wrong."""

    code = "invalid_request"
    http_status = 400

    def __init__(self, message: str, *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.param = param
        self.wire_code = code


def error_body(error: PlanwerkError) -> dict[str, Any]:
    """The error as the `error` of a body or a frame."""
    code = getattr(error, "wire_code", None) or CODES.get(error.code, error.code)
    message = f"{error.message} {error.what_to_do}".strip()
    kind = TYPES.get(error.http_status, "server_error")
    return {"error": {"message": message, "type": kind, "param": getattr(error, "param", None), "code": code}}


def error_response(error: PlanwerkError) -> JSONResponse:
    """The error as a response, while a status is still possible."""
    headers = refusal_headers(error)
    retry_after = getattr(error, "retry_after_seconds", None)
    if retry_after is not None:
        headers.setdefault("Retry-After", str(int(retry_after)))
    return JSONResponse(error_body(error), error.http_status, headers=headers)
