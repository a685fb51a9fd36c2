"""A small collection with 100 questions whose passages are known, to measure retrieval with.

All of it was written for this repository and is in the public domain. Fifty facts of an invented company stand among a
thousand passages made of the same words (`distractors`), so that a question is not answered by rare words alone. Each
fact has two questions: the first is near to its words, the second says it otherwise, by other forms and compounds.
"""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Final, NamedTuple

DISTRACTORS: Final = 1000
SEED: Final = 20_261_201


class Fact(NamedTuple):
    """A passage, its heading, and two questions that it answers."""

    heading: str
    text: str
    near: str
    otherwise: str


_TABLE: Final = Path(__file__).with_suffix(".txt")

FACTS: Final = tuple(
    Fact(*(cell.strip() for cell in line.split(" | "))) for line in _TABLE.read_text("utf-8").strip().splitlines()[1:]
)
QUESTIONS: Final = tuple((question, place) for place, fact in enumerate(FACTS) for question in fact[2:])


def documents() -> dict[str, str]:
    """Markdown by name: `f0` to `f49` are the facts, the others answer no question."""
    facts = {f"f{place}": f"# {fact.heading}\n\n{fact.text}" for place, fact in enumerate(FACTS)}
    return facts | {f"d{place}": text for place, text in enumerate(distractors())}


def distractors() -> list[str]:
    """Passages of words that the facts have too, in an order that says nothing; the same ones every time."""
    chance = random.Random(SEED)
    words = [re.findall(r"\w+", fact.text) for fact in FACTS]
    made: list[str] = []
    for _ in range(DISTRACTORS):
        drawn = [word for place in chance.sample(range(len(words)), 6) for word in chance.sample(words[place], 4)]
        chance.shuffle(drawn)
        heading = chance.choice(FACTS).heading if chance.random() < 0.1 else drawn[0]
        made.append(f"# {heading}\n\n{' '.join(drawn)}.")
    return made
