"""What the demo model answers: it mirrors the question, quotes what it was given, and drafts what it was asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from planwerk.models.demo.language import (
    Language,
    is_small_talk,
    language_of,
    meta_kind,
    significant_words,
    small_talk_kind,
    subject_of,
    topic_of,
)
from planwerk.models.demo.phrases import say

LONG_PARTS: Final = 30
MOST_QUOTES: Final = 3

_CITATION: Final = re.compile(r"\[?\b(s[0-9a-f]{6,8})\b\]?")
_FRAME: Final = re.compile(r"<(?P<tag>[a-z_]+)(?P<attributes>[^<>]*)>\n?(?P<text>.*?)\n?</(?P=tag)>", re.DOTALL)
_TITLE: Final = re.compile(r'(?:title|name|label)="([^"]*)"')
_WRITE: Final = re.compile(
    r"\b(?:write|draft|compose|prepare|create|schreib\w*|entwirf|entwerfe|verfass\w*|erstell\w*|rédige\w*|écri[st]\w*|crée\w*|scriv\w*|redigi|prepara|crea)\b"
    r".*\b(?:document|letter|plan|report|memo|note|proposal|draft|article|concept|policy|agenda|dokument|brief|bericht|notiz|antrag|entwurf|artikel|konzept"
    r"|lettre|rapport|proposition|brouillon|documento|lettera|piano|rapporto|relazione|proposta|bozza|articolo)\w*",
    re.IGNORECASE | re.DOTALL,
)
_LONG: Final = re.compile(r"\b(?:long|lange?[nrs]?|ausführlich\w*|longue?s?|lung[aoh]\w*)\b", re.IGNORECASE)
_TABLE: Final = re.compile(r"\b(?:table|tabelle|tableau|tabella)\b", re.IGNORECASE)
_CODE: Final = re.compile(r"\b(?:code|python|script|programm\w*|codice)\b", re.IGNORECASE)
_EARLIER: Final = re.compile(
    r"\b(?:before|earlier|previous\w*|vorher|davor|zuvor|avant|précédem\w*|prima|precedente)\b", re.IGNORECASE
)


def is_draft_request(question: str) -> bool:
    """Whether a document is asked for."""
    return _WRITE.search(question) is not None


def draft(question: str) -> str:
    """A Markdown document about what was asked."""
    return say("document", language_of(question), topic=_draft_topic(question))


def answer(question: str, *, earlier: Sequence[str] = (), given: str = "", system: str = "") -> str:
    """The answer to a question.

    Args:
        earlier: The person's questions before this one.
        given: Framed material from the prompt: passages, files, memories.
        system: The system parts of the prompt.
    """
    language = language_of(question)
    if is_small_talk(question):
        return say(small_talk_kind(question), language)
    if meta_kind(question):
        described = f"{say('about', language)}\n\n{_quoted(_description(system))}"
        return described if system.strip() else say("greeting", language)
    if given and (quotes := _quotes(question, given, language)):
        return quotes
    if is_draft_request(question):
        return draft(question)
    return _generic(question, earlier, language)


def _generic(question: str, earlier: Sequence[str], language: Language) -> str:
    topic = subject_of(question)
    mirror = say("mirror", language, question=_one_line(question))
    parts = [mirror, say("nature", language)]
    if _EARLIER.search(question) and earlier:
        parts.append(say("earlier", language, questions="; ".join(f"*{_one_line(one)}*" for one in earlier[-3:])))
    if _LONG.search(question):
        parts += [say("paragraph", language, number=number, topic=topic) for number in range(1, LONG_PARTS + 1)]
    elif _TABLE.search(question):
        parts.append(say("table", language, topic=topic.replace("|", "/")))
    elif _CODE.search(question):
        parts.append(say("code", language))
    elif sum(question.encode()) % 3 != 0:
        parts.append(say("list", language, topic=topic))
    parts.append(say("setup", language))
    return "\n\n".join(parts)


def _quotes(question: str, given: str, language: Language) -> str:
    """The passages nearest to the question, quoted with their citation ids; else the beginning of the material."""
    passages = _passages(given)
    topic = subject_of(question)
    if passages:
        wanted = significant_words(question)
        ranked = sorted(passages.items(), key=lambda item: -len(wanted & significant_words(item[1])))
        lines = [f"> {_first_sentence(text)} [{citation}]" for citation, text in ranked[:MOST_QUOTES]]
        return f"{say('sources', language, topic=topic)}\n\n" + "\n\n".join(lines)
    frames = [(_title_of(match["attributes"]), match["text"]) for match in _FRAME.finditer(given)]
    lines = [f"- **{title or '…'}**: {_first_sentence(text)}" for title, text in frames if text.strip()]
    if not lines:
        return ""
    mirror = say("mirror", language, question=_one_line(question))
    return f"{mirror}\n\n{say('material', language)}\n\n" + "\n".join(lines[:MOST_QUOTES])


def _passages(given: str) -> dict[str, str]:
    """Text by citation id: what follows an id, up to the next one or the end of its frame."""
    found: dict[str, str] = {}
    places = list(_CITATION.finditer(given))
    for place, following in zip_longest(places, places[1:]):
        text = given[place.end() : following.start() if following else len(given)]
        text = re.sub(r"\A[^<>\n]*>", "", text) if re.match(r"[^<>\n]*\">|\">", text) else text
        text = re.split(r"</\w+>", text)[0]
        if place[1] not in found and text.strip(" \n\"'>:-"):
            found[place[1]] = text.strip(" \n\"'>:-")
    return found


def _title_of(attributes: str) -> str:
    found = _TITLE.search(attributes)
    return found[1] if found else ""


def _description(system: str) -> str:
    """The lines of a prompt that describe the assistant: its name, what it is, what it does."""
    described = [line for line in system.splitlines() if re.match(r"\s*(?:\w[\w ]{2,30}:|[-*]\s)", line)]
    return "\n".join(described) or system


def _quoted(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return "\n".join(f"> {line.strip()}" for line in lines[:8])


def _first_sentence(text: str) -> str:
    line = " ".join(re.sub(r"<[^<>]*>", " ", text).split())
    end = re.search(r"(?<=[.!?。])\s", line)
    sentence = line[: end.start()] if end else line
    return sentence if len(sentence) <= 300 else f"{sentence[:299]}…"


def _one_line(question: str) -> str:
    line = " ".join(question.split()).replace("*", "")
    return line if len(line) <= 200 else f"{line[:199]}…"


def _draft_topic(question: str) -> str:
    """What the document is to be about: what follows "about" in the question."""
    found = re.search(
        r"\b(?:about|on|for|über|zu[mr]?|für|sur|pour|concernant|su|sul\w*|per|riguardo a)\s+(.+)",
        question,
        re.IGNORECASE,
    )
    return topic_of(found[1] if found else question)
