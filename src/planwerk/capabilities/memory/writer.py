"""The memory writer: learns from an exchange after its answer, in a run of its own (C2.2, C2.3).

    infer ─ the changes, recorded ─ write ─ done

The changes are in the journal before the first of them is made, and what is new has an id made from the run's: a
repetition after a crash finds its changes made.
"""

from __future__ import annotations

from typing import Final

from pydantic_ai.messages import ModelRequest, SystemPromptPart, UserPromptPart

from planwerk.capabilities.memory.errors import MemoryFull
from planwerk.capabilities.memory.events import (
    FactChange,
    MemoryChanges,
    MemoryChangesInferredEvent,
    MemoryWritingStartEvent,
    MemoryWrittenStopEvent,
)
from planwerk.capabilities.memory.fields import MemoryFields
from planwerk.capabilities.memory.inferring import MOST_KNOWN, quoted_exchange, settled
from planwerk.capabilities.memory.memories import Memories
from planwerk.capabilities.memory.ports import MemoryScope, StoredMemory
from planwerk.capabilities.memory.prompts import PROMPTS
from planwerk.locales import texts
from planwerk.models.errors import ModelEmpty, ModelOutputInvalid, ModelRefused
from planwerk.models.predicting import Predicting
from planwerk.runtime.capability_agents import CapabilityAgent
from planwerk.runtime.displayer import EventDisplayer
from planwerk.runtime.locale_handler import LocaleHandler
from planwerk.runtime.run_info import RunInfo
from planwerk.workflow.blueprint import AgentConfig
from planwerk.workflow.events import StepWarningEvent
from planwerk.workflow.ids import derived_id
from planwerk.workflow.locale_string import LocaleString
from planwerk.workflow.steps import step

INFER_SECONDS: Final = 120.0


class MemoryWriterConfig(MemoryFields, AgentConfig):
    """What the writer takes over from the profile: the models it asks, and whether it may store."""

    llm: str | None = None
    task_llm: str | None = None


class MemoryWriter(CapabilityAgent):
    """Keeps what a person said about herself."""

    config = MemoryWriterConfig

    @step(name=LocaleString(**texts("memory.steps.infer")), icon="memory", timeout_seconds=INFER_SECONDS)
    async def infer(
        self,
        start: MemoryWritingStartEvent,
        memories: Memories,
        predicting: Predicting,
        locale: LocaleHandler,
        display: EventDisplayer,
    ) -> MemoryChangesInferredEvent:
        """Ask the task model what changes; an answer that cannot be read changes nothing."""
        if memories.user is None or not start.query.strip():
            return MemoryChangesInferredEvent()
        known = await memories.of_user([start.query, start.answer], limit=MOST_KNOWN)
        prompt = ModelRequest(
            parts=[
                SystemPromptPart(PROMPTS.text("write", locale.locale)),
                UserPromptPart(quoted_exchange(known, start.query, start.answer)),
            ]
        )
        try:
            asked = await predicting.predict([prompt], MemoryChanges)
        except (ModelOutputInvalid, ModelEmpty, ModelRefused) as error:
            message = locale.text("memory.warnings.not_understood", cause=error.message.rstrip("."))
            await display.show(StepWarningEvent(step="infer", code=error.code, message=message))
            return MemoryChangesInferredEvent()
        return MemoryChangesInferredEvent(changes=settled(asked, known, start.query))

    @step(name=LocaleString(**texts("memory.steps.write")), icon="memory")
    async def write(
        self,
        inferred: MemoryChangesInferredEvent,
        memories: Memories,
        info: RunInfo,
        locale: LocaleHandler,
        display: EventDisplayer,
    ) -> MemoryWrittenStopEvent:
        """Make the changes; what the person has deleted since stays deleted."""
        scope = memories.user
        if scope is None:
            return MemoryWrittenStopEvent()
        done = {"added": 0, "updated": 0, "deleted": 0}
        for place, change in enumerate(inferred.changes):
            new = _memory(scope, change, memories, identity=derived_id(info.run, "memory", str(place)))
            if not change.text:
                assert change.memory is not None
                done["deleted"] += await memories.store.delete(scope, change.memory)
            elif change.memory is not None:
                done["updated"] += await memories.store.supersede(change.memory, new)
            else:
                try:
                    done["added"] += await memories.store.add(new)
                except MemoryFull as error:
                    message = locale.text("memory.warnings.full", most=error.most)
                    await display.show(StepWarningEvent(step="write", code=error.code, message=message))
        return MemoryWrittenStopEvent(**done)


def _memory(scope: MemoryScope, change: FactChange, memories: Memories, *, identity: str) -> StoredMemory:
    now = memories.clock()
    return StoredMemory(identity, scope, change.text, now, now, source_run=memories.origin_run)
