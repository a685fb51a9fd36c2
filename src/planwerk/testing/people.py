"""Plays the people whom a run asks, in tests and in simulations (E10.1)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from planwerk.workflow.events import Event
from planwerk.workflow.people import AskPersonEvent

Respond: TypeAlias = Callable[[Any], Any] | Mapping[type[Event], Any]
"""By class of request the answer, or a function of the request that gives it; or one such function for all."""


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
    if given is None or not isinstance(request, AskPersonEvent):
        return cast("Event | None", given)
    return request.read_answer(given)
