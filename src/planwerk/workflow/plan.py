"""A workflow as the schedule sees it: one plan per kind of scope, with bit masks made once (E3.8).

A *scope* is the blueprint's own workflow, or one call of a capability. Steps and classes of a plan have small numbers,
so that "can anything active still bring this parameter an event?" is a few ANDs of integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from planwerk.workflow.blueprint import Agent
from planwerk.workflow.capability import Capability
from planwerk.workflow.events import Event
from planwerk.workflow.steps import Returns, Shape, StepSpec

Mask = int


def bits(mask: Mask) -> Iterator[int]:
    """The numbers of the bits that are set, lowest first."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


@dataclass(slots=True)
class ParameterPlan:
    """An event parameter of a step, in one kind of scope."""

    index: int
    name: str
    classes: tuple[type[Event], ...]
    shape: Shape
    starting: bool = False
    """Whether a new event here can start the step (E3.1)."""
    of_loop: bool = False
    """Whether the step's own outputs can lead to its classes again (E3.9)."""
    read_only: bool = False
    """Names the run's start event inside a call: always settled, never new (E5.1)."""
    class_mask: Mask = 0
    same_steps: Mask = 0
    """Steps from which its classes can be reached without passing through its step (BS)."""
    same_arrivals: Mask = 0
    """Arriving classes from which they can be reached so (BT)."""
    earlier_steps: Mask = 0
    """The same for what is active in an earlier round, by any path (TS)."""
    earlier_arrivals: Mask = 0
    is_single: bool = field(init=False)
    is_list: bool = field(init=False)

    def __post_init__(self) -> None:
        self.is_single = self.shape is Shape.SINGLE
        self.is_list = self.shape.is_list


@dataclass(slots=True)
class WatchedParameter:
    """A parameter of a precondition: one of the step's own by place, or an event only the precondition reads."""

    name: str
    classes: tuple[type[Event], ...]
    shape: Shape
    own: int | None


@dataclass(slots=True)
class StepPlan:
    """A step of one kind of scope."""

    index: int
    bit: Mask
    name: str
    """Full name: `begin`, `Memory.search`."""
    spec: StepSpec
    parameters: tuple[ParameterPlan, ...]
    returns: Returns
    """What it returns, second uses of a capability renamed."""
    watched: tuple[WatchedParameter, ...] = ()
    is_direct: bool = False
    """One single required parameter and no precondition: each event is due at once, nothing is remembered."""
    always_waits: bool = False
    """Has an optional or list parameter, which must be settled first."""
    may_repeat: bool = False
    """Has several single required parameters, so a binding may repeat one of them."""
    is_lone: bool = False
    """Only optional parameters with a list among them: an empty fan-out can start it (E3.1)."""
    tracked: int = -1
    """Its place in the rounds of this scope's events; -1 where rounds do not matter (E3.9)."""
    awaited_steps: Mask = 0
    """Where rounds do not matter: steps whose work alone keeps it waiting, whatever it has already."""
    output_mask: Mask = 0
    outcomes: Mask = 0
    """Outcomes of this scope that its work can lead to (OUT)."""
    has_precondition: bool = field(init=False)

    def __post_init__(self) -> None:
        self.has_precondition = self.spec.precondition is not None


@dataclass(slots=True)
class ClassPlan:
    """An event class in one kind of scope: who takes it, what it opens."""

    index: int
    bit: Mask
    cls: type[Event]
    takers: tuple[tuple[StepPlan, int], ...] = ()
    watchers: tuple[StepPlan, ...] = ()
    """Steps whose precondition alone reads it."""
    call: ScopePlan | None = None
    """The scope a request of a capability opens."""
    answers: Mask = 0
    """Classes that answer it from outside, or outcomes of the call it opens."""
    is_stop: bool = False
    is_outcome: bool = False
    starts: Mask = 0
    """Steps it can start, or whose precondition names it (edge)."""
    read_by: Mask = 0
    """All steps that read it (data)."""
    outcomes: Mask = 0
    """Outcomes of this scope that its arrival can lead to (OUT)."""


@dataclass(slots=True)
class ScopePlan:
    """One kind of scope: the blueprint's for a start class, or a capability's for a request and a start class."""

    name: str
    """The capability's name; empty for the blueprint's own scope."""
    start: type[Event]
    capability: type[Capability] | None = None
    request: type[Event] | None = None
    steps: list[StepPlan] = field(default_factory=list[StepPlan])
    classes: list[ClassPlan] = field(default_factory=list[ClassPlan])
    by_class: dict[type[Event], ClassPlan] = field(default_factory=dict[type[Event], ClassPlan])
    outcomes: tuple[type[Event], ...] = ()
    """Outcomes its steps can publish, stops not among them."""
    stops: tuple[type[Event], ...] = ()
    """Stops its steps can publish, those of calls it opens among them."""
    tracked: tuple[StepPlan, ...] = ()
    lone: tuple[StepPlan, ...] = ()
    possible_memo: dict[tuple[Mask, Mask], Mask] = field(default_factory=dict[tuple[Mask, Mask], Mask])

    def step_named(self, name: str) -> StepPlan | None:
        """The step with this full name, if it has one."""
        for step in self.steps:
            if step.name == name:
                return step
        return None

    @property
    def brought_in(self) -> tuple[ClassPlan, ...]:
        """What may come from outside at any time, any number of times, or never: to the blueprint's own steps alone."""
        return tuple(kind for kind in self.classes if kind.cls.from_outside and kind.takers and self.request is None)

    @property
    def owes_outcome(self) -> bool:
        """Whether a call of it must answer or stop the run before it is quiet (E5.2)."""
        return bool(self.outcomes or self.stops)

    def possible(self, active: Mask, arriving: Mask) -> Mask:
        """The outcomes that work active in the scope can still lead to, as a mask of this plan's classes."""
        key = (active, arriving)
        known = self.possible_memo.get(key)
        if known is None:
            known = 0
            for number in bits(active):
                known |= self.steps[number].outcomes
            for number in bits(arriving):
                known |= self.classes[number].outcomes
            self.possible_memo[key] = known
        return known


@dataclass(frozen=True, slots=True)
class Composition:
    """A blueprint composed for one start class, with the plan of every scope it can open."""

    blueprint: type[Agent]
    start: type[Event]
    root: ScopePlan
    scopes: tuple[ScopePlan, ...]
    """All plans, the root first."""
    fingerprint: str
    """Changes when steps, classes or calls change (E7.6)."""

    def takes_from_outside(self, cls: type[Event]) -> bool:
        """Whether a step of the blueprint's own takes this class when it is brought in from outside (S2.3)."""
        return any(kind.cls is cls for kind in self.root.brought_in)
