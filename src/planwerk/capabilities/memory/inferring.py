"""From the changes that a model names to those that are made: bounded, without duplicates, never a loss (C2.3, CAP-15).

A model that only deletes a fact has been told the opposite of it, unless the person asked to forget. Deleting would
lose both, so what the person said takes the fact's place.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from pydantic_ai.framing import register_tag, wrap

from planwerk.capabilities.memory.events import MOST_CHANGES, MOST_FACT_CHARACTERS, FactChange, MemoryChanges
from planwerk.capabilities.memory.ports import StoredMemory
from planwerk.messages.sanitise import sanitise_text
from planwerk.messages.tokens import cut_to_tokens

FACTS: Final = register_tag("facts")
MESSAGE: Final = register_tag("message")
ANSWER: Final = register_tag("answer")

MESSAGE_TOKENS: Final = 1500
ANSWER_TOKENS: Final = 1000
MOST_KNOWN: Final = 60
"""Facts shown to the model: those nearest to the exchange, then the newest."""

_QUESTION_MARKS: Final = ("?", "？", "؟")


def quoted_exchange(known: Sequence[StoredMemory], query: str, answer: str) -> str:
    """What the model is given: the facts with numbers from 1, the message, the answer, each framed (C3.6)."""
    facts = "\n".join(f"{number}. {one_line(memory.text)}" for number, memory in enumerate(known, 1)) or "-"
    said, replied = cut_to_tokens(query, MESSAGE_TOKENS), cut_to_tokens(answer, ANSWER_TOKENS)
    return "\n\n".join(wrap(tag, f"\n{text}\n") for tag, text in ((FACTS, facts), (MESSAGE, said), (ANSWER, replied)))


def settled(asked: MemoryChanges, known: Sequence[StoredMemory], query: str) -> tuple[FactChange, ...]:
    """The changes to make, in order; of each known fact at most one."""
    texts = {_bare(memory.text) for memory in known}
    by_number = {number: memory.id for number, memory in enumerate(known, 1)}
    added: list[str] = []
    changes: list[FactChange] = []
    contradicted: list[str] = []
    for change in asked.changes[:MOST_CHANGES]:
        text = one_line(change.text)
        target = by_number.pop(change.memory, None) if change.action != "add" and change.memory is not None else None
        if change.action == "delete":
            if target is not None and asked.forget:
                changes.append(FactChange(memory=target))
            elif target is not None:
                contradicted.append(target)
        elif text and _bare(text) not in texts:
            texts.add(_bare(text))
            if target is not None:
                changes.append(FactChange(memory=target, text=text))
            else:
                added.append(text)
    said = one_line(query)
    if contradicted and not added and not changes and not said.endswith(_QUESTION_MARKS):
        added.append(said)
    replaced = contradicted if added else []
    texts_for = [*added[: len(replaced)], *("" for _ in replaced[len(added) :])]
    changes += [FactChange(memory=target, text=text) for target, text in zip(replaced, texts_for, strict=True)]
    return (*changes, *(FactChange(text=text) for text in added[len(replaced) :]))


def one_line(text: str) -> str:
    """A fact as one line of bounded length."""
    line = " ".join(sanitise_text(text).split())
    return line if len(line) <= MOST_FACT_CHARACTERS else f"{line[: MOST_FACT_CHARACTERS - 1].rstrip()}…"


def _bare(text: str) -> str:
    """What makes two facts the same: their words, whatever their case and punctuation."""
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))
