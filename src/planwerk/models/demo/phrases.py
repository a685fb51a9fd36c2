# ruff: noqa: E501 - a text in four languages reads best with one line per language
"""What the demo model says, in our four languages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from planwerk.models.demo.language import Language

PHRASES: Final[Mapping[str, Mapping[Language, str]]] = {
    "greeting": {
        "en": "Hello! I am the demo model. Ask me anything: I answer in this form until a real model is set up.",
        "de": "Hallo! Ich bin das Demo-Modell. Fragen Sie mich etwas: So antworte ich, bis ein echtes Modell eingerichtet ist.",
        "fr": "Bonjour ! Je suis le modèle de démonstration. Posez-moi une question : je réponds ainsi tant qu’aucun vrai modèle n’est configuré.",
        "it": "Ciao! Sono il modello dimostrativo. Fammi una domanda: rispondo così finché non è configurato un modello vero.",
    },
    "thanks": {
        "en": "You are welcome! Is there anything else I can show you?",
        "de": "Gern geschehen! Kann ich Ihnen noch etwas zeigen?",
        "fr": "Avec plaisir ! Puis-je vous montrer autre chose ?",
        "it": "Prego! Posso mostrarti altro?",
    },
    "parting": {
        "en": "Goodbye! This conversation is kept; you can go on with it at any time.",
        "de": "Auf Wiedersehen! Dieses Gespräch bleibt erhalten; Sie können es jederzeit fortsetzen.",
        "fr": "Au revoir ! Cette conversation est conservée ; vous pouvez la reprendre à tout moment.",
        "it": "Arrivederci! Questa conversazione resta salvata; puoi riprenderla in ogni momento.",
    },
    "mirror": {
        "en": "You asked: *{question}*",
        "de": "Sie haben gefragt: *{question}*",
        "fr": "Vous avez demandé : *{question}*",
        "it": "Hai chiesto: *{question}*",
    },
    "nature": {
        "en": "I am the **demo model**: I run on this machine, without a key and without a network, and I know nothing about the world. A real model would answer you here.",
        "de": "Ich bin das **Demo-Modell**: Ich laufe auf diesem Rechner, ohne Schlüssel und ohne Netz, und weiß nichts über die Welt. Ein echtes Modell würde Ihnen hier antworten.",
        "fr": "Je suis le **modèle de démonstration** : je fonctionne sur cette machine, sans clé ni réseau, et je ne sais rien du monde. Un vrai modèle vous répondrait ici.",
        "it": "Sono il **modello dimostrativo**: funziono su questo computer, senza chiave e senza rete, e non so nulla del mondo. Qui ti risponderebbe un modello vero.",
    },
    "list": {
        "en": "What a real answer could go into:\n\n- **{topic}**: what it means and why it matters\n- **First steps**: what to do today\n- **Pitfalls**: what others learned the hard way",
        "de": "Worauf eine echte Antwort eingehen könnte:\n\n- **{topic}**: was es bedeutet und warum es wichtig ist\n- **Erste Schritte**: was heute zu tun ist\n- **Fallstricke**: was andere mühsam gelernt haben",
        "fr": "Ce qu’une vraie réponse pourrait aborder :\n\n- **{topic}** : ce que c’est et pourquoi cela compte\n- **Premiers pas** : que faire aujourd’hui\n- **Pièges** : ce que d’autres ont appris à leurs dépens",
        "it": "Che cosa potrebbe trattare una risposta vera:\n\n- **{topic}**: che cosa significa e perché conta\n- **Primi passi**: che cosa fare oggi\n- **Insidie**: che cosa altri hanno imparato a fatica",
    },
    "table": {
        "en": "| Aspect | Today | Later |\n|---|---|---|\n| {topic} | try it here | with a real model |\n| Effort | none | one key or a local server |",
        "de": "| Aspekt | Heute | Später |\n|---|---|---|\n| {topic} | hier ausprobieren | mit einem echten Modell |\n| Aufwand | keiner | ein Schlüssel oder ein lokaler Server |",
        "fr": "| Aspect | Aujourd’hui | Plus tard |\n|---|---|---|\n| {topic} | à essayer ici | avec un vrai modèle |\n| Effort | aucun | une clé ou un serveur local |",
        "it": "| Aspetto | Oggi | Più tardi |\n|---|---|---|\n| {topic} | da provare qui | con un modello vero |\n| Impegno | nessuno | una chiave o un server locale |",
    },
    "code": {
        "en": 'A small piece of code, to see how it is shown:\n\n```python\ndef answer(question: str) -> str:\n    return f"You asked: {{question}}"\n```',
        "de": 'Ein kleines Stück Code, um zu sehen, wie es dargestellt wird:\n\n```python\ndef antwort(frage: str) -> str:\n    return f"Sie haben gefragt: {{frage}}"\n```',
        "fr": 'Un petit bout de code, pour voir son affichage :\n\n```python\ndef reponse(question: str) -> str:\n    return f"Vous avez demandé : {{question}}"\n```',
        "it": 'Un piccolo pezzo di codice, per vedere come appare:\n\n```python\ndef risposta(domanda: str) -> str:\n    return f"Hai chiesto: {{domanda}}"\n```',
    },
    "setup": {
        "en": "To set one up, start `planwerk serve --model provider:name`, or run `planwerk doctor` to see what was found.",
        "de": "Einrichten lässt sich eines mit `planwerk serve --model anbieter:name`; `planwerk doctor` zeigt, was gefunden wurde.",
        "fr": "Pour en configurer un, lancez `planwerk serve --model fournisseur:nom` ; `planwerk doctor` montre ce qui a été trouvé.",
        "it": "Per configurarne uno avvia `planwerk serve --model fornitore:nome`; `planwerk doctor` mostra che cosa è stato trovato.",
    },
    "sources": {
        "en": "In the sources given to me I found this about “{topic}”:",
        "de": "In den mir gegebenen Quellen steht zu „{topic}“:",
        "fr": "Dans les sources qui m’ont été données, j’ai trouvé ceci sur « {topic} » :",
        "it": "Nelle fonti che mi sono state date ho trovato questo su «{topic}»:",
    },
    "material": {
        "en": "I was also given this material:",
        "de": "Außerdem habe ich dieses Material erhalten:",
        "fr": "J’ai aussi reçu ce document :",
        "it": "Ho ricevuto anche questo materiale:",
    },
    "about": {
        "en": "I am speaking as the demo model for this assistant. This is how it is described:",
        "de": "Ich spreche als Demo-Modell für diesen Assistenten. So ist er beschrieben:",
        "fr": "Je parle en tant que modèle de démonstration pour cet assistant. Voici sa description :",
        "it": "Parlo come modello dimostrativo per questo assistente. Ecco come è descritto:",
    },
    "earlier": {
        "en": "Before that you asked: {questions}.",
        "de": "Davor haben Sie gefragt: {questions}.",
        "fr": "Auparavant, vous avez demandé : {questions}.",
        "it": "Prima hai chiesto: {questions}.",
    },
    "paragraph": {
        "en": "Part {number} of a long answer about {topic}. It is written so that there is time to watch it grow, to stop it, to reload the page in the middle, and to come back to find it whole.",
        "de": "Teil {number} einer langen Antwort über {topic}. Sie ist so lang, damit Zeit bleibt, ihr beim Wachsen zuzusehen, sie anzuhalten, die Seite mittendrin neu zu laden und sie ganz wiederzufinden.",
        "fr": "Partie {number} d’une longue réponse sur {topic}. Elle est longue pour laisser le temps de la voir grandir, de l’arrêter, de recharger la page au milieu et de la retrouver entière.",
        "it": "Parte {number} di una lunga risposta su {topic}. È lunga perché ci sia il tempo di vederla crescere, di fermarla, di ricaricare la pagina a metà e di ritrovarla intera.",
    },
    "tool": {
        "en": "I used **{tool}** for this. It answered:",
        "de": "Dafür habe ich **{tool}** benutzt. Die Antwort:",
        "fr": "J’ai utilisé **{tool}** pour cela. La réponse :",
        "it": "Per questo ho usato **{tool}**. La risposta:",
    },
    "document": {
        "en": "# {topic}\n\n## Purpose\n\nThis draft was written by the demo model so that the document can be tried out: edit it, comment on it, accept or reject changes.\n\n## Main points\n\n1. Where we stand with {topic}\n2. What should change\n3. Who does what by when\n\n## Next steps\n\n- [ ] Read the draft\n- [ ] Replace this text with what you know",
        "de": "# {topic}\n\n## Zweck\n\nDiesen Entwurf hat das Demo-Modell geschrieben, damit sich das Dokument ausprobieren lässt: bearbeiten, kommentieren, Änderungen annehmen oder ablehnen.\n\n## Kernpunkte\n\n1. Wo wir bei {topic} stehen\n2. Was sich ändern soll\n3. Wer was bis wann tut\n\n## Nächste Schritte\n\n- [ ] Entwurf lesen\n- [ ] Diesen Text durch eigenes Wissen ersetzen",
        "fr": "# {topic}\n\n## Objet\n\nCe brouillon a été rédigé par le modèle de démonstration pour essayer le document : modifiez-le, commentez-le, acceptez ou refusez des changements.\n\n## Points principaux\n\n1. Où en est {topic}\n2. Ce qui doit changer\n3. Qui fait quoi et quand\n\n## Prochaines étapes\n\n- [ ] Lire le brouillon\n- [ ] Remplacer ce texte par ce que vous savez",
        "it": "# {topic}\n\n## Scopo\n\nQuesta bozza è stata scritta dal modello dimostrativo per provare il documento: modificala, commentala, accetta o rifiuta modifiche.\n\n## Punti principali\n\n1. A che punto è {topic}\n2. Che cosa deve cambiare\n3. Chi fa che cosa ed entro quando\n\n## Prossimi passi\n\n- [ ] Leggere la bozza\n- [ ] Sostituire questo testo con ciò che sai",
    },
    "follow_ups": {
        "en": "Can you give an example of “{topic}”?\nWhat are the next steps for “{topic}”?\nWhat could go wrong with “{topic}”?",
        "de": "Gibt es ein Beispiel zu „{topic}“?\nWas sind die nächsten Schritte bei „{topic}“?\nWas kann bei „{topic}“ schiefgehen?",
        "fr": "Peux-tu donner un exemple sur « {topic} » ?\nQuelles sont les prochaines étapes pour « {topic} » ?\nQu’est-ce qui peut mal tourner avec « {topic} » ?",
        "it": "Puoi fare un esempio su «{topic}»?\nQuali sono i prossimi passi per «{topic}»?\nChe cosa può andare storto con «{topic}»?",
    },
}


def say(key: str, language: Language, **values: object) -> str:
    """A phrase with its values put in."""
    return PHRASES[key][language].format(**values)
