"""Versions, and titles, as ETags (S2.6)."""

from __future__ import annotations

import hashlib
import re

from planwerk.workflow.errors import PlanwerkError
from planwerk.workspace.rules.errors import VersionConflict


class MalformedETag(PlanwerkError):
    """An `If-Match` that no response of ours gave."""

    code = "malformed_etag"
    http_status = 400

    def __init__(self, given: str) -> None:
        super().__init__(
            f"If-Match {given[:40]!r} is no version of ours.", what_to_do="Send the ETag that reading it gave."
        )


class IfMatchFailed(VersionConflict):
    """A conflict of versions that the client guarded against with `If-Match`."""

    http_status = 412

    @classmethod
    def of(cls, conflict: VersionConflict) -> IfMatchFailed:
        return cls(conflict.artifact, base=conflict.base, head=conflict.head, patches=conflict.patches)


def etag(version: int) -> str:
    """The ETag of a version."""
    return f'"{version}"'


def text_etag(*parts: str | None) -> str:
    """The ETag of texts that have no version."""
    digest = hashlib.sha256("\0".join(part or "" for part in parts).encode()).hexdigest()
    return f'"{digest[:16]}"'


def version_of(if_match: str | None) -> int | None:
    """The version an `If-Match` names; None without one, or for `*`.

    Raises:
        MalformedETag: It is not one of ours.
    """
    if if_match is None or if_match.strip() == "*":
        return None
    found = re.fullmatch(r'\s*"(\d+)"\s*', if_match)
    if found is None:
        raise MalformedETag(if_match)
    return int(found.group(1))
