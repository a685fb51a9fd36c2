"""What a run asks a person, as she sees it: one shape for lists, for the log, and for a request by itself."""

from __future__ import annotations

from typing import Any

from planwerk.access.principal import Principal
from planwerk.runtime.asked import asked_event, status_at
from planwerk.runtime.ports import RequestRecord
from planwerk.runtime.wire import wire_time
from planwerk.server.shapes import RequestChoice, RequestView
from planwerk.workflow.codec import wire_type
from planwerk.workflow.locale_string import localized
from planwerk.workflow.people import AskConfirmationEvent, AskInputEvent, Text
from planwerk.workspace.rules.envelope import LogEnvelope
from planwerk.workspace.rules.events import RequestOpened


def request_view(
    record: RequestRecord, principal: Principal, locale: str, now_microseconds: int, *, has_access: bool = True
) -> RequestView:
    """The request in the reader's language.

    Args:
        has_access: Whether she may answer what her run or her thread asks.
    """

    def text(given: Text | None) -> str:
        return localized(given).text(locale) if given else ""

    event = asked_event(record)
    choices = event.offered() if isinstance(event, AskInputEvent) else ()
    confirmation = event if isinstance(event, AskConfirmationEvent) else None
    status = status_at(record, now_microseconds)
    asks_her = not event.recipients or principal.account in event.recipients
    expires, closed = record.expires_microseconds, record.closed_microseconds
    return RequestView(
        id=record.id,
        run=record.run,
        workspace=record.workspace,
        thread=record.thread,
        profile=record.profile,
        profile_name=record.profile_name,
        kind=record.kind,
        type=str(record.request.get("type", wire_type(event))),
        label=event.label.text(locale),
        icon=event.icon,
        question=text(event.question),
        details=text(event.details),
        subject=text(confirmation.subject) if confirmation is not None else "",
        choices=[RequestChoice(value=choice.value, label=choice.text(locale)) for choice in choices],
        only_choices=isinstance(event, AskInputEvent) and bool(choices) and event.only_choices,
        default=event.default if isinstance(event, AskInputEvent | AskConfirmationEvent) else None,
        confirm_label=text(confirmation.confirm_label) or None if confirmation is not None else None,
        decline_label=text(confirmation.decline_label) or None if confirmation is not None else None,
        response_schema=event.response_schema(locale),
        recipients=list(event.recipients),
        asked=wire_time(record.asked_microseconds),
        expires=wire_time(expires) if expires is not None else None,
        status=status,
        closed=wire_time(closed) if closed is not None else None,
        answer=fields_of(record.answer) if record.answer is not None else None,
        answered_by=dict(record.answered_by) if record.answered_by is not None else None,
        may_answer=has_access and asks_her and status == "open",
    )


def fields_of(event: Any) -> dict[str, Any]:
    """A written event without what names its class."""
    return {name: value for name, value in dict(event).items() if name not in {"type", "family"}}


def record_in_log(envelope: LogEnvelope, event: RequestOpened, tenant: str) -> RequestRecord:
    """The request as it was when the log told of it."""
    return RequestRecord(
        id=event.request_id,
        run=event.run_id,
        position=0,
        tenant=tenant,
        workspace=envelope.workspace,
        thread=envelope.thread,
        profile=event.profile or None,
        profile_name=event.profile_name or None,
        owner=None,
        kind=event.kind,
        request=event.request,
        asked_microseconds=round(envelope.time.timestamp() * 1e6),
        expires_microseconds=round(event.expires.timestamp() * 1e6) if event.expires is not None else None,
    )
