"""Events that lie in a scope and that no step has taken (E4.5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from planwerk.workflow.scope import Scope
from planwerk.workflow.seen import Seen


def left_in(scope: Scope) -> Iterator[Seen]:
    """The events that are still new to every parameter that takes them."""
    lying: dict[int, Seen] = {}
    places: Counter[int] = Counter()
    for cell in scope.cells.values():
        for seen in cell.new:
            lying[seen.position] = seen
            places[seen.position] += 1
    for _, seen in scope.direct:
        lying[seen.position] = seen
        places[seen.position] += 1
    for position, seen in lying.items():
        if places[position] == len(seen.kind.takers):
            yield seen
