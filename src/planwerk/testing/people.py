"""Plays the people and agents whom a run asks, in tests and in simulations (E10.1)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from planwerk.workflow.agents import AgentEndedEvent, AgentFailedEvent, AgentInTheLoop, AgentUsage
from planwerk.workflow.events import Event, ExceptionEvent, StopEvent
from planwerk.workflow.people import AskPersonEvent

Respond: TypeAlias = Callable[[Any], Any] | Mapping[type[Event], Any]
"""By class of request the answer, or a function of the request that gives it; or one such function for all."""

Steer: TypeAlias = Callable[[Event], str | None] | Mapping[type[Event], str]
"""By class of event what a person says into the run once such an event is published; or a function that gives it."""


def said_to(event: Event, steer: Steer | None) -> str | None:
    """What a person says into the run on seeing this event; None if nothing."""
    if steer is None or callable(steer):
        return steer(event) if steer is not None else None
    return steer.get(type(event))


async def answer_of(request: Event, respond: Respond | None) -> Event | None:
    """The answer's event; None where nobody answers.

    Raises:
        AnswerInvalid: The answer does not fit the request.
    """
    given: Any = respond
    if isinstance(respond, Mapping):
        given = cast("Mapping[type[Event], Any]", respond).get(type(request))
    if callable(given):
        given = given(request)
        if inspect.isawaitable(given):
            given = await given
    if isinstance(request, AgentInTheLoop) and isinstance(given, Event):
        return _agent_answer(request, given)
    if given is None or not isinstance(request, AskPersonEvent):
        return cast("Event | None", given)
    return request.read_answer(given)


def _agent_answer(request: AgentInTheLoop, given: Event) -> Event:
    """The answer in place of a run: the event itself, or that of the stop such a run would end with."""
    if isinstance(given, ExceptionEvent):
        given = AgentFailedEvent.of_stop("", given, AgentUsage())
    elif isinstance(given, StopEvent):
        given = AgentEndedEvent(stop=given)
    return request.fitting(given) or given
