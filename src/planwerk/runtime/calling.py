"""Calls one step: within its time, its display events shown as they come, its outputs those of its annotation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import aclosing
from typing import Any, cast

from planwerk.runtime.execution import ExecutionContext
from planwerk.runtime.program import ReadyStep
from planwerk.workflow.errors import WorkflowError
from planwerk.workflow.events import ControlEvent, DisplayEvent, Event
from planwerk.workflow.seen import Execution


class StepTimedOut(WorkflowError):
    """A step took longer than its `timeout_seconds` (E4.4)."""

    code = "step_timed_out"
    http_status = 504


async def call_step(
    ready: ReadyStep, execution: Execution, context: ExecutionContext, show: Callable[[DisplayEvent], None]
) -> list[Event]:
    """Call a step and give the events it returned.

    Args:
        show: Takes what a generator yields to be shown.

    Raises:
        StepTimedOut: It took too long.
        UndeclaredOutput: It returned what its annotation does not name.
    """
    work = ready.call(execution, context)
    if ready.is_generator:
        work = _drain(ready, work, show)
    returned = await (work if ready.timeout_seconds is None else _within(ready.timeout_seconds, work, ready.name))
    return checked(ready, returned)


def checked(ready: ReadyStep, returned: Any) -> list[Event]:
    """What a step returned, as the events of its annotation.

    Raises:
        UndeclaredOutput: It returned what its annotation does not name.
    """
    if type(returned) in ready.alone:
        return [returned]
    if type(returned) is list and ready.listed is not None:
        listed = cast("list[Event]", returned)
        if ready.listed.issuperset(map(type, listed)):
            return list(listed)
    events = [ready.checked(output) for output in _flat(returned)]
    ready.require_fit(events)
    return events


def _flat(returned: Any) -> Iterator[object]:
    """An event, or those of a list or tuple; a tuple may hold lists (`tuple[A, list[B]]`)."""
    if isinstance(returned, list | tuple):
        for part in cast("list[object] | tuple[object, ...]", returned):
            yield from _flat(part)
    elif returned is not None:
        yield returned


async def _within(seconds: float, work: Coroutine[Any, Any, Any], step: str) -> Any:
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await work
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise StepTimedOut(
            f"step {step} took longer than {seconds:g} s (E4.4).",
            what_to_do="Raise its timeout_seconds, or make it do less.",
        ) from error


async def _drain(ready: ReadyStep, events: AsyncGenerator[Event], show: Callable[[DisplayEvent], None]) -> list[Event]:
    """Display events are shown as they come; control events are published together at the end (E2.3)."""
    returned: list[Event] = []
    async with aclosing(events):  # a cancelled generator closes what it holds now, not when it is collected
        async for output in events:
            event = ready.checked(output)
            if isinstance(event, ControlEvent):
                returned.append(event)
            else:
                show(cast("DisplayEvent", event))
    return returned
