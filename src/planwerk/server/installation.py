"""What routes need of the installation they serve; `planwerk.app.Planwerk` has it, and server/ does not import that."""

from __future__ import annotations

from typing import Protocol, cast

from starlette.requests import HTTPConnection

from planwerk.access.service import AccessService
from planwerk.workspace.workspaces import Workspaces


class SignInParts(Protocol):
    """Who may come in, and the workspace that waits for them."""

    @property
    def access(self) -> AccessService: ...

    @property
    def workspaces(self) -> Workspaces: ...


def sign_in_parts(connection: HTTPConnection) -> SignInParts:
    """The installation that this application serves: `app.state.planwerk`."""
    return cast("SignInParts", connection.app.state.planwerk)
