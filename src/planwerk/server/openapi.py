"""The OpenAPI document of the REST surface, for clients and for our own types (S2.6)."""

from __future__ import annotations

from typing import Any, cast

from planwerk.server.application import create_app
from planwerk.server.parts import Parts


def document() -> dict[str, Any]:
    """OpenAPI 3.1, the same for every installation: nothing is started for it."""
    return create_app(cast("Parts", None)).openapi()
