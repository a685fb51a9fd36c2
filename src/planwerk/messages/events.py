"""The chat events: how a turn begins, what a model answered, and how a conversation's run ends (E1.3)."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from planwerk.access.identity import UserIdentity
from planwerk.messages.history import History, Response
from planwerk.messages.prompts import last_user_prompt
from planwerk.workflow.events import ControlAndDisplayEvent, DisplayEvent, StartEvent, StopEvent
from planwerk.workflow.locale_string import LocaleString


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FileReference(_Value):
    """A file that a person attached; `id` is ours and never shown to a model."""

    id: str
    name: str
    media_type: str = ""
    size_bytes: int = 0


class KnowledgeReference(_Value):
    """A collection, or one document of it, that a person pointed to; `label` is what people read."""

    collection: str
    document: str | None = None
    label: str = ""


class Usage(_Value):
    """Tokens of one or several model calls; `cached` are part of the input, `reasoning` of the output."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


class UserMessageEvent(
    StartEvent, label=LocaleString(en="Question", de="Frage", fr="Question", it="Domanda"), icon="message"
):
    """A person's message begins a run.

    Attributes:
        messages: The shown branch of the thread, the new message last.
        user: Who asks; None for an unidentified caller.
        locale: Language of our texts in this run (E1.9).
        files: Files of the shown branch, each once, newest message first (C4.1).
        knowledge: What the message refers to with `#`.
        requested_features: Chat toggles that are on (C7).
    """

    messages: History
    user: UserIdentity | None = None
    locale: str | None = None
    files: tuple[FileReference, ...] = ()
    knowledge: tuple[KnowledgeReference, ...] = ()
    requested_features: tuple[str, ...] = ()


class SteeringMessageEvent(
    ControlAndDisplayEvent,
    label=LocaleString(en="Message in between", de="Zwischenruf", fr="Message en cours", it="Messaggio nel frattempo"),
    icon="message",
):
    """What a person says into an active run (S2.3).

    It comes to the blueprint's own steps at any time before the stop: never, once or several times (E6.4).

    Attributes:
        messages: What she says, as a model reads it; without the thread before it.
    """

    from_outside = True

    messages: History

    @property
    def text(self) -> str:
        """What she says."""
        return last_user_prompt(self.messages)


class LLMEvent(
    ControlAndDisplayEvent,
    label=LocaleString(
        en="Model answered", de="Modell hat geantwortet", fr="Réponse du modèle", it="Il modello ha risposto"
    ),
    icon="model",
    kind="LLM",
):
    """A model's whole answer.

    Attributes:
        model: The name it was asked under, `provider:name`.
        cost: In USD; None when the price is unknown.
    """

    response: Response
    model: str
    usage: Usage = Usage()
    cost: Decimal | None = None

    @property
    def text(self) -> str:
        """What the model says to the person; without thinking and tool calls."""
        return self.response.text or ""

    def span_attributes(self) -> dict[str, str]:
        return super().span_attributes() | {
            "llm.model_name": self.model,
            "llm.token_count.prompt": str(self.usage.input_tokens),
            "llm.token_count.completion": str(self.usage.output_tokens),
        }


class LLMStopEvent(
    StopEvent, label=LocaleString(en="Answered", de="Beantwortet", fr="Répondu", it="Risposto"), icon="done"
):
    """Ends a run with a model's answer."""

    answer: LLMEvent


class RefusalReason(StrEnum):
    """Why a run refuses to answer (C1.4)."""

    INPUT_TOO_LARGE = "input_too_large"
    CONDENSATION_EMPTY = "condensation_empty"
    UNSUITABLE = "unsuitable"
    OTHER = "other"


class RefusalStopEvent(
    StopEvent, label=LocaleString(en="Declined", de="Abgelehnt", fr="Refusé", it="Rifiutato"), icon="refused"
):
    """Ends a run without an answer, for a reason that people are told (C1.4)."""

    reason: RefusalReason
    text: str = ""


class TitleSuggestedEvent(
    DisplayEvent,
    label=LocaleString(en="Title suggested", de="Titel vorgeschlagen", fr="Titre proposé", it="Titolo proposto"),
):
    """A name for the thread; the projector takes it when the thread has none (E7.9)."""

    title: str


class FollowUpsSuggestedEvent(
    DisplayEvent,
    label=LocaleString(
        en="Follow-ups suggested", de="Anschlussfragen", fr="Questions suivantes", it="Domande successive"
    ),
):
    """Questions a person might ask next."""

    questions: tuple[str, ...]


class ModelExchangeEvent(
    DisplayEvent,
    label=LocaleString(en="Model call", de="Modellaufruf", fr="Appel du modèle", it="Chiamata al modello"),
    icon="model",
):
    """What a model was sent and what came back: stands beside a `ModelCalled` entry of the journal, and nowhere else.

    Attributes:
        task: What a small task is for (`"title"`), or the name of the type that was asked for; empty for answers.
        messages: As they were sent, then what came back.
    """

    task: str = ""
    messages: History


class AnswerInterruptedEvent(
    DisplayEvent,
    label=LocaleString(
        en="Answer interrupted", de="Antwort unterbrochen", fr="Réponse interrompue", it="Risposta interrotta"
    ),
    icon="failed",
):
    """A model's stream ended early; `text` is what had come by then (E4.8)."""

    text: str
    reason: str


class AnswerCheckpointEvent(
    DisplayEvent,
    label=LocaleString(en="Answer so far", de="Antwort bis hier", fr="Réponse jusqu’ici", it="Risposta finora"),
):
    """What has been streamed of an answer so far; written every two seconds, superseded by the whole (E4.8)."""

    text: str
