"""The entries of one append as text, and back: what an adapter stores of a journal (E7.1).

One header line per entry, compact JSON: its kind, then its fields in order. An entry that holds an event or a config
has a second line with that, so that reading validates it straight from the text. JSON never holds a raw line feed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from json.encoder import encode_basestring
from typing import Any, Final

from pydantic_core import from_json

from planwerk.workflow import entries as journal
from planwerk.workflow.codec import read_fields, wire_family, wire_type, write_fields

Context = Mapping[str, Any] | None

_PUBLISHED: Final = "event"
_OPENED: Final = "opened"
_MODEL: Final = "model"
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
    _MODEL: journal.ModelCalled,
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
            binding = ",".join([f"[{','.join(map(str, positions))}]" for positions in entry.binding])
            named = f"{_text(entry.execution)},{_text(entry.step)}"
            lines.append(f'["due",{named},{entry.scope},[{binding}],{entry.at}]')
        elif isinstance(entry, journal.StopReached):
            lines.append(f'["stop",{entry.event},{entry.at}]')
        elif isinstance(entry, journal.RunOpened):
            lines.append(f'["{_OPENED}"]')
            lines.append(_compact(_named(entry)))
        elif isinstance(entry, journal.UnknownEntry):
            lines.append(entry.text)
        else:
            values = [_plain(getattr(entry, name)) for name in _FIELDS[type(entry)]]
            exchange = values.pop() if isinstance(entry, journal.ModelCalled) else None
            named = [wire_type(exchange), wire_family(exchange)] if exchange is not None else []
            lines.append(_compact([_NAMES[type(entry)], *values, *named]))
            if exchange is not None:
                lines.append(write_fields(exchange, context))
    return "\n".join(lines)


def read_entries(text: str, context: Context = None) -> list[journal.Entry]:
    """The entries of such a text, or of several joined by line feeds; one of an unknown kind is kept as it is."""
    try:
        return _read(text, from_json, context)
    except ValueError:
        return _read(text, json.loads, context)  # half a character in an error's message: only this one takes it


def _read(text: str, parse: Callable[[str], Any], context: Context) -> list[journal.Entry]:
    found: list[journal.Entry] = []
    lines = iter(text.split("\n"))
    for line in lines:
        header: list[Any] = parse(line)
        kind = header[0]
        # The three of every step first: a run is resumed by reading thousands of them.
        if kind == _PUBLISHED:
            found.append(_read_published(header, next(lines), context))
        elif kind == "finished":
            _, execution, at, attempt, outputs = header
            found.append(journal.ExecutionFinished(execution, at, attempt, tuple(outputs)))
        elif kind == "due":
            _, execution, step, scope, binding, at = header
            found.append(journal.ExecutionDue(execution, step, scope, _binding(binding), at))
        elif kind == _MODEL:
            found.append(_read_called(header, lines, context))
        elif (read := _READERS.get(kind)) is not None:
            found.append(read(header))
        elif kind == _OPENED:
            found.append(journal.RunOpened(**json.loads(next(lines))))
        else:
            found.append(journal.UnknownEntry(line))
    return found


def _write_published(entry: journal.EventPublished, lines: list[str], context: Context) -> None:
    event = entry.event
    execution = _text(entry.execution) if entry.execution is not None else "null"
    answers = entry.answers if entry.answers is not None else "null"
    flags = entry.shown | entry.discarded << 1
    named = f'{_text(wire_type(event))},"{wire_family(event)}"'
    by = f",{_compact(entry.actor)}" if entry.actor is not None else ""
    lines.append(f'["{_PUBLISHED}",{_text(entry.id)},{entry.at},{execution},{answers},{flags},{named}{by}]')
    lines.append(write_fields(event, context))


def _read_published(header: list[Any], body: str, context: Context) -> journal.EventPublished:
    _, identity, at, execution, answers, flags, name, family, *by = header
    event = read_fields(name, family, body, context)
    if not flags and not by:
        return journal.EventPublished(event, identity, at, execution, answers)
    shown, discarded = bool(flags & 1), bool(flags & 2)
    return journal.EventPublished(
        event, identity, at, execution, answers, shown=shown, discarded=discarded, actor=by[0] if by else None
    )


def _read_called(header: list[Any], lines: Iterator[str], context: Context) -> journal.ModelCalled:
    _, execution, at, model, usage, cost, duration, purpose, *named = header
    exchange = read_fields(named[0], named[1], next(lines), context) if named else None
    return journal.ModelCalled(execution, at, model, usage, cost, duration, purpose, exchange)


_DEFAULTS: Final[dict[str, Any]] = {
    **{field.name: field.default for field in fields(journal.RunOpened) if field.default is not MISSING},
    "chain": [],
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
_text: Final[Callable[[str], str]] = encode_basestring
"""A text as JSON, written as `_compact` writes it."""


def _binding(value: list[list[int]]) -> journal.Binding:
    return tuple(map(tuple, value))


def _retry(values: list[Any]) -> journal.AttemptFailed:
    _, execution, attempt, at, error, retry_at = values
    return journal.AttemptFailed(execution, attempt, at, journal.ErrorInfo(*error), retry_at)


def _failed(values: list[Any]) -> journal.ExecutionFailed:
    _, execution, at, error, attempt = values
    return journal.ExecutionFailed(execution, at, journal.ErrorInfo(*error), attempt)


def _asked(values: list[Any]) -> journal.PreconditionAnswered:
    _, step, scope, binding, verdict, at = values
    return journal.PreconditionAnswered(step, scope, _binding(binding), verdict, at)


def _ended(values: list[Any]) -> journal.RunEnded:
    _, status, at, error, untaken, summary = values
    info = journal.ErrorInfo(*error) if error is not None else None
    return journal.RunEnded(status, at, info, tuple(untaken), summary)


_READERS: Final[dict[str, Callable[[list[Any]], journal.Entry]]] = {
    "started": lambda values: journal.ExecutionStarted(*values[1:]),
    "retry": _retry,
    "failed": _failed,
    "asked": _asked,
    "owner": lambda values: journal.OwnershipTaken(*values[1:]),
    "released": lambda values: journal.OwnershipReleased(*values[1:]),
    "stop": lambda values: journal.StopReached(*values[1:]),
    "ended": _ended,
}
