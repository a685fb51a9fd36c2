"""The vocabulary: what an event is, and the families that say what may happen to it (E1).

An event is a frozen Pydantic model whose class name is its wire type. What happened *to* it (id, run, position, time,
call, cause) stands in the journal entry around it, never in its fields.

    Event
    ├── ControlEvent             moves a run: dispatched to steps
    ├── DisplayEvent             shown, never dispatched; `ephemeral=True` makes it a live frame only
    └── ControlAndDisplayEvent   both
        ├── StartEvent           begins a run
        └── StopEvent            ends it
            └── ExceptionEvent   ends it as failed
"""

from __future__ import annotations

import json
import weakref
from typing import Any, ClassVar, Final, Literal, Self, cast

from pydantic import BaseModel, ConfigDict

from planwerk.workflow.errors import DefinitionError
from planwerk.workflow.locale_string import LocaleString, localized

Family = Literal["control", "display", "both"]
SemanticKind = Literal["LLM", "RETRIEVER", "RERANKER", "EMBEDDING", "TOOL", "GUARDRAIL", "CHAIN", "AGENT"]
RESERVED_FIELDS: Final = frozenset({"type", "family"})


def _family_of(cls: type[BaseModel]) -> Family:
    families = {parent.__name__ for parent in cls.__mro__ if parent.__module__ == __name__}
    if families >= {"ControlEvent", "DisplayEvent"}:
        return "both"
    return "control" if "ControlEvent" in families else "display"


class Event(BaseModel):
    """A fact or a request. Subclass one of the families, not this class.

    Class keywords:
        label: What people read (a `LocaleString` or a plain text); made from the class name if missing.
        icon: Name of an icon of the web client.
        kind: OpenInference kind of a semantic event (E1.4).
        ephemeral: For display events: a live frame only, never journaled (E1.2).
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        ser_json_bytes="base64",
        val_json_bytes="base64",
        ser_json_inf_nan="strings",
        allow_inf_nan=True,
    )

    event_type: ClassVar[str] = "Event"
    family: ClassVar[Family] = "both"
    label: ClassVar[LocaleString] = LocaleString("Event")
    icon: ClassVar[str | None] = None
    semantic_kind: ClassVar[SemanticKind | None] = None
    ephemeral: ClassVar[bool] = False
    answered_by: ClassVar[tuple[type[Event], ...]] = ()
    """Classes of which one answers this event from outside the run: a person, an agent, a timer (E8)."""
    leaves_run: ClassVar[bool] = False
    """Whether it does its work outside the run, so that no step has to take it (E8.4)."""
    from_outside: ClassVar[bool] = False
    """Whether it may be brought into a run at any time, any number of times, or never (S2.3)."""

    def __init_subclass__(
        cls,
        *,
        label: LocaleString | str | None = None,
        icon: str | None = None,
        kind: SemanticKind | None = None,
        ephemeral: bool | None = None,
        **kwargs: Any,
    ) -> None:
        # The keywords are read in __pydantic_init_subclass__, when the fields are known.
        super().__init_subclass__(**kwargs)

    @classmethod
    def __pydantic_init_subclass__(
        cls,
        *,
        label: LocaleString | str | None = None,
        icon: str | None = None,
        kind: SemanticKind | None = None,
        ephemeral: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        cls.event_type = cls.__name__
        cls.family = _family_of(cls)
        cls.label = localized(label) if label is not None else LocaleString(_words(cls.__name__))
        if icon is not None:
            cls.icon = icon
        if kind is not None:
            cls.semantic_kind = kind
        if ephemeral is not None:
            cls.ephemeral = ephemeral
        if cls.ephemeral and cls.family != "display":
            raise DefinitionError(
                f"{cls.__name__} is ephemeral but moves runs (E1.2: only display events may be live frames alone).",
                what_to_do="Make it a DisplayEvent, or leave `ephemeral` out.",
            )
        reserved = RESERVED_FIELDS & cls.model_fields.keys()
        if reserved:
            raise DefinitionError(
                f"{cls.__name__} has a field named {sorted(reserved)[0]!r}, which names the class on the wire (E1.1).",
                what_to_do="Give the field another name.",
            )
        register(cls)

    def same_as(self, other: Event) -> bool:
        """Whether both are of one class and have the same canonical JSON (E1.1)."""
        return type(self) is type(other) and self.canonical_json() == other.canonical_json()

    def canonical_json(self) -> str:
        """JSON with sorted keys, sorted sets and without message timestamps: equal for equal events."""
        return json.dumps(_canonical(self.model_dump(mode="python", serialize_as_any=True)), sort_keys=True)

    def span_attributes(self) -> dict[str, str]:
        """OpenInference attributes of a semantic event; empty for the others (E1.4)."""
        return {"openinference.span.kind": self.semantic_kind} if self.semantic_kind else {}

    @classmethod
    def as_class(cls, event: Event) -> Self:
        """The event's content as an instance of this class, which must be a subclass made from its class (E5.4)."""
        return cls.model_construct(event.model_fields_set, **event.__dict__)


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value)
        return {str(key): _canonical(item) for key, item in items.items() if key != "timestamp"}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in cast("list[Any]", value)]
    if isinstance(value, set | frozenset):
        return sorted((_canonical(item) for item in cast("set[Any]", value)), key=repr)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return f"{type(value).__name__}:{value}"


