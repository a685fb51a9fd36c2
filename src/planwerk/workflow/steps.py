"""`@step`: an async method matched to events by the exact classes its parameters name (E2).

The signature is read once, when the blueprint is first composed; nothing is reflected while a run works.
"""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, TypeVar, cast

from planwerk.workflow.errors import DefinitionError
from planwerk.workflow.events import Event
from planwerk.workflow.locale_string import LocaleString, localized

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
Annotation = Any

_SPEC: Final = "__planwerk_step__"


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a failing step is tried again, and how long the first wait is (E4.4).

    It doubles each time, and is up to a tenth longer, so that what failed together does not come back together.
    """

    times: int = 0
    backoff_seconds: float = 1.0


class Shape(Enum):
    """How many events a parameter takes (E2.2)."""

    SINGLE = "E"
    OPTIONAL = "E | None"
    LIST = "list[E]"
    OPTIONAL_LIST = "list[E] | None"

    @property
    def is_list(self) -> bool:
        return self in {Shape.LIST, Shape.OPTIONAL_LIST}


@dataclass(frozen=True, slots=True)
class EventParameter:
    """A parameter that takes events of exactly these classes."""

    name: str
    classes: tuple[type[Event], ...]
    shape: Shape


@dataclass(frozen=True, slots=True)
class Injected:
    """A parameter that is provided; `optional` when its annotation says `| None`."""

    name: str
    annotation: Annotation
    optional: bool
    has_default: bool


@dataclass(frozen=True, slots=True)
class Output:
    """One class an alternative returns; `many` when it stands in a list."""

    cls: type[Event]
    many: bool = False


@dataclass(frozen=True, slots=True)
class Returns:
    """What a step may return: it ends with one of the alternatives; the empty one is `None`."""

    alternatives: tuple[tuple[Output, ...], ...]
    generator: bool = False

    @property
    def classes(self) -> tuple[type[Event], ...]:
        return tuple(dict.fromkeys(output.cls for outputs in self.alternatives for output in outputs))


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function takes and returns, read from its annotations."""

    events: tuple[EventParameter, ...]
    injected: tuple[Injected, ...]
    returns: Returns
    takes_self: bool


@dataclass(slots=True)
class StepSpec:
    """A step as it was declared; `signature` is read when first asked for."""

    function: Callable[..., Any]
    name: str
    label: LocaleString
    description: LocaleString | None
    icon: str | None
    precondition: Callable[..., Any] | None
    max_executions_per_run: int | None
    stop_on_error: bool
    retry: Retry
    timeout_seconds: float | None
    shadows: bool = False
    """Whether its class body declared a step of the same name before (E6.3)."""
    names_around: dict[str, Any] = field(default_factory=dict[str, Any])
    _signature: Signature | None = None
    _precondition_signature: Signature | None = None

    def signature(self) -> Signature:
        """What the step takes and returns.

        Raises:
            DefinitionError: An annotation is missing, cannot be resolved, or mixes events with other types.
        """
        if self._signature is None:
            self._signature = read_signature(self.function, self.names_around)
        return self._signature

    def precondition_signature(self) -> Signature | None:
        """What the precondition takes, or None where there is none."""
        if self.precondition is not None and self._precondition_signature is None:
            self._precondition_signature = read_signature(self.precondition, self.names_around, returns_events=False)
        return self._precondition_signature


def step(
    name: LocaleString | str | None = None,
    description: LocaleString | str | None = None,
    icon: str | None = None,
    precondition: Callable[..., Any] | None = None,
    max_executions_per_run: int | None = None,
    stop_on_error: bool = True,
    retry: Retry | None = None,
    timeout_seconds: float | None = None,
) -> Callable[[FunctionT], FunctionT]:
    """Declare a method as a step (E2.1); it stays callable as it is, so a step is tested by calling it.

    Args:
        name: What people read in timeline and graph; made from the method's name if missing.
        description: One sentence more.
        icon: Name of an icon of the web client.
        precondition: Asked before a binding becomes due; sees some of the step's events and what it asks injected.
        max_executions_per_run: The binding beyond it ends the run with an error (E3.7).
        stop_on_error: Whether a failure ends the run; otherwise it counts as an end without an event (E4.4).
        retry: How often and when a failing execution is tried again.
        timeout_seconds: An execution that takes longer fails.
    """

    def declare(function: FunctionT) -> FunctionT:
        if not (inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)):
            raise DefinitionError(
                f"step {function.__qualname__} is not async (E2.1).",
                what_to_do="Write `async def`; put slow synchronous code into `await asyncio.to_thread(...)`.",
            )
        frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage] - names of the function a class is defined in
        around = frame.f_back
        local_names = {} if around is None or around.f_code.co_name == "<module>" else dict(around.f_locals)
        setattr(
            function,
            _SPEC,
            StepSpec(
                function=function,
                name=function.__name__,
                label=localized(name) if name is not None else LocaleString(_words(function.__name__)),
                description=localized(description) if description is not None else None,
                icon=icon,
                precondition=precondition,
                max_executions_per_run=max_executions_per_run,
                stop_on_error=stop_on_error,
                retry=retry or Retry(),
                timeout_seconds=timeout_seconds,
                shadows=spec_of(frame.f_locals.get(function.__name__)) is not None,
                names_around=local_names,
            ),
        )
        return function

    return declare


def spec_of(function: object) -> StepSpec | None:
    """The declaration behind a method, or None if it is no step."""
    return getattr(function, _SPEC, None)


def steps_of(cls: type) -> list[StepSpec]:
    """The steps of a class in order of declaration, parents' first; an override keeps its parent's place."""
    found: dict[str, StepSpec | None] = {}
    for owner in reversed(cls.__mro__):
        for name, member in vars(owner).items():
            spec = spec_of(member)
            if spec is not None or name in found:
                found[name] = spec
    return [spec for spec in found.values() if spec is not None]


