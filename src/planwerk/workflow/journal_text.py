"""The entries of one append as text, and back: what an adapter stores of a journal (E7.1).

One header line per entry, compact JSON: its kind, then its fields in order. An entry that holds an event or a config
has a second line with that, so that reading validates it straight from the text. JSON never holds a raw line feed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Final, cast

from planwerk.workflow import entries as journal
from planwerk.workflow.codec import read_fields, wire_family, wire_type, write_fields
from planwerk.workflow.ids import EventId, ExecutionId

Context = Mapping[str, Any] | None

_PUBLISHED: Final = "event"
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.-]*")
_OPENED: Final = "opened"
_KINDS: Final[dict[str, type[Any]]] = {
    "due": journal.ExecutionDue,
    "started": journal.ExecutionStarted,
    "retry": journal.AttemptFailed,
    "finished": journal.ExecutionFinished,
    "failed": journal.ExecutionFailed,
    "asked": journal.PreconditionAnswered,
    "owner": journal.OwnershipTaken,
    "released": journal.OwnershipReleased,
    "stop": journal.StopReached,
    "model": journal.ModelCalled,
    "ended": journal.RunEnded,
}
_NAMES: Final[dict[type[Any], str]] = {cls: name for name, cls in _KINDS.items()}
_FIELDS: Final[dict[type[Any], tuple[str, ...]]] = {
    cls: tuple(field.name for field in fields(cls)) for cls in (*_KINDS.values(), journal.RunOpened)
}


def write_entries(entries: Iterable[journal.Entry], context: Context = None) -> str:
    """The entries as text.

    Args:
        context: Pydantic serialisation context; `contents` in it takes histories out of line (E7.7).
    """
    lines: list[str] = []
    for entry in entries:
        # The three of every step first, and without a general encoder: they are most of a journal.
        if isinstance(entry, journal.EventPublished):
            _write_published(entry, lines, context)
        elif isinstance(entry, journal.ExecutionFinished):
            outputs = ",".join(map(str, entry.outputs))
            lines.append(f'["finished",{_text(entry.execution)},{entry.at},{entry.attempt},[{outputs}]]')
        elif isinstance(entry, journal.ExecutionDue):
            binding = ",".join(f"[{','.join(map(str, positions))}]" for positions in entry.binding)
            named = f"{_text(entry.execution)},{_text(entry.step)}"
            lines.append(f'["due",{named},{entry.scope},[{binding}],{entry.at}]')
        elif isinstance(entry, journal.RunOpened):
            lines.append(f'["{_OPENED}"]')
            lines.append(_compact(_named(entry)))
        elif isinstance(entry, journal.UnknownEntry):
            lines.append(entry.text)
        else:
            values = [_plain(getattr(entry, name)) for name in _FIELDS[type(entry)]]
            lines.append(_compact([_NAMES[type(entry)], *values]))
    return "\n".join(lines)


def read_entries(text: str, context: Context = None) -> list[journal.Entry]:
    """The entries of such a text; one of an unknown kind is kept as it is."""
    found: list[journal.Entry] = []
    lines = iter(text.split("\n"))
    for line in lines:
        header: list[Any] = json.loads(line)
        kind = header[0]
        if kind == _PUBLISHED:
            found.append(_read_published(header, next(lines), context))
        elif kind == _OPENED:
            found.append(journal.RunOpened(**json.loads(next(lines))))
        elif kind in _READERS:
            found.append(_READERS[kind](header[1:]))
        else:
            found.append(journal.UnknownEntry(line))
    return found


def _write_published(entry: journal.EventPublished, lines: list[str], context: Context) -> None:
    event = entry.event
    execution = _text(entry.execution) if entry.execution is not None else "null"
    answers = entry.answers if entry.answers is not None else "null"
    flags = int(entry.shown) | int(entry.discarded) << 1
    named = f'{_text(wire_type(event))},"{wire_family(event)}"'
    by = f",{_compact(entry.actor)}" if entry.actor is not None else ""
    lines.append(f'["{_PUBLISHED}",{_text(entry.id)},{entry.at},{execution},{answers},{flags},{named}{by}]')
    lines.append(write_fields(event, context))


def _read_published(header: list[Any], body: str, context: Context) -> journal.EventPublished:
    _, identity, at, execution, answers, flags, name, family, *by = header
    return journal.EventPublished(
        read_fields(name, family, body, context),
        EventId(identity),
        at,
        ExecutionId(execution) if execution is not None else None,
        answers,
        shown=bool(flags & 1),
        discarded=bool(flags & 2),
        actor=by[0] if by else None,
    )


_DEFAULTS: Final[dict[str, Any]] = {
    field.name: field.default for field in fields(journal.RunOpened) if field.default is not MISSING
}


def _named(entry: journal.RunOpened) -> dict[str, Any]:
    """Its fields by name, without those that have their default: a run that waits for years costs what it says."""
    values = {name: getattr(entry, name) for name in _FIELDS[journal.RunOpened]}
    return {name: value for name, value in values.items() if name not in _DEFAULTS or value != _DEFAULTS[name]}


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in fields(value)]
    return value


_compact: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _text(value: str) -> str:
    """A text as JSON; ids and names of steps need no encoder."""
    return f'"{value}"' if _PLAIN.fullmatch(value) else _compact(value)


def _due(values: list[Any]) -> journal.ExecutionDue:
    execution, step, scope, binding, at = values
    return journal.ExecutionDue(execution, step, scope, _binding(binding), at)


def _binding(value: Any) -> journal.Binding:
    return tuple(tuple(positions) for positions in cast("list[list[int]]", value))


def _retry(values: list[Any]) -> journal.AttemptFailed:
    execution, attempt, at, error, retry_at = values
    return journal.AttemptFailed(execution, attempt, at, journal.ErrorInfo(*error), retry_at)


def _finished(values: list[Any]) -> journal.ExecutionFinished:
    execution, at, attempt, outputs = values
    return journal.ExecutionFinished(execution, at, attempt, tuple(outputs))


def _failed(values: list[Any]) -> journal.ExecutionFailed:
    execution, at, error, attempt = values
    return journal.ExecutionFailed(execution, at, journal.ErrorInfo(*error), attempt)


def _asked(values: list[Any]) -> journal.PreconditionAnswered:
    step, scope, binding, verdict, at = values
    return journal.PreconditionAnswered(step, scope, _binding(binding), verdict, at)


def _ended(values: list[Any]) -> journal.RunEnded:
    status, at, error, untaken, summary = values
    info = journal.ErrorInfo(*error) if error is not None else None
    return journal.RunEnded(status, at, info, tuple(untaken), summary)


_READERS: Final[dict[str, Callable[[list[Any]], journal.Entry]]] = {
    "due": _due,
    "started": lambda values: journal.ExecutionStarted(*values),
    "retry": _retry,
    "finished": _finished,
    "failed": _failed,
    "asked": _asked,
    "owner": lambda values: journal.OwnershipTaken(*values),
    "released": lambda values: journal.OwnershipReleased(*values),
    "stop": lambda values: journal.StopReached(*values),
    "model": lambda values: journal.ModelCalled(*values),
    "ended": _ended,
}
