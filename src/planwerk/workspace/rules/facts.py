"""Facts of runs, which the projector alone brings from the journals into the log (E7.9).

Each is recorded once however often it is offered: a start, a reply or an end that the log already has gives no event.
"""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict, SerializeAsAny, model_validator

from planwerk.access.actors import Actor
from planwerk.workflow.ids import RunId, ThreadId
from planwerk.workspace.rules.events import (
    MessagePosted,
    RequestClosed,
    RequestOpened,
    RunEnded,
    RunPaused,
    RunResumed,
    RunStarted,
    SteeringTaken,
    ThreadRenamed,
)

RunFact: TypeAlias = (
    RunStarted
    | MessagePosted
    | ThreadRenamed
    | SteeringTaken
    | RunPaused
    | RunResumed
    | RequestOpened
    | RequestClosed
    | RunEnded
)


class Fact(BaseModel):
    """One thing that a run did, as the log is to tell it. `time` is the journal's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    thread: ThreadId
    run: RunId
    actor: Actor
    event: SerializeAsAny[RunFact]
    time: datetime | None = None
    text: str = ""
    """Of a question in the conversation: what the thread is shown."""
    chat_answer: str = ""
    """And the class of the event that its answer becomes."""

    @model_validator(mode="after")
    def _of_its_run(self) -> Fact:
        event = self.event
        named = event.message_id if isinstance(event, MessagePosted) else getattr(event, "run_id", self.run)
        if named != self.run:
            raise ValueError(f"a fact of run {self.run} names {named}: a reply has the id of its run (A1.6)")
        return self
