"""Rejections: a command that is refused changes nothing and says why (A2.2).

WorkspaceError
├── Rejection                what the rules refuse; `details` is its typed body on every surface
│   ├── VersionConflict      409  base, head, and the patches made since
│   ├── MergeConflict        409  both sides and the place (A4.2)
│   ├── InvalidState         409
│   ├── RequestNotOpen       409  `request_answered`, `request_timed_out` or `request_closed`
│   ├── TitleChanged         412  the title that was to be replaced, and the one that is there
│   ├── ValidationFailed     422  Pydantic's errors
│   ├── PatchFailed          422  which operation or anchor, how often it occurs
│   ├── NotFound             404
│   └── Forbidden            403
├── ArtifactUnreadable       stored data of one artifact cannot be read by today's class (A1.3)
├── SoleWorkspaceTaken       another workspace of this kind and owner was made first
├── StaleHead                another commit came first; the handle loads again and decides anew
└── StaleCursor              another owner moved the cursor (E7.9)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from planwerk.workflow.errors import PlanwerkError
from planwerk.workspace.rules.json_values import JSON, JSONObject


class WorkspaceError(PlanwerkError):
    """Any error of shared work."""

    code: ClassVar[str] = "workspace_error"


class Rejection(WorkspaceError):
    """A command that the rules refuse. Nothing was changed."""

    code: ClassVar[str] = "rejected"
    http_status: ClassVar[int] = 409

    @property
    def details(self) -> JSONObject:
        """The typed body of this rejection, beside its code and message."""
        return {}


@dataclass(frozen=True, slots=True)
class PatchSince:
    """What one later version changed: its patch and who made it."""

    version: int
    patch: tuple[JSONObject, ...]
    actor: JSONObject


class VersionConflict(Rejection):
    """The artifact has moved on since the version the edit is based on."""

    code = "version_conflict"

    def __init__(self, artifact: str, *, base: int, head: int, patches: Sequence[PatchSince]) -> None:
        super().__init__(
            f"artifact {artifact} is at version {head}, but the edit is based on version {base} (A2.2).",
            what_to_do="Read the patches made since, apply the edit to the current version and send it again.",
        )
        self.artifact, self.base, self.head, self.patches = artifact, base, head, tuple(patches)

    @property
    def details(self) -> JSONObject:
        since = [{"version": p.version, "patch": list(p.patch), "actor": p.actor} for p in self.patches]
        return {"artifact_id": self.artifact, "base": self.base, "head": self.head, "patches": since}


class MergeConflict(Rejection):
    """Two changes overlap at one place; both sides are given."""

    code = "merge_conflict"

    def __init__(self, place: str, *, ours: JSON, theirs: JSON) -> None:
        super().__init__(
            f"both sides changed {place or 'the whole document'} differently (A4.2).",
            what_to_do="Choose one side, or write a text that has both.",
        )
        self.place, self.ours, self.theirs = place, ours, theirs

    @property
    def details(self) -> JSONObject:
        return {"place": self.place, "ours": self.ours, "theirs": self.theirs}


class ValidationFailed(Rejection):
    """The data is not what its type or the command wants; `errors` are Pydantic's."""

    code = "validation_failed"
    http_status = 422

    def __init__(self, what: str, errors: Sequence[Mapping[str, Any]]) -> None:
        said = "; ".join(f"{'.'.join(map(str, error['loc'])) or 'value'}: {error['msg']}" for error in errors)
        super().__init__(f"{what} is not valid: {said}.", what_to_do="Correct these fields and send it again.")
        self.errors = [dict(error) for error in errors]

    @classmethod
    def of(cls, what: str, field: str, message: str, *, type_: str = "value_error") -> ValidationFailed:
        """A rejection of one field, in the form of Pydantic's errors."""
        return cls(what, [{"type": type_, "loc": [field], "msg": message}])

    @property
    def details(self) -> JSONObject:
        return {"errors": self.errors}


class PatchFailed(Rejection):
    """An operation or an anchor does not fit the document; nothing of the patch was applied.

    Args:
        operation: Index of the operation or edit, from 0; None if the patch as a whole is refused.
        occurrences: How often the anchor occurs; None where it is not about an anchor.
        positions: Where it occurs, in code points.
    """

    code = "patch_failed"
    http_status = 422

    def __init__(
        self,
        reason: str,
        *,
        operation: int | None = None,
        occurrences: int | None = None,
        positions: Sequence[int] = (),
    ) -> None:
        place = "the patch" if operation is None else f"operation {operation} of the patch"
        super().__init__(
            f"{place} cannot be applied: {reason} (A3.1).",
            what_to_do="Read the current version and send a patch that fits it; nothing of this one was applied.",
        )
        self.reason, self.operation = reason, operation
        self.occurrences, self.positions = occurrences, tuple(positions)

    @property
    def details(self) -> JSONObject:
        return {
            "operation": self.operation,
            "reason": self.reason,
            "occurrences": self.occurrences,
            "positions": list(self.positions),
        }


