"""How words find passages: what is looked for, and how rankings become one (C3.1).

Texts are *folded* (`memory_search.fold`): lower case, without accents and umlauts. Three things let a question find a
passage that says it otherwise:

- **Endings.** A word is looked for by its stem, as the beginning of a word: `Anträge` finds `Antrag`.
- **Compounds in the question.** A word that the index's own vocabulary can spell is looked for by its parts as well:
  `Urlaubsantrag` finds `Antrag auf Urlaub`.
- **Compounds in the passage.** Trigrams find a word inside another: `Urlaub` finds `Jahresurlaub`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from planwerk.storage.memory_search import RRF_K, query_words

KeyT = TypeVar("KeyT", bound=Hashable)

SHORTEST_STEM: Final = 4
SHORTEST_INSIDE: Final = 5
"""A word shorter than this is inside too many others."""
SHORTEST_PART: Final = 4
SHORTEST_COMPOUND: Final = 9
MOST_PARTS: Final = 4

_ENDINGS: Final = (
    *("ungen", "innen", "ments", "ingen", "aient", "zioni", "zione"),
    *("ung", "ing", "ern", "end", "est", "ies", "ons", "ent", "ait"),
    *("em", "en", "er", "es", "ed", "st", "ez", "ns", "re"),
    *("e", "s", "n", "i", "o", "a", "t", "y"),
)
"""Of English, German, French and Italian words, folded; the longest that leaves a stem is taken off."""
_LINKS: Final = ("", "s", "es", "n", "en", "er", "e")
"""What German puts between the parts of a compound."""
_WRITTEN_OUT: Final = re.compile("ae|oe|ue")
_PLAIN: Final = {"ae": "a", "oe": "o", "ue": "u"}


def stem(word: str) -> str:
    """A folded word without its ending."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            return word[: -len(ending)]
    return word


def spellings(word: str) -> list[str]:
    """A folded word, and how it would be folded had its umlauts not been written out (`kuendigung`)."""
    plain = _WRITTEN_OUT.sub(lambda found: _PLAIN[found[0]], word)
    return [word] if plain == word else [word, plain]


def parts_of(word: str, known: Callable[[str], bool], most: int = MOST_PARTS) -> list[str]:
    """The parts of a compound, each a word or the beginning of one that is known; empty where it is none.

    Args:
        known: Whether a word that begins so is in the vocabulary.
    """
    if len(word) < SHORTEST_COMPOUND or most < 2:
        return []
    for cut in range(len(word) - SHORTEST_PART, SHORTEST_PART - 1, -1):
        head, tail = word[:cut], word[cut:]
        if not any(_is_head(head, link, known) for link in _LINKS):
            continue
        if known(stem(tail)) and len(stem(tail)) >= SHORTEST_PART:
            return [_head(head, known), tail]
        if further := parts_of(tail, known, most - 1):
            return [_head(head, known), *further]
    return []


def _is_head(head: str, link: str, known: Callable[[str], bool]) -> bool:
    bare = head.removesuffix(link) if link else head
    return len(bare) >= SHORTEST_PART and (not link or bare != head) and known(bare)


def _head(head: str, known: Callable[[str], bool]) -> str:
    return next(head.removesuffix(link) for link in reversed(_LINKS) if _is_head(head, link, known))


def by_words(text: str, known: Callable[[str], bool]) -> str:
    """A query of FTS5 for the words table: stems of the words, and of the parts of compounds; empty for none."""
    words = [spelt for word in query_words(text) for spelt in spellings(word)]
    terms = dict.fromkeys(_beginning(word) for word in words)
    terms |= dict.fromkeys(_beginning(part) for word in words for part in parts_of(word, known))
    return " OR ".join(terms)


def by_parts(text: str) -> str:
    """A query of FTS5 for the trigram table: stems inside of other words; empty where none is long enough."""
    stems = (stem(spelt) for word in query_words(text) for spelt in spellings(word))
    return " OR ".join(dict.fromkeys(f'"{each}"' for each in stems if len(each) >= SHORTEST_INSIDE))


def _beginning(word: str) -> str:
    short = stem(word)
    return f'"{short}"*' if len(short) >= SHORTEST_STEM else f'"{word}"'


def fused_scores(rankings: Iterable[Sequence[KeyT]]) -> Mapping[KeyT, float]:
    """The keys of several rankings with the sum of their reciprocal ranks, the best first; equals as they came."""
    scores: dict[KeyT, float] = {}
    for ranking in rankings:
        for rank, key in enumerate(ranking, 1):
            scores[key] = scores.get(key, 0.0) + 1 / (RRF_K + rank)
    return dict(sorted(scores.items(), key=lambda item: -item[1]))
