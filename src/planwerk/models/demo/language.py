"""In which of our languages a text is written, told by its small words; and what kind of message it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

Language: TypeAlias = Literal["en", "de", "fr", "it"]

_SMALL_WORD_LISTS: Final[Mapping[Language, str]] = {
    "en": """
        the is are what how why who where when which do does did you your my me i can could would should please of and
        to in a an for with about tell write give show hello hi hey thanks thank bye
    """,
    "de": """
        der die das ist sind was wie warum wer wo wann welche welcher welches du dein mein mich ich kann kannst könnte
        bitte und zu im ein eine einen für mit über sag schreib schreibe gib zeig hallo danke nicht von auf den dem wir
        moin servus tschüss vielen dank guten tag morgen abend grüezi wiedersehen bis bald schön sehr
    """,
    "fr": """
        le la les est sont que quoi comment pourquoi qui où quand quel quelle tu ton ta vous votre mon ma je peux peut
        pouvez et de du des un une pour avec sur dis écris donne montre bonjour salut merci pas dans au
        revoir bonsoir beaucoup bientôt coucou
    """,
    "it": """
        il lo gli è sono che cosa come perché chi dove quando quale tu tuo tua mio mia io posso puoi può per favore e di
        del della un uno una con su dimmi scrivi dammi mostra ciao grazie non nel al le
        arrivederci buongiorno buonasera salve mille molte presto
    """,
}
_SMALL_WORDS: Final[Mapping[Language, frozenset[str]]] = {
    language: frozenset(words.split()) for language, words in _SMALL_WORD_LISTS.items()
}
_EVERY_SMALL_WORD: Final[frozenset[str]] = frozenset(" ".join(_SMALL_WORD_LISTS.values()).split())
_LETTERS: Final[Mapping[Language, str]] = {"de": "äöüß", "fr": "çêâîûœ", "it": "ìò", "en": ""}

_GREETING: Final = (
    r"hello|hi|hey|good (?:morning|afternoon|evening|day)|hallo|moin|servus|guten (?:morgen|tag|abend)|grüezi"
    r"|bonjour|salut|bonsoir|coucou|ciao|buongiorno|buonasera|salve"
)
_THANKS: Final = (
    r"thanks?|thank you|thx|danke(?: schön| sehr)?|vielen dank|merci(?: beaucoup)?|(?:molte |mille )?grazie"
)
_PARTING: Final = r"bye|goodbye|see you|tschüss|auf wiedersehen|bis bald|au revoir|à bientôt|arrivederci|a presto"
_FILLER: Final = (
    r"very much|a lot|so much|there|everyone|all|again|you|how are you(?: today)?|wie geht(?:'s| es(?: dir| ihnen)?)?"
    r"|zusammen|nochmals|ça va|comment (?:ça va|vas-tu|allez-vous)|tout le monde|come (?:va|stai)|tutti|nice|great"
    r"|super|ok(?:ay)?|perfect"
    r"|prima|toll|parfait|perfetto|bene"
)
_SMALL_TALK: Final = re.compile(rf"(?:\b(?:{_GREETING}|{_THANKS}|{_PARTING}|{_FILLER})\b|[\W_])+", re.IGNORECASE)
_THANKING: Final = re.compile(rf"\b(?:{_THANKS})\b", re.IGNORECASE)
_LEAVING: Final = re.compile(rf"\b(?:{_PARTING})\b", re.IGNORECASE)

_META: Final = (
    (
        "identity",
        r"\bwho are you\b|\bwhat are you\b|\bwer bist du\b|\bwer sind sie\b|\bwas bist du\b|\bqui es[- ]tu\b"
        r"|\bqui êtes[- ]vous\b|\bchi sei\b|\bcosa sei\b|\byour name\b|\bwie heißt du\b|\bton nom\b|\bcome ti chiami\b",
    ),
    (
        "abilities",
        r"\bwhat can you do\b|\bhow can you help\b|\bwhat do you do\b|\bwas kannst du\b(?!.*\b(?:über|zu|sagen)\b)"
        r"|\bwomit kannst du\b|\bque (?:peux|sais)[- ]tu\b|\bque pouvez[- ]vous\b|\bcosa (?:puoi|sai) fare\b",
    ),
    (
        "behaviour",
        r"\bhow do you work\b|\bwhy did you\b|\bwie funktionierst du\b|\bwie arbeitest du\b|\bwarum hast du\b"
        r"|\bcomment fonctionnes[- ]tu\b|\bpourquoi as[- ]tu\b|\bcome funzioni\b|\bperché hai\b",
    ),
)


def language_of(text: str) -> Language:
    """The language of the text; English in doubt."""
    words = re.findall(r"[^\W\d_]+", text.lower())
    scores: dict[Language, int] = {
        language: sum(word in small for word in words) + sum(letter in text.lower() for letter in _LETTERS[language])
        for language, small in _SMALL_WORDS.items()
    }
    return max(scores, key=lambda language: scores[language])


def is_small_talk(text: str) -> bool:
    """Whether the text only greets, thanks or says goodbye."""
    return bool(re.search(r"\w", text)) and _SMALL_TALK.fullmatch(text.strip()) is not None


def small_talk_kind(text: str) -> Literal["greeting", "thanks", "parting"]:
    """What kind of small talk it is."""
    if _THANKING.search(text):
        return "thanks"
    return "parting" if _LEAVING.search(text) else "greeting"


def meta_kind(text: str) -> str | None:
    """The gate's label for a question about the assistant itself; None for everything else."""
    if len(text) > 120:
        return None
    return next((label for label, pattern in _META if re.search(pattern, text, re.IGNORECASE)), None)


def topic_of(text: str, *, most_words: int = 7) -> str:
    """What a text is about, in a few of its own words."""
    first = next((line for line in text.strip().splitlines() if line.strip()), "")
    plain = re.sub(
        r"\A(?:please|bitte|per favore|s'il te plaît|could you|can you|kannst du|peux-tu|puoi)\b[\s,]*",
        "",
        first.strip(),
        flags=re.IGNORECASE,
    )
    words = " ".join(re.sub(r"[\"“”„«»`*#>]+", "", plain).split()).strip(" .!?,;:-").split(" ")
    kept = words[:most_words]
    while len(kept) > 2 and len(words) > most_words and kept[-1].lower() in _EVERY_SMALL_WORD:
        kept = kept[:-1]
    topic = " ".join(kept).rstrip(".,;:!?")
    return topic[:1].upper() + topic[1:]


def subject_of(text: str) -> str:
    """What a question is about, without the words that make it a question."""
    words = topic_of(text, most_words=12).split(" ")
    while len(words) > 1 and words[0].lower() in _EVERY_SMALL_WORD:
        words = words[1:]
    return topic_of(" ".join(words))


def significant_words(text: str) -> set[str]:
    """The words that say what a text is about, in lower case."""
    return {word for word in re.findall(r"[^\W\d_]{3,}", text.lower()) if word not in _EVERY_SMALL_WORD}
