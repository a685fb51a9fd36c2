"""What a long run stores: bytes per step at its beginning and at its end, counted from the rows themselves."""

from __future__ import annotations

from collections.abc import Sequence

from bench.gauges import windows
from bench.scenario import Sizes


def note_bytes_per_step(sizes: Sizes, stored: Sequence[int]) -> None:
    """Note the means of the two windows.

    Args:
        stored: Bytes by step, in order; what a run stores beside its steps comes first or last and is left out.
    """
    early, late = windows(sizes.steps)
    for name, (first, last) in (("bytes per early step", early), ("bytes per late step", late)):
        found = stored[first : max(last, first + 1)]
        sizes.note(name, sum(found) / len(found))
