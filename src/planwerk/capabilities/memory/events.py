"""What happens with memories in a run: requests, results, and what the writer makes of a conversation (C2)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from planwerk.locales import texts
from planwerk.messages.blocks import Block
from planwerk.workflow.events import ControlAndDisplayEvent, StartEvent, StopEvent
from planwerk.workflow.locale_string import LocaleString

MOST_FACT_CHARACTERS = 500
MOST_CHANGES = 8
"""Of one exchange; a message that says more of a person than that is one about something else."""


def _label(key: str) -> LocaleString:
    return LocaleString(**texts(key))


class RecallMemoryEvent(ControlAndDisplayEvent, label=_label("memory.events.recall"), icon="memory"):
    """Asks what is remembered that helps with a question.

    Attributes:
        query: What to look for; blank searches nothing.
        literal: The person's own words, looked for as well where they differ.
        namespaces: Of the organisation's memory; empty is all that the profile allows.
    """

    query: str
    literal: str | None = None
    namespaces: tuple[str, ...] = ()


class MemoryRecalledEvent(
    ControlAndDisplayEvent, label=_label("memory.events.recalled"), icon="memory", kind="RETRIEVER"
):
    """What is remembered, as data for the prompt; a scope with nothing is a blank block, which a prompt leaves out.

    Attributes:
        user: About the person who asks.
        organization: Of the organisation.
        found: How many memories there are in both.
    """

    user: Block
    organization: Block
    found: int = 0

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Both, in the order in which they are to reach the model."""
        return self.user, self.organization


class RememberExchangeEvent(ControlAndDisplayEvent, label=_label("memory.events.remember"), icon="memory"):
    """Asks to learn from a question and its answer, once the person has hers."""

    query: str
    answer: str


class MemoryWritingStartEvent(StartEvent, label=_label("memory.events.writing"), icon="memory"):
    """Begins a run of the memory writer: a question and its answer, and nothing else of the conversation (C2.2)."""

    query: str
    answer: str


class MemoryChange(BaseModel):
    """One thing to change in what is remembered of a person.

    Attributes:
        action: `add` a new fact, `update` one that is no longer right, `delete` one that the person wants forgotten.
        memory: Number of the known fact that is updated or deleted, as listed.
        text: The new fact, in one sentence.
    """

    model_config = ConfigDict(frozen=True)

    action: Literal["add", "update", "delete"]
    memory: int | None = None
    text: str = ""


class MemoryChanges(BaseModel):
    """What the task model is asked for: the changes that follow from one exchange, none for most.

    Attributes:
        forget: Whether the person asks for something to be forgotten.
    """

    model_config = ConfigDict(frozen=True)

    forget: bool = False
    changes: tuple[MemoryChange, ...] = ()


class FactChange(BaseModel):
    """A change that is to be made.

    Attributes:
        memory: Id of the memory that is superseded or deleted; None for a new one.
        text: The fact; blank where the memory is deleted.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    memory: str | None = None
    text: Annotated[str, Field(max_length=MOST_FACT_CHARACTERS)] = ""


class MemoryChangesInferredEvent(ControlAndDisplayEvent, label=_label("memory.events.inferred"), icon="memory"):
    """What is to change in a person's memories; recorded before anything is changed, so that it changes once."""

    changes: tuple[FactChange, ...] = ()


class MemoryWrittenStopEvent(StopEvent, label=_label("memory.events.written"), icon="memory"):
    """Ends a run of the memory writer; how many memories it added, replaced and deleted."""

    added: int = 0
    updated: int = 0
    deleted: int = 0
