"""Requests that something outside the run answers: a person, a timer (E8).

A request class names the classes that may answer it under scoped names, `AskBudget.Answered`. A subclass gets classes
of its own, made when it is defined (E5.4), so distinct interactions are told apart by their types in one line:

    class AskBudget(HumanInTheLoop.Input):
        \"\"\"Asks what may be spent.\"\"\"

A request is open from the append that publishes it until an answer naming its position is journaled. When it is
overdue, it is answered by the event that `overdue_answer` makes; the time is that of its entry, so it holds across
restarts and workers.
"""

from __future__ import annotations

import types
from typing import Any, ClassVar

from planwerk.workflow.events import ControlAndDisplayEvent, Event


class OutsideRequest(ControlAndDisplayEvent):
    """A request answered from outside the run; subclass `HumanInTheLoop.Input` and its siblings, or `Timer`."""

    responses: ClassVar[dict[str, type[Event]]] = {}
    """The classes that may answer it, by scoped name."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        cls.answer_with({name: cls._second(response, name) for name, response in cls.responses.items()})

    @classmethod
    def answer_with(cls, responses: dict[str, type[Event]]) -> None:
        """Pair the request with the classes that may answer it."""
        cls.responses = responses
        cls.answered_by = tuple(responses.values())
        for name, response in responses.items():
            setattr(cls, name, response)

    @classmethod
    def _second(cls, response: type[Event], name: str) -> type[Event]:
        place = {"__module__": cls.__module__, "__qualname__": f"{cls.__qualname__}.{name}"}
        keywords = {"label": response.label, "icon": response.icon}
        return types.new_class(
            f"{cls.__name__}{response.__name__}", (response,), keywords, lambda body: body.update(place)
        )

    def due_microseconds(self, asked: int) -> int | None:
        """When it is answered by itself, in microseconds since the epoch; None if never.

        Args:
            asked: When it was published.
        """
        return None

    def overdue_answer(self) -> Event:
        """The event that answers it when its time is over."""
        raise NotImplementedError

    @classmethod
    def timed_out(cls) -> type[Event] | None:
        """The answer that says that none came; a request whose `TimedOut` no step takes may not have a timeout."""
        return cls.responses.get("TimedOut")
