"""Errors in the form that OpenAI's clients read (W1).

PlanwerkError
├── BadRequest       400  the request is none of this protocol; `param` names what is wrong
├── ModelNotFound    404  no such profile, or none that the key may use: nobody can tell which
├── UnknownUrl       404  no such path under /v1
├── TooMuch          413  the body is larger than this server reads
├── ServerFault      500  something unexpected
└── ServerEnds       503  the server shuts down while it answers
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final

from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from planwerk.server.authentication import refusal_headers
from planwerk.workflow.errors import PlanwerkError

log = logging.getLogger(__name__)

TYPES: Final = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
"""Every other 4xx is an `invalid_request_error`, every 5xx a `server_error`."""
INVALID_KEY: Final = "invalid_api_key"
RETRY_SECONDS: Final = 5
"""Asked for after a 429 of a model whose provider named no time."""


class BadRequest(PlanwerkError):
    """The request is not one of this protocol; `param` names what is wrong."""

    code = "invalid_request"
    http_status = 400

    def __init__(self, message: str, *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.param = param
        if code is not None:
            self.code = code  # pyright: ignore[reportAttributeAccessIssue] - narrower than the class's


class ModelNotFound(PlanwerkError):
    """There is no profile of this name that the key may use."""

    code = "model_not_found"
    http_status = 404
    param = "model"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"there is no model {name[:80]!r} for this key.", what_to_do="GET /v1/models lists those there are."
        )


class UnknownUrl(PlanwerkError):
    """There is nothing at this address."""

    code = "unknown_url"
    http_status = 404

    def __init__(self, method: str, path: str) -> None:
        super().__init__(
            f"there is no {method} {path[:80]} here.",
            what_to_do="Offered are GET /v1/models, GET /v1/models/ID and POST /v1/chat/completions.",
        )


class TooMuch(PlanwerkError):
    """The body is larger than this server reads."""

    code = "too_large"
    http_status = 413


class ServerFault(PlanwerkError):
    """Something unexpected happened while the answer was made."""

    code = "internal_error"

    def __init__(self) -> None:
        super().__init__("something went wrong in the server.", what_to_do="Try again; tell an admin the request id.")


class ServerEnds(PlanwerkError):
    """The server shuts down while it answers."""

    code = "server_shutting_down"
    http_status = 503

    def __init__(self) -> None:
        super().__init__("the server is shutting down.", what_to_do="Ask again in a moment.")


def error_body(error: PlanwerkError) -> dict[str, Any]:
    """The error as the `error` of a body or a frame."""
    status = error.http_status
    code = INVALID_KEY if status == 401 else error.code
    kind = TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    message = f"{error.message} {error.what_to_do}".strip()
    return {"error": {"message": message, "type": kind, "param": getattr(error, "param", None), "code": code}}


def error_response(error: PlanwerkError, *, repeatable: bool = True) -> JSONResponse:
    """The error as a response, while a status is still possible.

    Args:
        repeatable: Whether the official client may repeat the request by itself; not once a message has been posted.
    """
    headers = refusal_headers(error)
    if error.http_status == 429:
        headers.setdefault("Retry-After", str(RETRY_SECONDS))
    if not repeatable:
        headers["X-Should-Retry"] = "false"
    return JSONResponse(error_body(error), error.http_status, headers=headers)


def whatever(error: Exception) -> PlanwerkError:
    """Any error as one of ours; what is unexpected is logged and not shown."""
    match error:
        case PlanwerkError():
            return error
        case HTTPException(status_code=413):
            return TooMuch(str(error.detail), what_to_do="Send less.")
        case _:
            log.error("a request to /v1 failed", exc_info=error)
            return ServerFault()


class OpenAIRoute(APIRoute):
    """A route whose every error has OpenAI's form."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handling(request: Request) -> Response:
            try:
                return await handle(request)
            except ClientDisconnect:
                return Response(status_code=400)  # nobody reads it
            except Exception as error:
                return error_response(whatever(error))

        return handling