class NotFound(Rejection):
    """There is no such thing here, or none that the asker may know of."""

    code = "not_found"
    http_status = 404

    def __init__(self, kind: str, id_: str) -> None:
        super().__init__(f"there is no {kind} {id_!r} here.", what_to_do="Check the id, and that you are signed in.")
        self.kind, self.id = kind, id_

    @property
    def details(self) -> JSONObject:
        return {"kind": self.kind, "id": self.id}


class Forbidden(Rejection):
    """The asker may see it, but not do this to it."""

    code = "forbidden"
    http_status = 403


class InvalidState(Rejection):
    """The command does not fit what is there: an id used twice, a thing already ended."""

    code = "invalid_state"


class RequestNotOpen(Rejection):
    """A request to a person takes no answer any more."""

    code = "request_closed"

    def __init__(self, request: str) -> None:
        super().__init__(
            f"request {request} takes no answer any more: {self._why} (E8.1).",
            what_to_do="Look at the run: it has gone on, or has ended.",
        )
        self.request = request

    _why: ClassVar[str] = "its run has ended"

    @property
    def details(self) -> JSONObject:
        return {"request_id": self.request}


class RequestAnsweredBefore(RequestNotOpen):
    """A request to a person was answered before; the first answer counts."""

    code = "request_answered"
    _why = "it was answered before"


class RequestTimedOut(RequestNotOpen):
    """The time in which a request to a person could be answered is over."""

    code = "request_timed_out"
    _why = "its time is over"


class TitleChanged(Rejection):
    """The thread no longer has the title that the change was made on."""

    code = "title_changed"
    http_status = 412

    def __init__(self, thread: str, *, title: str | None) -> None:
        super().__init__(
            f"the title of thread {thread} has changed since it was read.",
            what_to_do="Read the thread again, then rename it.",
        )
        self.thread, self.title = thread, title

    @property
    def details(self) -> JSONObject:
        return {"thread": self.thread, "title": self.title}


class ArtifactUnreadable(WorkspaceError):
    """Stored data of this one artifact does not fit today's class and no upcaster lifts it (A1.3)."""

    code = "artifact_unreadable"
    http_status = 409

    def __init__(self, artifact: str, type_: str, reason: str) -> None:
        super().__init__(
            f"artifact {artifact} of type {type_!r} cannot be read: {reason} (A1.3).",
            what_to_do="Give its class an upcaster from the stored schema version; other artifacts are not affected.",
        )
        self.artifact, self.type, self.reason = artifact, type_, reason


class SoleWorkspaceTaken(WorkspaceError):
    """A tenant has one admin workspace, and a person one private workspace; another was made first."""

    code = "sole_workspace_taken"
    http_status = 409

    def __init__(self, sole: str) -> None:
        super().__init__(f"the tenant has its workspace {sole!r} already (A1.7).", what_to_do="Find it and use it.")
        self.sole = sole


class StaleHead(WorkspaceError):
    """Another commit came first; nothing was written."""

    code = "stale_head"
    http_status = 409

    def __init__(self, workspace: str, *, expected: int) -> None:
        super().__init__(
            f"workspace {workspace} is no longer at {expected}: another commit came first (A6).",
            what_to_do="Load again, decide anew and commit.",
        )
        self.workspace, self.expected = workspace, expected


class StaleCursor(WorkspaceError):
    """The cursor stands where its caller does not expect it: somebody else owns it now (E7.9)."""

    code = "stale_cursor"
    http_status = 409

    def __init__(self, name: str, *, expected: int, stored: int) -> None:
        super().__init__(
            f"cursor {name!r} stands at {stored}, not at {expected}: another owner moved it (E7.9).",
            what_to_do="Read the cursor and go on from there.",
        )
        self.name, self.expected, self.stored = name, expected, stored


class CursorPassedOn(WorkspaceError):
    """The lease of the cursor has passed to another process; nothing was written (E7.9)."""

    code = "cursor_passed_on"
    http_status = 409

    def __init__(self, name: str, *, carried: int, current: int) -> None:
        super().__init__(
            f"cursor {name!r} is owned under fence {current}, but this write carries {carried} (E7.9: one owner).",
            what_to_do="Leave it to its new owner.",
        )
        self.name, self.carried, self.current = name, carried, current
