"""Faults of one simulated run: which, when, and what has happened so far (E10.2).

Everything is drawn from one seed. A fault is due at a *moment*: moments are counted over all awaits of all simulated
processes, so that a crash may fall anywhere.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Final, Literal

Kind = Literal[
    "crash",
    "crash before append",
    "crash after append",
    "pause",
    "second owner",
    "hand over",
    "append fails",
    "append fails after writing",
    "call fails",
    "call fails after its work",
    "slow store",
    "delivered twice",
]

TAKEOVERS: Final[tuple[Kind, ...]] = (
    "crash",
    "crash",
    "crash before append",
    "crash after append",
    "pause",
    "second owner",
    "hand over",
    "append fails",
    "append fails after writing",
)
"""Kinds after which somebody else, or the same process anew, goes on from the journal."""
OTHERS: Final[tuple[Kind, ...]] = ("call fails", "call fails after its work", "slow store", "delivered twice")
AT_APPEND: Final = frozenset[Kind](
    {"crash before append", "crash after append", "append fails", "append fails after writing"}
)
AT_CALL: Final = frozenset[Kind]({"call fails", "call fails after its work", "slow store"})

MAX_TAKEOVERS: Final = 2
"""Fewer than the crashes of one execution after which the engine gives up (E7.2: a poison step)."""
HOLD_UPS: Final = ((0.0, 0.0), (0.0, 0.0), (0.05, 0.002), (0.3, 0.001), (0.2, 0.02), (0.6, 0.005))
"""(how many awaits are held up, for how long at most), one of which a run has throughout."""


class StoreUnavailable(OSError):
    """The simulated store did not answer."""


@dataclass(slots=True)
class Fault:
    """One fault, due at a moment."""

    kind: Kind
    moment: int


@dataclass(slots=True)
class FaultPlan:
    """The faults of one seed, and the trace of what happened.

    Attributes:
        armed: Faults whose moment has come and that wait for the next append or store call.
        trace: What happened, in order, for people.
    """

    random: random.Random
    due: list[Fault] = field(default_factory=list[Fault])
    share_held_up: float = 0.0
    longest_hold_up: float = 0.0
    armed: list[Kind] = field(default_factory=list[Kind])
    trace: list[str] = field(default_factory=list[str])
    happened: list[Kind] = field(default_factory=list[Kind])
    moments: int = 0

    @classmethod
    def of_seed(cls, seed: int, moments: int) -> FaultPlan:
        """Draw the faults of a seed for a workflow whose undisturbed run has so many moments."""
        dice = random.Random(f"planwerk {seed}")
        kinds = dice.choices(TAKEOVERS, k=dice.choice((0, 1, 1, MAX_TAKEOVERS)))
        kinds += dice.choices(OTHERS, k=dice.choice((0, 0, 1, 2)))
        faults = [Fault(kind, dice.randint(1, max(moments, 1))) for kind in kinds]
        share, longest = dice.choice(HOLD_UPS)
        return cls(dice, sorted(faults, key=lambda fault: fault.moment, reverse=True), share, longest)

    @classmethod
    def none(cls) -> FaultPlan:
        """Nothing goes wrong and nothing is held up."""
        return cls(random.Random(0))

    def next_due(self) -> Kind | None:
        """Count a moment; the fault that is due at it, if any."""
        self.moments += 1
        if self.due and self.due[-1].moment <= self.moments:
            return self.due.pop().kind
        return None

    def hold_up(self) -> float | None:
        """Seconds for which this await is held up."""
        if not self.share_held_up or self.random.random() >= self.share_held_up:
            return None
        return self.random.choice((0.0, self.random.uniform(0, self.longest_hold_up)))

    def take_armed(self, kinds: frozenset[Kind]) -> Kind | None:
        """The armed fault for a call of this kind; it happens once."""
        for index, kind in enumerate(self.armed):
            if kind in kinds:
                return self.armed.pop(index)
        return None

    def note(self, at: float, kind: Kind, where: str) -> None:
        """A fault has happened."""
        self.happened.append(kind)
        self.trace.append(f"{at:9.3f} s  moment {self.moments:5}  {kind}: {where}")
