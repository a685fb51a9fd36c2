"""The settings a profile gets from the conversation (C1)."""

from __future__ import annotations

from pydantic import BaseModel

from planwerk.locales.form_fields import form_field
from planwerk.models.budgets import DEFAULT_INPUT_TOKENS


class ConversationFields(BaseModel):
    """Mixin for the config of a blueprint that calls `Conversation`.

    Attributes:
        llm: Name of the model that answers, `provider:model`; None is the server's default.
        task_llm: Name of the model for titles, labels and other small tasks; None is `llm`.
        number_of_input_tokens: Largest prompt; the model's own window counts as well.
        condense_question: Whether searches use a question that needs no earlier turns to be understood.
        system_prompt: Said to the model at the beginning of every prompt.
    """

    llm: str | None = form_field(None, "conversation.fields.llm", "model")
    task_llm: str | None = form_field(None, "conversation.fields.task_llm", "model")
    number_of_input_tokens: int = form_field(
        DEFAULT_INPUT_TOKENS, "conversation.fields.number_of_input_tokens", "number", least=1
    )
    condense_question: bool = form_field(False, "conversation.fields.condense_question", "switch")
    system_prompt: str = form_field("", "conversation.fields.system_prompt", "long_text")
