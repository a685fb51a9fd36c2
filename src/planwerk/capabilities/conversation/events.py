"""What happens in a turn around its answer: requests, results, and what is seen in between (C1)."""

from __future__ import annotations

from typing import Annotated, Any, cast

from pydantic import PlainSerializer, PlainValidator, SerializationInfo, ValidationInfo, WithJsonSchema

from planwerk.capabilities.conversation.gate import GateLabel
from planwerk.locales import texts
from planwerk.messages.blocks import Block
from planwerk.messages.events import LLMEvent
from planwerk.messages.history import History
from planwerk.workflow.codec import read_event, write_event
from planwerk.workflow.events import ControlAndDisplayEvent, DisplayEvent, StopEvent, UnknownEvent
from planwerk.workflow.locale_string import LocaleString


def _label(key: str) -> LocaleString:
    return LocaleString(**texts(key))


def _read_stop(value: Any, info: ValidationInfo) -> StopEvent:
    event = value if isinstance(value, StopEvent) else read_event(value, info.context)
    if not isinstance(event, StopEvent | UnknownEvent):
        raise ValueError(f"a run ends with a StopEvent, not with {type(event).__name__}")
    return cast("StopEvent", event)  # one of a newer version is kept whole (E1.5)


def _write_stop(event: StopEvent, info: SerializationInfo) -> dict[str, Any]:
    return write_event(event, info.context)


AnyStop = Annotated[
    StopEvent, PlainValidator(_read_stop), PlainSerializer(_write_stop), WithJsonSchema({"type": "object"})
]
"""A stop of any class, written with its type so that it is read back as what it was (E1.5)."""


class ContextualizeConversationEvent(
    ControlAndDisplayEvent, label=_label("conversation.events.contextualize"), icon="message"
):
    """Asks for the question behind the latest message.

    Attributes:
        message: The person's new words, for the gate; None where no person wrote (a programmatic start).
    """

    history: History
    message: str | None = None


class MessageClearedEvent(
    ControlAndDisplayEvent, label=_label("conversation.events.cleared"), icon="gate", kind="GUARDRAIL"
):
    """The gate let the message through; only now anything else begins (C1.1)."""

    history: History
    kind: GateLabel = GateLabel.NORMAL


class MetaQuestionAskedEvent(
    ControlAndDisplayEvent, label=_label("conversation.events.meta_question"), icon="gate", kind="GUARDRAIL"
):
    """The message asks about the assistant itself, which answers from its own description (C1.1)."""

    history: History
    kind: GateLabel


class QuestionCondensedEvent(DisplayEvent, label=_label("conversation.events.condensed"), icon="condense"):
    """The question in a form that needs no earlier turns; what the person wrote beside it."""

    question: str
    literal: str


class ConversationContextualizedEvent(
    ControlAndDisplayEvent, label=_label("conversation.events.contextualized"), icon="question"
):
    """The question a turn is about.

    Attributes:
        history: The conversation, the person's message last, as it was written.
        query: What to search for; blank when there is nothing to search (small talk).
        literal: The person's own words; retrieval searches these too where they differ.
        condensed: Whether the query was made from the conversation.
        needs_context: False for small talk: nothing has to be looked up.
    """

    history: History
    query: str
    literal: str
    condensed: bool = False
    needs_context: bool = True


class ComposePromptEvent(ControlAndDisplayEvent, label=_label("conversation.events.compose"), icon="prompt"):
    """Asks for the prompt: the history, and blocks in the order in which they are to reach the model."""

    history: History
    blocks: tuple[Block, ...] = ()


class PromptComposedEvent(ControlAndDisplayEvent, label=_label("conversation.events.composed"), icon="prompt"):
    """The prompt exactly as the model receives it (C1.2).

    Attributes:
        head_characters: How many characters at the beginning of the system part are the profile's configuration,
            which `visibility.without_head` hides from who may not see it.
        tokens: Estimate for the whole.
        budget_tokens: What it had to fit in.
        left_out_messages: How many of the oldest messages gave way.
        left_out_blocks: Titles of the blocks that gave way.
    """

    history: History
    head_characters: int = 0
    tokens: int = 0
    budget_tokens: int = 0
    left_out_messages: int = 0
    left_out_blocks: tuple[str, ...] = ()


class CompleteConversationEvent(ControlAndDisplayEvent, label=_label("conversation.events.complete"), icon="done"):
    """Asks to end the turn with this answer: by the given stop, else by an `LLMStopEvent`."""

    answer: LLMEvent
    stop: AnyStop | None = None
