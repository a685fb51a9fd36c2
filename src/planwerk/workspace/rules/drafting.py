"""What a decision is, and the draft in which a `commit` gathers it."""

from __future__ import annotations

from dataclasses import dataclass, field

from planwerk.access.actors import Actor
from planwerk.workflow.ids import RunId, ThreadId
from planwerk.workspace.rules.events import LogEvent
from planwerk.workspace.rules.outcomes import Outcome
from planwerk.workspace.rules.state import Entity, Revision, State, ThreadEntity, changed


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event that is to enter the log; its `seq` is the place it has in the decision, after the head."""

    event: LogEvent
    actor: Actor
    thread: ThreadId | None = None
    run: RunId | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What a command leads to: all of it is saved in one transaction, or none (A2.1)."""

    outcome: Outcome
    entities: tuple[Entity, ...] = ()
    revisions: tuple[Revision, ...] = ()
    events: tuple[NewEvent, ...] = ()


@dataclass(slots=True)
class Draft:
    """Gathers a decision. Entities saved twice count as they were saved last."""

    state: State
    actor: Actor
    events: list[NewEvent] = field(default_factory=list[NewEvent])
    entities: dict[tuple[type[Entity], str], Entity] = field(default_factory=dict[tuple[type[Entity], str], Entity])
    revisions: list[Revision] = field(default_factory=list[Revision])

    @property
    def seq(self) -> int:
        """Of the last event; without one, the head."""
        return self.state.head + len(self.events)

    def emit(
        self, event: LogEvent, *, thread: ThreadId | None = None, run: RunId | None = None, actor: Actor | None = None
    ) -> int:
        """Add an event to the log and return the `seq` it will have."""
        self.events.append(NewEvent(event, actor or self.actor, thread, run))
        return self.seq

    def save(self, entity: Entity) -> None:
        self.entities[type(entity), entity.id] = entity

    def touch(self, thread: ThreadEntity) -> None:
        """Save a thread as changed by the last event."""
        self.save(changed(thread, updated=self.state.now, updated_seq=self.seq))

    def decide(self, outcome: Outcome) -> Decision:
        return Decision(outcome, tuple(self.entities.values()), tuple(self.revisions), tuple(self.events))
