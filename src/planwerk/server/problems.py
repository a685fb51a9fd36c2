"""Errors over HTTP: one shape, RFC 9457 with a stable `code` and what to do (S2.6)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.types import Scope, Send

from planwerk.server.authentication import refusal_headers
from planwerk.workflow.errors import PlanwerkError
from planwerk.workspace.rules.errors import Rejection

log = logging.getLogger(__name__)

MEDIA_TYPE: Final = "application/problem+json"
CODES: Final[Mapping[int, str]] = {
    400: "bad_request",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    413: "too_large",
    415: "unsupported_media_type",
}


class Problem(BaseModel):
    """What went wrong (RFC 9457): `code` is stable, `detail` is for people, `what_to_do` is the next step."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str
    what_to_do: str = ""
    request_id: str | None = None
    errors: list[dict[str, Any]] | None = None
    details: dict[str, Any] | None = None
    """Typed details of a rejected command: versions, patches since, both sides of a conflict."""


def problem(
    request: Request,
    status: int,
    code: str,
    detail: str,
    *,
    what_to_do: str = "",
    errors: Sequence[Mapping[str, Any]] | None = None,
    details: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """A problem as a response."""
    body = Problem(
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        code=code,
        what_to_do=what_to_do,
        request_id=getattr(request.state, "request_id", None),
        errors=[dict(error) for error in errors] if errors is not None else None,
        details=dict(details) if details is not None else None,
    )
    return JSONResponse(
        body.model_dump(mode="json", exclude_none=True), status, headers=dict(headers or {}), media_type=MEDIA_TYPE
    )


async def send_problem(scope: Scope, send: Send, status: int, code: str, detail: str, *, what_to_do: str = "") -> None:
    """Answer with a problem below the routes; on `/v1` in the form that its clients know."""
    request = Request(scope)
    response = problem(request, status, code, detail, what_to_do=what_to_do)
    if scope["path"].startswith("/v1/"):
        kind = "invalid_request_error" if status < 500 else "server_error"
        error = {"message": f"{detail} {what_to_do}".strip(), "type": kind, "param": None, "code": code}
        response = JSONResponse({"error": error}, status)
    await send({"type": "http.response.start", "status": status, "headers": response.raw_headers})
    await send({"type": "http.response.body", "body": response.body, "more_body": False})


def of_error(request: Request, error: PlanwerkError) -> JSONResponse:
    """The problem of one of our errors."""
    if error.http_status >= 500:
        log.error("%s", error, exc_info=error)
    return problem(
        request,
        error.http_status,
        error.code,
        error.message,
        what_to_do=error.what_to_do,
        errors=getattr(error, "errors", None) if isinstance(getattr(error, "errors", None), list) else None,
        details=error.details if isinstance(error, Rejection) else None,
        headers=refusal_headers(error),
    )


def install(app: FastAPI) -> None:
    """Give every error of the application this shape."""

    async def planwerk_error(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, PlanwerkError)
        return of_error(request, error)

    async def invalid(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError | ValidationError)
        found = [_plain(item) for item in error.errors()]
        wrong_json = any(item["type"] == "json_invalid" for item in found)
        code, status = ("malformed_json", 400) if wrong_json else ("validation_failed", 422)
        where = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in found[:5])
        return problem(
            request, status, code, where, what_to_do="Correct what is named, and send it again.", errors=found
        )

    async def http_error(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        code = CODES.get(error.status_code, "http_error")
        return problem(request, error.status_code, code, str(error.detail), headers=error.headers)

    app.add_exception_handler(PlanwerkError, planwerk_error)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(ValidationError, invalid)
    app.add_exception_handler(HTTPException, http_error)


def _plain(item: Mapping[str, Any]) -> dict[str, Any]:
    """A validation error without the input, which may hold what should not be repeated."""
    return {"loc": list(item["loc"]), "msg": item["msg"], "type": item["type"]}
