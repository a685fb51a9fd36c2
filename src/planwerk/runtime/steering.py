"""How what is said into a run reaches it, wherever that is: kept for its owner, who is told to look (S2.3, E7.9).

What is kept stays until the run has ended. The journal's entry has the message's id, so however often it is brought it
enters the run once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from pydantic_ai.messages import ModelMessage

from planwerk.access.actors import Actor
from planwerk.messages.events import SteeringMessageEvent
from planwerk.runtime.driver import RunDriver
from planwerk.runtime.ports import ContextStore, WorkQueue
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.codec import read_event, write_event
from planwerk.workflow.composition import brought_in
from planwerk.workflow.ids import EventId, MessageId, RunId

STEERING: Final = "steering"
"""Scope of what is kept of messages on their way: owner is the run."""
MESSAGES: Final = "messages"
"""The one key: a list, in the order in which they were said."""


def is_steerable(blueprint: type[Agent]) -> bool:
    """Whether a step of the blueprint's own takes what is said into its runs (S2.3)."""
    return SteeringMessageEvent in brought_in(blueprint.steps())


async def bring(
    contexts: ContextStore,
    queue: WorkQueue,
    run: RunId,
    message: MessageId,
    said: Sequence[ModelMessage],
    actor: Actor,
) -> None:
    """Keep the message for the run's owner, and wake whoever that is or will be.

    Both are asked for at one moment, so where they share a database they share a transaction.
    """
    event = SteeringMessageEvent(messages=tuple(said))
    kept = {"id": message, "event": write_event(event), "actor": actor.model_dump(mode="json")}
    while True:
        found = await contexts.get(STEERING, run, MESSAGES)
        before: list[dict[str, Any]] = list(found.value) if found.version else []
        if any(known["id"] == message for known in before):
            await queue.wake(run)
            return
        storing = contexts.set(STEERING, run, MESSAGES, [*before, kept], expected_version=found.version)
        is_stored, _ = await asyncio.gather(storing, queue.wake(run))
        if is_stored:
            return


async def take_brought(contexts: ContextStore, driver: RunDriver) -> None:
    """Give a run that is driven here what was said into it; what it has is left, and what no step takes."""
    if not driver.program.composition.takes_from_outside(SteeringMessageEvent):
        return
    kept = await contexts.get(STEERING, driver.run, MESSAGES)
    for said in kept.value if kept.version else ():
        if driver.is_over:
            return
        await driver.bring(EventId(said["id"]), read_event(said["event"]), said["actor"])