def _words(name: str) -> str:
    text = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name.removesuffix("Event"))
    return text.strip().capitalize() or name


_registry: weakref.WeakValueDictionary[str, type[Event]] = weakref.WeakValueDictionary()


def register(cls: type[Event]) -> None:
    """Make the class known under its name; a second class of that name is refused, naming both (E1.1).

    Defining the same class again at the same place (a cell of a notebook run twice) replaces it.
    """
    known = _registry.get(cls.__name__)
    if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise DefinitionError(
            f"two event classes are named {cls.__name__}: {known.__module__}.{known.__qualname__} and "
            f"{cls.__module__}.{cls.__qualname__} (E1.1: the class name is the wire type).",
            what_to_do="Rename one of them.",
        )
    _registry[cls.__name__] = cls


def event_class(name: str) -> type[Event] | None:
    """The event class of this wire type, or None if no class of that name is known here."""
    return _registry.get(name)


def known_event_classes() -> dict[str, type[Event]]:
    """All event classes defined in this process, by wire type, sorted."""
    return dict(sorted(_registry.items()))


class ControlEvent(Event):
    """Moves a run: it is matched to steps, and never shown."""


class DisplayEvent(Event):
    """Is shown to people and never dispatched. Durable unless its class says `ephemeral=True`."""


class ControlAndDisplayEvent(ControlEvent, DisplayEvent):
    """Moves a run and is shown."""


class StartEvent(ControlAndDisplayEvent, label=LocaleString(en="Started", de="Begonnen", fr="Commencé", it="Iniziato")):
    """Begins a run."""


class StopEvent(ControlAndDisplayEvent, label=LocaleString(en="Finished", de="Fertig", fr="Terminé", it="Finito")):
    """Ends a run; subclasses carry its result."""


class ExceptionEvent(
    StopEvent, label=LocaleString(en="Failed", de="Fehlgeschlagen", fr="Échoué", it="Fallito"), icon="failed"
):
    """Ends a run as failed.

    Attributes:
        code: Stable code of the error, the same in UI, REST, `/v1` and CLI.
        message: What happened, for people.
        what_to_do: What helps now; empty if nothing is known.
        step: Full name of the step that failed, if a step did.
        error_type: Class name of the Python error.
        http_status: Status a server answers with.
    """

    code: str
    message: str
    what_to_do: str = ""
    step: str | None = None
    error_type: str = ""
    http_status: int = 500


class StepWarningEvent(
    DisplayEvent, label=LocaleString(en="Warning", de="Warnung", fr="Avertissement", it="Avviso"), icon="alert"
):
    """A step failed or degraded, and the run goes on (E4.4)."""

    step: str
    code: str
    message: str


class UnknownEvent(Event):
    """An event of a class that is not known here, kept whole (E1.5). Made by the codec only."""

    wire_type: str
    wire_family: Family
    fields: dict[str, Any]
