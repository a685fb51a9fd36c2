"""How an answer reaches its run, wherever that is: kept for its owner, who is told to look (E7.9, E8.1)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final, cast

from planwerk.access.actors import Actor
from planwerk.access.ids import TenantId
from planwerk.runtime.driver import RunDriver
from planwerk.runtime.ports import ContextStore, WorkQueue
from planwerk.workflow.codec import read_event, write_event
from planwerk.workflow.events import Event
from planwerk.workflow.ids import EventId, RunId, WorkspaceId
from planwerk.workspace.rules.events import RequestAnswered
from planwerk.workspace.rules.state import RunEntity, RunKey
from planwerk.workspace.workspaces import Workspaces

ANSWERS: Final = "answer"
"""Scope of what is kept of answers on their way: owner is the run, key the request."""


async def hand_in(
    contexts: ContextStore,
    queue: WorkQueue,
    run: RunId,
    request: EventId,
    event: Event,
    actor: Actor | None,
) -> bool:
    """Keep the answer for the run's owner, and wake whoever that is or will be.

    Both are asked for at one moment, so where they share a database they share a transaction.

    Returns:
        Whether this was the first answer handed in; another changes nothing.
    """
    kept = {"event": write_event(event), "actor": actor.model_dump(mode="json") if actor is not None else None}
    first, _ = await asyncio.gather(contexts.set(ANSWERS, run, request, kept, expected_version=0), queue.wake(run))
    return first


def read_answer(kept: Mapping[str, Any]) -> tuple[Event, dict[str, Any] | None]:
    """The event and who gave it, of what `hand_in` has kept."""
    return read_event(kept["event"]), cast("dict[str, Any] | None", kept["actor"])


async def deliver_accepted(workspaces: Workspaces, driver: RunDriver) -> None:
    """Answer what the log says is answered: for a worker that takes a run over, or is about to time a request out,
    before the starter has carried the answer.
    """
    opened = driver.opened
    if opened is None or opened.workspace is None or opened.thread is None:
        return
    workspace, key = WorkspaceId(opened.workspace), RunKey(opened.run)
    loaded = await workspaces.storage.load(TenantId(opened.tenant), workspace, [key])
    run = loaded.found[key]
    if not isinstance(run, RunEntity):
        return
    answered = {known.id: known.answered_seq for known in run.requests if known.status == "answered"}
    for position, request in list(driver.schedule.requests.items()):
        seq = answered.get(request.entry.id)
        if seq is None or position not in driver.schedule.requests or driver.is_over:
            continue
        [envelope] = await workspaces.storage.read(workspace, after_seq=seq - 1, limit=1)
        if isinstance(envelope.event, RequestAnswered):
            event = read_event(envelope.event.response)
            await driver.answer(position, event, envelope.actor.model_dump(mode="json"))
