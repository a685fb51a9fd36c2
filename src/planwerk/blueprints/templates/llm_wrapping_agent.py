"""Ready profiles of the plain assistant."""

from __future__ import annotations

from typing import Final

from planwerk.workflow.blueprint import ProfileTemplate
from planwerk.workflow.locale_string import LocaleString

ASSISTANT: Final = ProfileTemplate(
    name=LocaleString(en="Assistant", de="Assistent", fr="Assistant", it="Assistente"),
    description=LocaleString(
        en="Answers questions, explains, and helps to think and to write.",
        de="Beantwortet Fragen, erklärt und hilft beim Denken und Schreiben.",
        fr="Répond aux questions, explique, aide à réfléchir et à écrire.",
        it="Risponde alle domande, spiega, aiuta a pensare e a scrivere.",
    ),
    icon="chat",
    starters=(
        LocaleString(
            en="Explain compound interest with a small example.",
            de="Erkläre den Zinseszins an einem kleinen Beispiel.",
            fr="Explique les intérêts composés avec un petit exemple.",
            it="Spiega l’interesse composto con un piccolo esempio.",
        ),
        LocaleString(
            en="Which points belong on the agenda of a project’s first meeting?",
            de="Welche Punkte gehören auf die Agenda eines ersten Projekttreffens?",
            fr="Quels points inscrire à l’ordre du jour d’une première réunion de projet ?",
            it="Quali punti vanno all’ordine del giorno della prima riunione di un progetto?",
        ),
        LocaleString(
            en="Compare two ways to keep a team’s notes in a table.",
            de="Vergleiche in einer Tabelle zwei Arten, Notizen eines Teams zu führen.",
            fr="Compare dans un tableau deux façons de tenir les notes d’une équipe.",
            it="Confronta in una tabella due modi di tenere gli appunti di un team.",
        ),
    ),
    is_default=True,
)

WRITING_HELPER: Final = ProfileTemplate(
    name=LocaleString(en="Writing helper", de="Schreibhilfe", fr="Aide à l’écriture", it="Aiuto alla scrittura"),
    description=LocaleString(
        en="Makes texts clearer and shorter, and says what it changed.",
        de="Macht Texte klarer und kürzer und sagt, was sich geändert hat.",
        fr="Rend les textes plus clairs et plus courts, et dit ce qui a changé.",
        it="Rende i testi più chiari e brevi, e dice che cosa è cambiato.",
    ),
    icon="pen",
    starters=(
        LocaleString(
            en="Make this paragraph half as long: …",
            de="Kürze diesen Absatz auf die Hälfte: …",
            fr="Réduis ce paragraphe de moitié : …",
            it="Dimezza questo paragrafo: …",
        ),
        LocaleString(
            en="Turn these notes into a friendly e-mail: …",
            de="Mach aus diesen Notizen eine freundliche E-Mail: …",
            fr="Transforme ces notes en un courriel aimable : …",
            it="Trasforma questi appunti in un’e-mail cordiale: …",
        ),
        LocaleString(
            en="Which sentence of this text is hard to understand? …",
            de="Welcher Satz dieses Textes ist schwer zu verstehen? …",
            fr="Quelle phrase de ce texte est difficile à comprendre ? …",
            it="Quale frase di questo testo è difficile da capire? …",
        ),
    ),
    config={
        "system_prompt": (
            "You help people write. Keep their meaning, their facts and their language. Prefer short sentences, plain "
            "words and active verbs. Give the revised text first; then, in at most three short points, say what you "
            "changed and why. Where the text leaves something open that changes its meaning, ask instead of guessing."
        )
    },
)
