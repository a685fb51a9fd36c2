"""How words find memories, the same in every adapter: what is looked for, what counts as a part, how ranks are fused.

A text is *folded*: lower case, without accents and umlauts, `ß` as `ss`. It fits a query by a whole word or the
beginning of one (`laptop` finds `laptops`), or by a part: where a word of it holds a word of the query, or is held by
one (`Wagen` and `Dienstwagen`), or both begin alike (`commute` and `commuting`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable, Iterable, Sequence
from typing import Final, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)

RRF_K: Final = 60
MOST_WORDS: Final = 32
"""Of a query; what follows hardly changes what fits best."""
SHORTEST_BEGINNING: Final = 3
SHORTEST_PART: Final = 4
_WORD: Final = re.compile(r"[^\W_]+")
_SAYING_NOTHING: Final = """
a about am an and any are as at be been but by can could did do does for from had has have he her him his how i if
in into is it its me my no not of on or our she should so some than that the their them then there these they this
to up us was we were what when where which who why will with would you your please tell
aber als am an auch auf aus bei bin bis bist da dann das dass dein deine dem den der des dich die dies diese dir du
ein eine einem einen einer er es euch fur habe haben hat hatte ich ihm ihn ihr ihre im in ist ja kann kein keine
mein meine meinem meinen meiner mich mir mit nach nein nicht noch nur oder ob sein seine sich sie sind so uber um
und uns unser von vom vor war warum was wann wenn wer wie wir wird wo zu zum zur bitte
ai as au aux avec ce ces cette dans de des du elle en est et etre eu il ils j je l la le les leur lui ma mais me
mes moi mon ne nos notre nous on ou par pas pour qu que quel quelle qui sa se ses son sont sur ta te tes toi ton tu
un une vos votre vous y
al alla allo che chi ci come con cosa cui da dal dalla dei del della delle di dove e ed era gli ha hai ho i io la
le lei lo loro lui mi mia miei mio ne nei nel nella noi non o per perche piu quale quando se sei si sia sono su sua
sue sui sul sulla suo ti tra tu tua tuo un una uno vi voi
"""
_STOP_WORDS: Final = frozenset(_SAYING_NOTHING.split())
"""English, German, French, Italian, folded: words that say nothing of what is looked for."""


def fold(text: str) -> str:
    """The text in lower case, without accents and umlauts."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def query_words(text: str) -> list[str]:
    """The folded words to look for, each once; those that say nothing are left out unless there are no others."""
    words = list(dict.fromkeys(_WORD.findall(fold(text))))
    telling = [word for word in words if word not in _STOP_WORDS]
    return (telling or words)[:MOST_WORDS]


def words_of(folded: str) -> set[str]:
    """The words of a folded text."""
    return set(_WORD.findall(folded))


def words_in_common(wanted: Sequence[str], words: Iterable[str]) -> int:
    """How many of the wanted words a text has, whole or, from three letters on, as the beginning of a word."""
    held = set(words)
    return sum(
        word in held or (len(word) >= SHORTEST_BEGINNING and any(other.startswith(word) for other in held))
        for word in wanted
    )


class Parts:
    """Finds texts that share a part with one of the wanted words.

    Every part is at least four letters long, so a text without four such letters in a row is out at once: searching
    hundreds of texts of which few fit costs little more than looking through their letters.
    """

    def __init__(self, wanted: Sequence[str]) -> None:
        self._wanted = [word for word in wanted if len(word) >= SHORTEST_PART]
        self._runs = {
            word[start : start + SHORTEST_PART]
            for word in self._wanted
            for start in range(len(word) - SHORTEST_PART + 1)
        }

    def shared_with(self, folded: str) -> int:
        """How many letters of the wanted words a folded text has as parts of its own; 0 where it shares none."""
        if not any(run in folded for run in self._runs):
            return 0
        held = [word for word in words_of(folded) if len(word) >= SHORTEST_PART]
        return sum(max((_shared(word, other) for other in held), default=0) for word in self._wanted)


def _shared(one: str, other: str) -> int:
    """Letters of the part that two words share, where it is enough to mean the same; else 0."""
    shorter, longer = (one, other) if len(one) <= len(other) else (other, one)
    if shorter in longer:
        return len(shorter)
    if shorter[:SHORTEST_PART] != longer[:SHORTEST_PART]:
        return 0
    alike = next(n for n, (a, b) in enumerate(zip(shorter, longer, strict=False)) if a != b)
    return alike if alike * 3 >= len(longer) * 2 else 0


def fused(rankings: Iterable[Sequence[KeyT]]) -> list[KeyT]:
    """The keys of several rankings as one, by reciprocal rank fusion; equals stay in the order they were given."""
    scores: dict[KeyT, float] = {}
    for ranking in rankings:
        for rank, key in enumerate(ranking, 1):
            scores[key] = scores.get(key, 0.0) + 1 / (RRF_K + rank)
    return sorted(scores, key=lambda key: -scores[key])
