"""A run's journal on the wire: one envelope per entry (S3.1), readable without the code that ran."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from planwerk.runtime.agents import child_id
from planwerk.runtime.detaching import detached_id
from planwerk.runtime.profiles import BlueprintRegistry, UnknownBlueprint
from planwerk.workflow import entries as journal
from planwerk.workflow.agents import AgentInTheLoop, Detached
from planwerk.workflow.codec import wire_type, write_event
from planwerk.workflow.composition import compose
from planwerk.workflow.errors import DefinitionError
from planwerk.workflow.events import DisplayEvent, Event
from planwerk.workflow.ids import derived_id, id_in_run
from planwerk.workflow.people import AskPersonEvent
from planwerk.workflow.plan import StepPlan
from planwerk.workflow.requests import OutsideRequest

Envelope = dict[str, Any]


class RunWire:
    """Turns a run's entries into envelopes. Feed it all entries from the first on; it knows scopes by then.

    Args:
        locale: Language of labels.
    """

    def __init__(self, blueprints: BlueprintRegistry, locale: str | None = None) -> None:
        self._blueprints = blueprints
        self._locale = locale
        self._opened: journal.RunOpened | None = None
        self._steps: dict[str, StepPlan] = {}
        self._scopes: dict[int, tuple[int, str]] = {}
        """Position of a request -> the scope it was returned in, and the name of the call."""
        self._calls: dict[type[Event], str] = {}
        """Requests of capabilities, and the name of the call they open."""
        self._ids: dict[int, str] = {}
        self._executions: dict[str, journal.ExecutionDue] = {}
        self._execution_ids: dict[str, str] = {}
        self._attempts: dict[str, int] = {}
        self._position = 0

    def convert(self, entry: journal.Entry) -> Envelope:
        """The envelope of the next entry."""
        self._position += 1
        self._learn(entry)
        kind, data = self._content(entry)
        opened = self._opened
        name = getattr(entry, "execution", None)
        scope = self._scope_of(entry)
        at = getattr(entry, "at", None) or (opened.at if opened is not None else 0)
        return {
            "position": self._position,
            "id": self._id_of(entry),
            "type": kind,
            "time": wire_time(at),
            "tenant": opened.tenant if opened else None,
            "workspace": opened.workspace if opened else None,
            "thread": opened.thread if opened else None,
            "run": opened.run if opened else None,
            "call": self._ids.get(scope) if scope else None,
            "actor": getattr(entry, "actor", None) or (opened.actor if opened else None),
            "cause": self._execution_id(name) if name is not None else None,
            "traceparent": opened.traceparent if opened else None,
            "v": 1,
            **self._shown(entry),
            "data": data,
        }

    def convert_all(self, entries: Sequence[journal.Entry], after: int = 0) -> list[Envelope]:
        """Envelopes of a journal read from its beginning; those up to `after` are left out."""
        return [envelope for envelope in map(self.convert, entries) if envelope["position"] > after]

    def _id_of(self, entry: journal.Entry) -> str:
        run = self._opened.run if self._opened is not None else ""
        if isinstance(entry, journal.EventPublished):
            return entry.id or derived_id(run, str(self._position))
        return f"{run}/{self._position}"

    def _execution_id(self, name: str) -> str:
        known = self._execution_ids.get(name)
        if known is None:
            known = self._execution_ids[name] = id_in_run(self._opened.run if self._opened is not None else "", name)
        return known

    def _learn(self, entry: journal.Entry) -> None:
        match entry:
            case journal.RunOpened():
                self._opened = entry
            case journal.EventPublished():
                self._ids[self._position] = self._id_of(entry)
                if not self._steps:
                    self._learn_steps(entry.event)
                self._learn_call(entry)
            case journal.ExecutionDue(execution):
                self._executions[execution] = entry
                self._attempts[execution] = 1
            case journal.ExecutionStarted(execution, attempt):
                self._attempts[execution] = attempt
            case _:
                pass

    def _learn_steps(self, start: Event) -> None:
        if self._opened is None:
            return
        try:
            blueprint = self._blueprints.get(self._opened.blueprint)
            composition = compose(blueprint, type(start))
        except (UnknownBlueprint, DefinitionError):
            return
        self._steps = {step.name: step for plan in composition.scopes for step in plan.steps}
        self._calls = {
            kind.cls: kind.call.name for plan in composition.scopes for kind in plan.classes if kind.call is not None
        }

    def _learn_call(self, entry: journal.EventPublished) -> None:
        name = self._calls.get(type(entry.event))
        if name is not None and entry.execution is not None:
            due = self._executions.get(entry.execution)
            self._scopes[self._position] = (due.scope if due else 0, name)

    def _scope_of(self, entry: journal.Entry) -> int:
        if isinstance(entry, journal.PreconditionAnswered | journal.ExecutionDue):
            return entry.scope
        due = self._executions.get(getattr(entry, "execution", None) or "")
        return due.scope if due is not None else 0

    def _path(self, scope: int) -> list[str]:
        names: list[str] = []
        while scope in self._scopes:
            scope, name = self._scopes[scope]
            names.append(name)
        return names[::-1]

    def _shown(self, entry: journal.Entry) -> dict[str, Any]:
        """For events: whether people are shown it, its label and icon."""
        if not isinstance(entry, journal.EventPublished):
            return {}
        event = entry.event
        return {
            "display": isinstance(event, DisplayEvent) or event.family != "control",
            "label": event.label.text(self._locale),
            "icon": event.icon,
        }

    def _content(self, entry: journal.Entry) -> tuple[str, dict[str, Any]]:
        match entry:
            case journal.RunOpened():
                return "run_opened", {
                    "blueprint": entry.blueprint,
                    "profile": entry.profile,
                    "profile_name": entry.profile_name,
                    "profile_version": entry.profile_version,
                    "workflow_fingerprint": entry.fingerprint,
                    "message_id": entry.message,
                    "parent_run": entry.parent,
                    "locale": entry.locale,
                    "forked_from": entry.forked_from,
                    "forked_at": entry.forked_at,
                    "forked_entries": entry.forked_entries,
                    "forked_changes": sorted(entry.forked_changes or {}),
                }
            case journal.EventPublished(event):
                data = write_event(event)
                del data["type"], data["family"]
                if isinstance(event, OutsideRequest):
                    data["asks"] = event.kind if isinstance(event, AskPersonEvent) else "timer"
                if entry.answers is not None:
                    data["answers"] = entry.answers
                if self._opened is not None and not entry.discarded:
                    data.update(_child_run(self._opened, entry))
                return wire_type(event), {**data, **({"discarded": True} if entry.discarded else {})}
            case journal.ExecutionDue():
                return "execution_due", self._due(entry)
            case journal.ExecutionStarted():
                return "execution_started", self._ending(entry.execution, entry.attempt)
            case journal.AttemptFailed():
                retry_at = wire_time(entry.retry_at)
                return "execution_failed", self._ending(
                    entry.execution, entry.attempt, error=entry.error, retry_at=retry_at
                )
            case journal.ExecutionFinished():
                ending = self._ending(entry.execution, entry.attempt)
                return "execution_finished", {**ending, "outputs": list(entry.outputs)}
            case journal.ExecutionFailed():
                return "execution_failed", self._ending(
                    entry.execution, entry.attempt, error=entry.error, retry_at=None
                )
            case _:
                return self._rest(entry)

    def _rest(self, entry: journal.Entry) -> tuple[str, dict[str, Any]]:
        match entry:
            case journal.PreconditionAnswered():
                return "precondition_answered", {
                    "step": entry.step,
                    "binding": [list(positions) for positions in entry.binding],
                    "verdict": entry.verdict,
                }
            case journal.OwnershipTaken():
                taken = {"fence": entry.fence, "worker": entry.worker}
                return "ownership_taken", {**taken, "workflow_fingerprint": entry.fingerprint}
            case journal.OwnershipReleased():
                return "ownership_released", {"fence": entry.fence}
            case journal.StopReached():
                return "stop_reached", {"event": entry.event}
            case journal.ModelCalled():
                return "model_called", {
                    "execution": self._execution_id(entry.execution),
                    "model": entry.model,
                    "purpose": entry.purpose,
                    "task": getattr(entry.exchange, "task", ""),
                    "has_prompt": entry.exchange is not None,
                    "usage": entry.usage,
                    "cost": entry.cost,
                    "duration_seconds": entry.duration_microseconds / 1e6,
                }
            case journal.RunEnded():
                return "run_ended", self._ended(entry)
            case _:
                return "unknown", {"text": json.dumps(getattr(entry, "text", ""))}

    def _due(self, entry: journal.ExecutionDue) -> dict[str, Any]:
        step = self._steps.get(entry.step)
        label = step.spec.label.text(self._locale) if step is not None else entry.step.rpartition(".")[2]
        capability, _, _ = entry.step.rpartition(".")
        return {
            "execution": self._execution_id(entry.execution),
            "step": entry.step,
            "label": label,
            "icon": step.spec.icon if step is not None else None,
            "scope": capability or None,
            "call": self._ids.get(entry.scope),
            "call_path": self._path(entry.scope),
            "attempt": 1,
            "binding": [list(positions) for positions in entry.binding],
        }

    def _ending(self, execution: str, attempt: int, **more: Any) -> dict[str, Any]:
        error = more.pop("error", None)
        return {
            "execution": self._execution_id(execution),
            "attempt": attempt,
            **({"error": asdict(error)} if error is not None else {}),
            **more,
        }

    def _ended(self, entry: journal.RunEnded) -> dict[str, Any]:
        opened = self._opened
        return {
            "status": entry.status,
            "error": asdict(entry.error) if entry.error is not None else None,
            "usage": entry.summary.get("usage", {}),
            "cost": entry.summary.get("cost"),
            "executions": entry.summary.get("executions", 0),
            "model_calls": entry.summary.get("model_calls", 0),
            "duration_seconds": (entry.at - opened.at) / 1e6 if opened is not None else None,
            "untaken": list(entry.untaken),
        }


def _child_run(opened: journal.RunOpened, entry: journal.EventPublished) -> dict[str, str]:
    """For an event that asks for a run: its id, whether it is open already or not."""
    match entry.event:
        case AgentInTheLoop():
            return {"child_run": child_id(opened.run, entry.id)}
        case Detached():
            return {"child_run": detached_id(opened, entry.id, entry.event)}
        case _:
            return {}


def wire_time(microseconds: int) -> str:
    """A journal's time as ISO text in UTC, with microseconds."""
    return datetime.fromtimestamp(microseconds / 1e6, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
