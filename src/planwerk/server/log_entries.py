"""Events of a workspace's log as the asking person may see them (S2.4): what a run cost only with the right to it,
what it asks in her language.
"""

from __future__ import annotations

from typing import Any

from planwerk.access.actions import Action, Resource
from planwerk.access.authorize import allowed
from planwerk.access.principal import Principal
from planwerk.server.request_views import fields_of, record_in_log, request_view
from planwerk.workspace.rules.envelope import LogEnvelope
from planwerk.workspace.rules.events import RequestAnswered, RequestOpened, RunEnded


class LogReader:
    """Turns the log of a workspace that a person may read into envelopes for her."""

    def __init__(self, principal: Principal, locale: str) -> None:
        self._principal = principal
        self._tenant = principal.tenant
        self._locale = locale
        self.shows_cost = may_see_costs(principal)

    def wire(self, envelope: LogEnvelope) -> dict[str, Any]:
        """The envelope on the wire."""
        written: dict[str, Any] = envelope.to_wire(self._tenant)
        data: dict[str, Any] = written["data"]
        match envelope.event:
            case RunEnded() if not self.shows_cost:
                data = {**data, "cost": None}
            case RequestOpened() as event:
                record = record_in_log(envelope, event, self._tenant)
                view = request_view(record, self._principal, self._locale, record.asked_microseconds)
                kept = {name: data[name] for name in ("run_id", "request_id", "kind", "expires")}
                data = {**kept, "request": view.model_dump(mode="json")}
            case RequestAnswered():
                data = {**data, "response": fields_of(data["response"])}
            case _:
                return written
        return {**written, "data": data}


def may_see_costs(principal: Principal) -> bool:
    """Whether a person may see what runs in her own workspace cost."""
    run = Resource("run", "any", principal.tenant, owner=principal.account)
    return allowed(principal, Action.RUN_INSPECT, run)
