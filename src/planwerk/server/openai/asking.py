"""What a run asks a person, for clients that know text alone: the question, and the next message as its answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planwerk import locales
from planwerk.runtime.asked import asked_event, status_at
from planwerk.runtime.ports import RequestRecord
from planwerk.workflow import entries as journal
from planwerk.workflow.ids import EventId
from planwerk.workflow.locale_string import localized
from planwerk.workflow.people import AskConfirmationEvent, AskInputEvent, AskPersonEvent, Choice


def open_of(records: Iterable[RequestRecord], now_microseconds: int) -> list[RequestRecord]:
    """Those of the requests that can still be answered, in the order in which they were asked."""
    return [record for record in records if status_at(record, now_microseconds) == "open"]


def asked_at_last(
    entries: Sequence[journal.Entry], answered: EventId | None
) -> list[tuple[EventId, AskPersonEvent]] | None:
    """What a run asks people that does nothing else; None while it works, or has not taken an answer up yet.

    Args:
        entries: Its whole journal, which ends where an append ended.
        answered: A request whose answer is on its way.
    """
    working = 0
    requests: dict[int, tuple[EventId, AskPersonEvent]] = {}
    for position, entry in enumerate(entries, 1):
        match entry:
            case journal.ExecutionDue():
                working += 1
            case journal.ExecutionFinished() | journal.ExecutionFailed():
                working -= 1
            case journal.EventPublished(event=AskPersonEvent() as event) if not entry.discarded:
                requests[position] = (entry.id, event)
            case journal.EventPublished(answers=int() as request):
                requests.pop(request, None)
            case journal.StopReached():
                return None
            case _:
                pass
    open_requests = list(requests.values())
    if working or not open_requests or any(request == answered for request, _ in open_requests):
        return None
    return open_requests


def as_text(event: AskPersonEvent, locale: str | None, link: str | None) -> str:
    """The question as text.

    Args:
        link: Where the run's thread is shown; None where the client named no conversation, and nobody can answer.
    """
    language = locale or locales.DEFAULT_LOCALE
    parts = [localized(event.question).text(locale), localized(event.details).text(locale)]
    if isinstance(event, AskConfirmationEvent):
        parts.insert(1, localized(event.subject).text(locale))
    if link is None:
        parts.append(locales.text("requests.not_here", language))
    elif isinstance(event, AskConfirmationEvent):
        parts.append(locales.text("requests.decide_there", language, link=link))
    elif isinstance(event, AskInputEvent) and event.choices:
        listed = (f"{place}. {choice.text(locale)}" for place, choice in enumerate(event.offered(), 1))
        parts += [locales.text("requests.choose", language), "\n".join(listed)]
    return "\n\n".join(part for part in parts if part)


def words_of(record: RequestRecord, text: str) -> str:
    """What a person wrote, as the value of the choice it names: by value, label or number."""
    event = asked_event(record)
    choices: tuple[Choice, ...] = event.offered() if isinstance(event, AskInputEvent) else ()
    said = text.strip()
    for place, choice in enumerate(choices, 1):
        labels = (localized(choice.label).texts.values()) if choice.label else ()
        names = {choice.value, *labels, str(place), f"{place}."}
        if said.casefold() in {name.casefold() for name in names}:
            return choice.value
    return text
