"""How an event stands in the log of its workspace (A5.1), and how it goes over the wire (S3.1)."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, SerializeAsAny

from planwerk.access.actors import Actor
from planwerk.workflow.ids import EventId, RunId, ThreadId, WorkspaceId
from planwerk.workspace.rules.events import LogEvent, wire_name
from planwerk.workspace.rules.json_values import JSONObject


class LogEnvelope(BaseModel):
    """One entry of a workspace's log: the fact, its place, and who made it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seq: int
    """Place in the workspace's log: 1, 2, 3 … without a gap."""
    id: EventId
    time: datetime
    workspace: WorkspaceId
    thread: ThreadId | None = None
    run: RunId | None = None
    actor: Actor
    traceparent: str | None = None
    event: SerializeAsAny[LogEvent]

    @property
    def type(self) -> str:
        """The event's wire name."""
        return wire_name(self.event)[0]

    @property
    def v(self) -> int:
        """The version of the event's data."""
        return wire_name(self.event)[1]

    def to_wire(self, tenant: str) -> JSONObject:
        """The envelope of S3.1, the one form that every stream and every read of the log gives."""
        return {
            "position": self.seq,
            "id": self.id,
            "type": self.type,
            "time": wire_time(self.time),
            "tenant": tenant,
            "workspace": self.workspace,
            "thread": self.thread,
            "run": self.run,
            "call": None,
            "actor": self.actor.model_dump(mode="json"),
            "cause": None,
            "traceparent": self.traceparent,
            "v": self.v,
            "data": self.event.to_data(),
        }


def wire_time(time: datetime) -> str:
    """A time in UTC as ISO text with microseconds (E1.7); texts sort as their times do."""
    return f"{time:%Y-%m-%dT%H:%M:%S.%f}Z"
