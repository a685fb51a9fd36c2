"""The OpenAPI document of the REST surface, for clients and for our own types (S2.6)."""

from __future__ import annotations

from typing import Any, Final, cast

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from planwerk.server.authentication import COOKIE, CSRF_HEADER
from planwerk.server.problems import MEDIA_TYPE

PROBLEMS: Final = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
"""RFC 9457."""
OPENAI_ERROR: Final = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "param", "code"],
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"]},
                "code": {"type": ["string", "null"]},
            },
        }
    },
}
FRAMEWORK_ERRORS: Final = ("HTTPValidationError", "ValidationError")
"""The framework's own shape of a validation error; here each error is a problem."""
WAYS_IN: Final = {
    "apiKey": {"type": "http", "scheme": "bearer", "description": "An API key: `Authorization: Bearer pw_…`."},
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": COOKIE,
        "description": f"A browser's session; writes need its CSRF token in `{CSRF_HEADER}` besides.",
    },
}
PUBLIC: Final = frozenset({"read_server", "health_live", "health_ready", "sign_in", "sign_out"})


def describe(app: FastAPI) -> None:
    """Let the application describe itself as it is: one shape of error, two ways in."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = openapi


def _document(app: FastAPI) -> dict[str, Any]:
    schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    schemas: dict[str, Any] = schema["components"]["schemas"]
    for name in FRAMEWORK_ERRORS:
        schemas.pop(name, None)
    schema["components"]["securitySchemes"] = WAYS_IN
    for path, operations in cast("dict[str, dict[str, Any]]", schema["paths"]).items():
        for operation in operations.values():
            _correct(path, operation)
    return schema


def _correct(path: str, operation: dict[str, Any]) -> None:
    responses: dict[str, Any] = operation["responses"]
    responses.pop("422", None)  # "default" says the same, in the shape that is really sent
    if "default" in responses:
        content = {"application/json": {"schema": OPENAI_ERROR}} if path.startswith("/v1/") else PROBLEMS
        responses["default"] = {"description": "What went wrong, and what to do.", "content": content}
    public = operation.get("operationId") in PUBLIC
    operation["security"] = [] if public else [{name: []} for name in WAYS_IN]


def document() -> dict[str, Any]:
    """OpenAPI 3.1, the same for every installation: nothing is started for it."""
    from planwerk.server.application import create_app
    from planwerk.server.parts import Parts

    return create_app(cast("Parts", None)).openapi()
