"""Reads what a run asked a person back from its record."""

from __future__ import annotations

from typing import Any, Final

from planwerk.runtime.ports import RequestRecord, RequestStatus
from planwerk.workflow.codec import read_event
from planwerk.workflow.events import Event
from planwerk.workflow.ids import EventId
from planwerk.workflow.people import AskChatEvent, AskConfirmationEvent, AskInputEvent, AskPersonEvent, RequestKind
from planwerk.workspace.rules.errors import RequestAnsweredBefore, RequestNotOpen, RequestTimedOut

KINDS: Final[dict[RequestKind, type[AskPersonEvent]]] = {
    "input": AskInputEvent,
    "confirmation": AskConfirmationEvent,
    "chat": AskChatEvent,
}


def asked_event(record: RequestRecord) -> AskPersonEvent:
    """The event that asked; where its class is not known here, what it has in common with all of its kind."""
    event: Event = read_event(record.request)
    if isinstance(event, AskPersonEvent):
        return event
    kind = KINDS[record.kind]
    fields: dict[str, Any] = {name: value for name, value in record.request.items() if name in kind.model_fields}
    return kind.model_validate(fields)


def refuse_unless_open(record: RequestRecord, now_microseconds: int) -> None:
    """Refuse an answer that comes second or too late, as far as the record knows.

    Raises:
        RequestNotOpen: And its kinds: answered before, timed out, or closed with its run.
    """
    request = EventId(record.id)
    match status_at(record, now_microseconds):
        case "open":
            return
        case "answered":
            raise RequestAnsweredBefore(request)
        case "timed_out":
            raise RequestTimedOut(request)
        case "closed":
            raise RequestNotOpen(request)


def status_at(record: RequestRecord, now_microseconds: int) -> RequestStatus:
    """How the request stands now: one whose time is over is timed out, also where nobody has said so yet."""
    expires = record.expires_microseconds
    if record.status == "open" and expires is not None and expires <= now_microseconds:
        return "timed_out"
    return record.status
