"""A capability: a sub-workflow called by returning its request, picked up by declaring its result (E5, E6.2)."""

from __future__ import annotations

import types
from typing import Any, ClassVar

from pydantic import BaseModel

from planwerk.workflow.errors import DefinitionError
from planwerk.workflow.events import Event, StopEvent
from planwerk.workflow.steps import StepSpec, steps_of


class Capability:
    """A sub-workflow other workflows call with events.

    A subclass nests its event classes under scoped names. A name that ends in `Request` opens a call, every other
    nested event is an outcome, delivered to the caller as well:

        class Greeting(Capability):
            config = GreetingFields
            GreetRequest = GreetEvent
            Greeted = GreetedEvent

    A second, distinct use is a subclass of it (`class Formal(Greeting): ...`), whose nested names are event classes of
    their own (E5.4).
    """

    config: ClassVar[type[BaseModel] | None] = None
    """Mixin of fields the calling profile's config must have; None if it has no settings."""
    chat_feature: ClassVar[str | None] = None
    """The chat toggle this capability needs (C7)."""
    outcomes_by_request: ClassVar[dict[str, tuple[str, ...]] | None] = None
    """Outcome names per request name, where they are decided at run time and cannot be read from the steps."""

    renamed: ClassVar[dict[type[Event], type[Event]]] = {}
    """Event classes of the capability this one is a second use of, and the classes that stand for them."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for parent in cls.__bases__:
            if issubclass(parent, Capability) and parent is not Capability:
                cls._rename_events_of(parent)

    @classmethod
    def _rename_events_of(cls, parent: type[Capability]) -> None:
        own: dict[type[Event], type[Event]] = {}
        for name, event in parent.event_names().items():
            if name in vars(cls):
                continue
            if event not in own:
                own[event] = cls._second(event, name)
            setattr(cls, name, own[event])
        earlier = {first: own.get(second, second) for first, second in parent.renamed.items()}
        cls.renamed = {**earlier, **own}

    @classmethod
    def _second(cls, event: type[Event], name: str) -> type[Event]:
        place = {"__module__": cls.__module__, "__qualname__": f"{cls.__qualname__}.{name}"}
        keywords = {"label": event.label, "icon": event.icon}
        return types.new_class(f"{cls.__name__}{event.__name__}", (event,), keywords, lambda body: body.update(place))

    @classmethod
    def event_names(cls) -> dict[str, type[Event]]:
        """The nested event classes by their scoped name."""
        return {
            name: member
            for owner in reversed(cls.__mro__)
            for name, member in vars(owner).items()
            if isinstance(member, type) and issubclass(member, Event) and not name.startswith("_")
        }

    @classmethod
    def requests(cls) -> tuple[type[Event], ...]:
        """Classes that open a call of this capability."""
        return tuple(dict.fromkeys(event for name, event in cls.event_names().items() if name.endswith("Request")))

    @classmethod
    def outcomes(cls) -> tuple[type[Event], ...]:
        """Classes a call may answer with, stops not among them: those end the run."""
        return tuple(
            dict.fromkeys(
                event
                for name, event in cls.event_names().items()
                if not name.endswith("Request") and not issubclass(event, StopEvent)
            )
        )

    @classmethod
    def stand_in(cls, event: type[Event]) -> type[Event]:
        """The class that stands for this one in calls of this capability (E5.4)."""
        return cls.renamed.get(event, event)

    @classmethod
    def steps(cls) -> list[StepSpec]:
        """The capability's steps in order of declaration."""
        return steps_of(cls)


_owners: dict[type[Event], type[Capability]] = {}


def capability_of(request: type[Event]) -> type[Capability] | None:
    """The capability whose request this class is, or None."""
    if request not in _owners:
        for capability in _all_capabilities(Capability):
            for known in capability.requests():
                owner = _owners.setdefault(known, capability)
                if owner is not capability and owner.renamed is capability.renamed:
                    raise DefinitionError(
                        f"{known.__name__} is a request of {owner.__name__} and of {capability.__name__} (E6.2).",
                        what_to_do="Give each capability a request class of its own.",
                    )
    return _owners.get(request)


def _all_capabilities(root: type[Capability]) -> list[type[Capability]]:
    found: list[type[Capability]] = []
    for child in root.__subclasses__():
        found.append(child)
        found.extend(_all_capabilities(child))
    return found
