"""Events of a workspace's log as the asking person may see them (S2.4): what a run cost only with the right to it."""

from __future__ import annotations

from typing import Any

from planwerk.access.actions import Action, Resource
from planwerk.access.authorize import allowed
from planwerk.access.principal import Principal
from planwerk.workspace.rules.envelope import LogEnvelope
from planwerk.workspace.rules.events import RunEnded


class LogReader:
    """Turns the log of a workspace that a person may read into envelopes for her."""

    def __init__(self, principal: Principal) -> None:
        self._tenant = principal.tenant
        self.shows_cost = may_see_costs(principal)

    def wire(self, envelope: LogEnvelope) -> dict[str, Any]:
        """The envelope on the wire."""
        written: dict[str, Any] = envelope.to_wire(self._tenant)
        if isinstance(envelope.event, RunEnded) and not self.shows_cost:
            written = {**written, "data": {**written["data"], "cost": None}}
        return written


def may_see_costs(principal: Principal) -> bool:
    """Whether a person may see what runs in her own workspace cost."""
    run = Resource("run", "any", principal.tenant, owner=principal.account)
    return allowed(principal, Action.RUN_INSPECT, run)
