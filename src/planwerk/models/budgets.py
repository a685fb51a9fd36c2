"""How many tokens a prompt may have (C1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

DEFAULT_INPUT_TOKENS: Final = 128_000
SAFETY_FACTOR: Final = 0.9
"""Estimates are on the safe side already; this leaves room for the answer and for what a provider adds."""


def input_budget(
    field: int = DEFAULT_INPUT_TOKENS, windows: Iterable[int | None] = (), *, safety_factor: float = SAFETY_FACTOR
) -> int:
    """The smaller of the profile's field and the narrowest known window that may get the prompt, times the factor.

    Args:
        field: `number_of_input_tokens` of the profile.
        windows: Context windows of all models that may receive the prompt; an unknown one (None) leaves the field.
    """
    known = [window for window in windows if window]
    return max(1, int(min([field, *known]) * safety_factor))
