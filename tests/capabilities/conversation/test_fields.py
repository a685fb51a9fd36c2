"""The settings a profile gets from the conversation (C1)."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from planwerk.capabilities import ConversationFields
from planwerk.locales import LOCALES
from planwerk.workflow.blueprint import AgentConfig


class WithConversation(ConversationFields, AgentConfig):
    """A profile's config as blueprints write it."""


def test_a_profile_starts_from_nothing() -> None:
    assert WithConversation().model_dump() == {
        "llm": None,
        "task_llm": None,
        "number_of_input_tokens": 128_000,
        "condense_question": False,
        "system_prompt": "",
    }


def test_a_config_with_the_mixin_is_frozen_and_refuses_unknown_fields() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        setattr(WithConversation(), "llm", "demo:demo")  # noqa: B010 - a plain assignment would not type-check
    with pytest.raises(ValidationError, match="Extra inputs"):
        WithConversation.model_validate({"model": "demo:demo"})


@pytest.mark.parametrize("tokens", [0, -1])
def test_a_prompt_without_room_is_refused(tokens: int) -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        WithConversation(number_of_input_tokens=tokens)


def test_every_field_says_in_every_locale_what_it_is_and_how_it_is_entered() -> None:
    properties: dict[str, Any] = WithConversation.model_json_schema()["properties"]

    forms = {name: field["x-form"] for name, field in properties.items()}

    assert {name: form["widget"] for name, form in forms.items()} == {
        "llm": "model",
        "task_llm": "model",
        "number_of_input_tokens": "number",
        "condense_question": "switch",
        "system_prompt": "long_text",
    }
    for form in forms.values():
        assert sorted(form["labels"]) == sorted(form["hints"]) == sorted(LOCALES)
