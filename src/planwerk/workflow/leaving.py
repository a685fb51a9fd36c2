"""Events that lie in a scope and that no step has taken (E4.5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from planwerk.workflow.scope import Scope
from planwerk.workflow.seen import Execution, Seen


def left_in(scope: Scope, asked: Iterable[Execution] = ()) -> Iterator[Seen]:
    """The events that are still new to every parameter that takes them.

    Args:
        asked: Bindings whose precondition is being asked; like those it held back, they have not taken their events.
    """
    lying: dict[int, Seen] = {}
    places: Counter[int] = Counter()
    for seen in _new_in(scope, asked):
        lying[seen.position] = seen
        places[seen.position] += 1
    for position, seen in lying.items():
        if places[position] >= len(seen.kind.takers):
            yield seen


def _new_in(scope: Scope, asked: Iterable[Execution]) -> Iterator[Seen]:
    for cell in scope.cells.values():
        yield from cell.new
    for _, seen in scope.direct:
        yield seen
    for execution in (*scope.held, *(one for one in asked if one.scope is scope)):
        for place, bound in enumerate(execution.binding):
            if execution.fresh >> place & 1 and bound is not None:
                yield from (bound,) if isinstance(bound, Seen) else bound
