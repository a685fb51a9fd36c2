"""What the demo model would remember of a message: sentences in which a person says something of herself."""

from __future__ import annotations

import re
from typing import Any, Final

from planwerk.models.demo.language import significant_words

TASK_TYPE: Final = "MemoryChanges"
"""Name of the data that the memory's writer asks for."""

_FACTS: Final = re.compile(r"<facts[^<>]*>\n?(.*?)\n?</facts>", re.DOTALL)
_MESSAGE: Final = re.compile(r"<message[^<>]*>\n?(.*?)\n?</message>", re.DOTALL)
_NUMBERED: Final = re.compile(r"^(\d+)\. (.+)$", re.MULTILINE)
_SENTENCE: Final = re.compile(r"[^.!?\n]+[.!?]*")
_OF_ONESELF: Final = re.compile(
    r"\b(?:i|i'm|i’m|my|ich|mein\w*|je|j'|j’|mon|ma|mes|mi chiamo|sono|mio|mia|miei|mie|ho|abito|lavoro)\b|\bj[’']",
    re.IGNORECASE,
)
_WISH: Final = re.compile(
    r"\b(?:i (?:want|need|would|wonder|have a question)|can i|ich (?:möchte|brauche|will|suche|hätte)"
    r"|je (?:voudrais|veux|cherche)|j[’']ai (?:besoin|une question)|vorrei|ho (?:bisogno|una domanda)"
    r"|tell|sag|dis|dimmi)\b",
    re.IGNORECASE,
)
_FORGET: Final = re.compile(r"\b(?:forget|vergiss|vergessen sie|oublie\w*|dimentica\w*)\b", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(
    r"\b(?:my|mein\w*|mon|ma|il mio|la mia) (\w+) (?:is|ist|est|è)\b"
    r"|\b(i am called|ich heiße|je m[’']appelle|mi chiamo)\b",
    re.IGNORECASE,
)


def changes(prompt: str) -> dict[str, Any]:
    """The changes that follow from an exchange, as the memory's writer takes them."""
    found = _MESSAGE.search(prompt)
    message = found[1].strip() if found else ""
    listed = _FACTS.search(prompt)
    known = {int(number): text for number, text in _NUMBERED.findall(listed[1] if listed else "")}
    if _FORGET.search(message):
        wanted = significant_words(message)
        gone = [number for number, text in known.items() if wanted & significant_words(text)]
        return {"forget": True, "changes": [_change("delete", number) for number in gone]}
    stated = [sentence.strip() for sentence in _SENTENCE.findall(message)]
    facts = [said for said in stated if _OF_ONESELF.search(said) and not _WISH.search(said) and said[-1:] != "?"]
    return {"forget": False, "changes": [_kept(fact, known) for fact in facts[:3]]}


def _kept(fact: str, known: dict[int, str]) -> dict[str, Any]:
    same = next((number for number, text in known.items() if _is_about_the_same(fact, text)), None)
    return _change("add" if same is None else "update", same, fact)


def _is_about_the_same(one: str, other: str) -> bool:
    attributes = [found[1] or found[2] for found in (_ATTRIBUTE.search(one), _ATTRIBUTE.search(other)) if found]
    if len(attributes) == 2:
        return attributes[0].lower() == attributes[1].lower()
    first, second = significant_words(one), significant_words(other)
    shorter = min(len(first), len(second))
    return shorter > 0 and len(first & second) * 3 >= shorter * 2


def _change(action: str, memory: int | None, text: str = "") -> dict[str, Any]:
    return {"action": action, "memory": memory, "text": text}
