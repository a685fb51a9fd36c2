"""What can happen next in an abstract run (E6.4).

Executions of one step with the same rounds end as one: with any of their endings or, where there are several of them,
with any set of endings, each of them many times. So do open requests of one class, and preconditions being asked.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from planwerk.workflow import entries as journal
from planwerk.workflow.events import Event, StopEvent
from planwerk.workflow.exploring.boxes import Ending
from planwerk.workflow.ids import EventId, ExecutionId
from planwerk.workflow.schedule import AskKey, RunSchedule
from planwerk.workflow.seen import Execution, Seen

ItemT = TypeVar("ItemT")
Tokens = Mapping[type[Event], int]
"""How many events of a class stand for many."""


class Act(Protocol):
    """Entries that are applied as one."""

    def apply_to(self, schedule: RunSchedule, tokens: Tokens) -> None: ...


@dataclass(frozen=True, slots=True)
class Move:
    """One thing that can happen.

    Attributes:
        text: As people read it: `guard → Short`.
        because: Why it is no ordinary one: an empty list, a precondition that says no.
        returned: Classes of the events that come of it.
    """

    text: str
    act: Act
    because: str = ""
    returned: tuple[type[Event], ...] = ()


def ends(group: Sequence[Execution], endings: Sequence[Ending], *, also_one: bool) -> list[Move]:
    """Executions of one step end, all as one.

    Args:
        also_one: Whether one of them may also end alone, where the order matters.
    """
    identities = tuple(made.id for made in group)
    name = group[0].step.spec.name
    if len(group) == 1:
        return [_end(name, identities, (ending,)) for ending in endings]
    moves = [_end(name, identities, several) for several in _ends_of_many(endings)]
    return moves + [_end(name, identities[:1], (ending,)) for ending in endings if also_one]


def answers(group: Sequence[tuple[int, Seen]], classes: Sequence[type[Event]], *, also_one: bool) -> list[Move]:
    """Open requests of one class are answered, all as one."""
    positions = tuple(position for position, _ in group)
    request = type(group[0][1].event).__name__
    ways = [(positions, (cls,)) for cls in classes]
    if len(group) > 1:
        ways += [(positions, several) for several in _sets_of([c for c in classes if not issubclass(c, StopEvent)])]
        ways += [(positions[:1], (cls,)) for cls in classes if also_one]
    return [
        Move(f"{request} → {_listed(cls.__name__ for cls in several)}", _Answered(asked, several), returned=several)
        for asked, several in ways
    ]


def verdicts(group: Sequence[Execution], *, may_refuse: bool) -> list[Move]:
    """The precondition of bindings of one step is asked."""
    name = group[0].step.spec.name
    keys = tuple((asked.step.name, asked.scope.position, asked.positions) for asked in group)
    moves = [Move(f"{name} may begin", _Verdicts(keys, len(keys)))]
    if may_refuse:
        refused = range(min(len(keys), 2))  # none of them may begin, or only one
        because = f"the precondition of {name} says no"
        moves += [Move(f"{name} may not begin", _Verdicts(keys, yes), because) for yes in refused]
    return moves


def arrivals(cls: type[Event]) -> list[Move]:
    """An event is brought in from outside, or many of its class at once."""
    return [Move(f"{cls.__name__} comes{words}", _Brought(cls, many)) for many, words in _HOW_MANY]


def _ends_of_many(endings: Sequence[Ending]) -> Iterable[tuple[Ending, ...]]:
    """Any set of endings, once for each set of classes that comes of it; one that stops the run stands alone."""
    found: dict[tuple[frozenset[type[Event]], bool], tuple[Ending, ...]] = {}
    going_on = [ending for ending in endings if not ending.is_stop]
    for several in ((ending,) for ending in endings), _sets_of(going_on):
        for ways in several:
            classes = frozenset(cls for ending in ways for cls, _ in ending.outputs)
            found.setdefault((classes, any(not ending.outputs for ending in ways)), ways)
    return found.values()


def _end(name: str, executions: tuple[ExecutionId, ...], several: tuple[Ending, ...]) -> Move:
    because = "; ".join(dict.fromkeys(ending.because for ending in several if ending.because))
    returned = tuple(cls for ending in several for cls, _ in ending.outputs)
    text = f"{name} → {_listed(n for ending in several for n in (ending.names or ('nothing',)))}"
    return Move(text, _Ended(executions, several), because, returned)


@dataclass(frozen=True, slots=True)
class _Ended:
    """The first publishes for all, so that one or many tokens of each class come of it."""

    executions: tuple[ExecutionId, ...]
    endings: tuple[Ending, ...]

    def apply_to(self, schedule: RunSchedule, tokens: Tokens) -> None:
        positions: list[int] = []
        first, are_many = self.executions[0], len(self.executions) > 1
        for ending in self.endings:
            for cls, is_many in ending.outputs:
                count = tokens.get(cls, 1) if is_many or are_many else 1
                for _ in range(count):
                    event = journal.EventPublished(cls.model_construct(), EventId(""), 0, first)
                    schedule.apply(event)
                    positions.append(schedule.position)
        outputs = [tuple(positions)] * len(self.executions)
        if positions and any(not ending.outputs for ending in self.endings):
            outputs[-1] = ()
        for execution, returned in zip(self.executions, outputs, strict=True):
            schedule.apply(journal.ExecutionFinished(execution, 0, 1, returned))


_HOW_MANY: Final = ((False, ""), (True, " several times"))


@dataclass(frozen=True, slots=True)
class _Brought:
    cls: type[Event]
    are_many: bool

    def apply_to(self, schedule: RunSchedule, tokens: Tokens) -> None:
        for _ in range(tokens.get(self.cls, 1) if self.are_many else 1):
            schedule.apply(journal.EventPublished(self.cls.model_construct(), EventId(""), 0))


@dataclass(frozen=True, slots=True)
class _Answered:
    """Each answer of the set comes to some of the requests."""

    requests: tuple[int, ...]
    answers: tuple[type[Event], ...]

    def apply_to(self, schedule: RunSchedule, tokens: Tokens) -> None:
        for answer, request in zip(itertools.cycle(self.answers), self.requests, strict=False):
            schedule.apply(journal.EventPublished(answer.model_construct(), EventId(""), 0, answers=request))


@dataclass(frozen=True, slots=True)
class _Verdicts:
    """Yes to the first bindings, no to the others."""

    keys: tuple[AskKey, ...]
    yes: int

    def apply_to(self, schedule: RunSchedule, tokens: Tokens) -> None:
        for number, (step, scope, binding) in enumerate(self.keys):
            schedule.begin_asking(schedule.asked[step, scope, binding])
            schedule.apply(journal.PreconditionAnswered(step, scope, binding, number < self.yes, 0))


def _sets_of(items: Sequence[ItemT]) -> Iterator[tuple[ItemT, ...]]:
    """Every set of two or more."""
    for size in range(2, len(items) + 1):
        yield from itertools.combinations(items, size)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))