def _words(name: str) -> str:
    return name.strip("_").replace("_", " ").capitalize()


def read_signature(
    function: Callable[..., Any], names_around: dict[str, Any], *, returns_events: bool = True
) -> Signature:
    """Read what a function takes and returns from its annotations."""
    hints = _resolve(function, names_around)
    events: list[EventParameter] = []
    injected: list[Injected] = []
    parameters = list(inspect.signature(function).parameters.values())
    takes_self = bool(parameters) and parameters[0].name == "self"
    for parameter in parameters[1:] if takes_self else parameters:
        where = f"{function.__qualname__}, parameter {parameter.name}"
        if parameter.name not in hints:
            raise DefinitionError(
                f"{where} has no annotation (E2.2, E2.4).",
                what_to_do="Annotate it with an event class or a provided type.",
            )
        taken = _event_parameter(parameter.name, hints[parameter.name], where)
        if taken is not None:
            events.append(taken)
        else:
            annotation, optional = _without_none(hints[parameter.name])
            injected.append(Injected(parameter.name, annotation, optional, parameter.default is not parameter.empty))
    returns = _returns(hints.get("return", None), function) if returns_events else Returns(((),))
    return Signature(tuple(events), tuple(injected), returns, takes_self)


def _resolve(function: Callable[..., Any], names_around: dict[str, Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, localns=names_around)
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        raise DefinitionError(
            f"the annotations of {function.__qualname__} cannot be resolved: {error} (E2.2).",
            what_to_do="Import the named classes in the module that defines the step, not only for type checking.",
        ) from error


def _members(annotation: Annotation) -> tuple[Annotation, ...]:
    origin = typing.get_origin(annotation)
    if origin in {typing.Union, types.UnionType}:
        return tuple(member for part in typing.get_args(annotation) for member in _members(part))
    if origin is typing.Annotated:
        return _members(typing.get_args(annotation)[0])
    return (annotation,)


def _without_none(annotation: Annotation) -> tuple[Annotation, bool]:
    members = _members(annotation)
    rest = [member for member in members if member is not type(None)]
    if len(rest) == len(members):
        return annotation, False
    return (rest[0], True) if len(rest) == 1 else (typing.Union[tuple(rest)], True)  # noqa: UP007 - made at run time


def _is_event(annotation: Annotation) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Event)


def _event_parameter(name: str, annotation: Annotation, where: str) -> EventParameter | None:
    members = _members(annotation)
    optional = type(None) in members
    rest = [member for member in members if member is not type(None)]
    if len(rest) == 1 and typing.get_origin(rest[0]) is list:
        inner = _members(typing.get_args(rest[0])[0])
        if any(map(_is_event, inner)):
            shape = Shape.OPTIONAL_LIST if optional else Shape.LIST
            return EventParameter(name, _only_events(inner, where), shape)
        return None
    if not any(map(_is_event, rest)):
        return None
    return EventParameter(name, _only_events(tuple(rest), where), Shape.OPTIONAL if optional else Shape.SINGLE)


def _only_events(members: tuple[Annotation, ...], where: str) -> tuple[type[Event], ...]:
    if not all(map(_is_event, members)):
        raise DefinitionError(
            f"{where} mixes events with other types (E2.2).",
            what_to_do="A parameter is E, A | B, E | None, list[E] or list[E] | None of events, or one provided type.",
        )
    return tuple(dict.fromkeys(cast("tuple[type[Event], ...]", members)))


def _returns(annotation: Annotation, function: Callable[..., Any]) -> Returns:
    if inspect.isasyncgenfunction(function):
        arguments = typing.get_args(annotation)
        if typing.get_origin(annotation) not in {AsyncIterator, AsyncGenerator} or not arguments:
            raise DefinitionError(
                f"{function.__qualname__} is an async generator without `-> AsyncIterator[...]` (E2.3).",
                what_to_do="Name the classes of the events it yields.",
            )
        outputs = tuple(Output(cls, many=True) for cls in _output_classes(arguments[0], function))
        return Returns((outputs,), generator=True)
    alternatives = [outputs for member in _members(annotation) for outputs in _alternatives(member, function)]
    return Returns(tuple(dict.fromkeys(alternatives)))


def _alternatives(member: Annotation, function: Callable[..., Any]) -> list[tuple[Output, ...]]:
    if member is None or member is type(None):
        return [()]
    origin = typing.get_origin(member)
    if origin is tuple:
        parts = [part for part in typing.get_args(member) if part is not Ellipsis]
        return [tuple(output for part in parts for output in _tuple_part(part, function))]
    if origin is list:
        return [tuple(Output(cls, many=True) for cls in _output_classes(typing.get_args(member)[0], function))]
    return [(Output(cls),) for cls in _output_classes(member, function)]


def _tuple_part(part: Annotation, function: Callable[..., Any]) -> list[Output]:
    if typing.get_origin(part) is list:
        return [Output(cls, many=True) for cls in _output_classes(typing.get_args(part)[0], function)]
    return [Output(cls) for cls in _output_classes(part, function)]


def _output_classes(annotation: Annotation, function: Callable[..., Any]) -> list[type[Event]]:
    members = [member for member in _members(annotation) if member is not type(None)]
    wrong = [member for member in members if not _is_event(member)]
    if wrong:
        raise DefinitionError(
            f"{function.__qualname__} returns {wrong[0]!r}, which is no event (E2.3).",
            what_to_do="A step returns an event, a union, a list, a tuple of events, or None.",
        )
    return members
